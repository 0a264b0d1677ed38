// SPDX-License-Identifier: MIT
/* What a newcomer sees and finds, without being told where to look. */
import { assert, report, stallOfDisk, test } from "./harness.mjs";

const words = (text) => text.replace(/\s+/g, " ").trim();

test("the first screen says what the report says", { options: { hash: "" } }, async (tab) => {
	const said = report("demo").finding.sentence;
	assert.ok(words(await tab.at("lead").innerText()).includes(words(said)), `it does not say: ${said}`);
	const box = await tab.at("lead").boundingBox();
	assert.ok(box.y >= 0 && box.y + box.height <= 720, "the sentence is not on the first screen");
	const lanes = await tab.at("timeline").boundingBox();
	assert.ok(lanes.y < 400 && lanes.height > 100, "the timeline is not on the first screen");
	await tab.calm();
	await tab.shot("first");
});

test("from the stall to its lock, its holder and the disk in three clicks", {}, async (tab) => {
	const truth = stallOfDisk();
	const lock = report("demo").locks[truth.lock].name;
	const details = tab.page.getByRole("complementary", { name: "Details" });

	await tab.at(truth.test).click();
	await details.getByText(lock).first().waitFor();
	await tab.shot("stall");
	await tab.at("stall-holder").click();
	await details.getByText("disk").first().waitFor();
	assert.match(await details.innerText(), new RegExp(truth.comm));
	assert.match(await details.innerText(), /flush_log/);
	await tab.calm();
	await tab.shot("holder");
	await details.getByText("flush_log").first().click();
});

test("every stall of the report has its button", {}, async (tab) => {
	const truth = report("demo", "--top", "1000").stalls;
	const list = tab.at("stalls").getByRole("button");
	assert.equal(await list.count(), truth.length);
	for (const [i, s] of truth.entries()) {
		const text = words(await list.nth(i).innerText());
		assert.ok(text.includes(s.comm), `stall ${i}: ${text}`);
	}
});

test("it opens with what the sentence is about", { options: { hash: "" } }, async (tab) => {
	const { finding } = report("demo");
	assert.notEqual(finding.lock, null, `the demo's sentence is not about a lock: ${finding.sentence}`);
	assert.match(await tab.until("flame", undefined), /^wait,/);
	const chosen = (await tab.until("threads", undefined)).split(".");
	assert.equal(chosen.length, finding.victims.length);
	const head = words(await tab.at("scope").first().innerText());
	assert.ok(finding.victims.some((v) => head.includes(v.comm)), `${head} is about none of ${finding.group}`);
	await tab.calm();
	/* A stall is about its culprit, too. */
	await tab.at("stall-0").click();
	await tab.until("threads", null);
	/* An address says it all: what is asked for there is what is shown. */
	await tab.page.goto(`${tab.address}#tab=threads`);
	await tab.page.reload();
	await tab.at("tab-threads").waitFor();
	await tab.until("flame", null);
});

/* The names and the locks are those of test/golden/make_golden.c. */
test("a deadlock is the first thing there is", { capture: "deadlock", options: { hash: "" } }, async (tab) => {
	const lead = words(await tab.at("lead").innerText());
	assert.ok(lead.startsWith("worker-0 and worker-1 are deadlocked: worker-0 waits for table_lock, held by worker-1; " +
		"worker-1 waits for commit_lock, held by worker-0"), lead);
	assert.equal(await tab.page.getByRole("heading", { name: "1 stall", exact: true }).count(), 1);
	assert.match(words(await tab.at("stall-0").innerText()), /^1\.80s .*\(\+0\.200s\) Deadlock of worker-0 and worker-1$/);
	assert.match(await tab.until("flame", undefined), /^wait,/);
	assert.match(words(await tab.at("scope").first().innerText()), /^the whole 2\.00s, worker-0 and worker-1\b/);
	await tab.calm();
	/* Their lanes are the first ones, and on the screen. */
	const lanes = tab.page.locator(".tl-label.thread");
	assert.match(await lanes.nth(0).innerText(), /^worker-0/);
	assert.match(await lanes.nth(1).innerText(), /^worker-1/);
	assert.ok(await tab.lane("worker-1") < 720, "its lane is not on the first screen");
	await tab.at("stall-0").click();
	await tab.at("detail-title").getByText("Stall 1 of 1").waitFor();
	await tab.shot("deadlock");
});

test("of CPU time, with samples", { capture: "ctimer", options: { hash: "" } }, async (tab) => {
	await tab.at("tab-flame").waitFor();
	await tab.calm();
	await tab.until("flame", null);
});

test("a stall's panel has the culprit's stack", {}, async (tab) => {
	const truth = stallOfDisk();
	await tab.at(truth.test).click();
	const stack = tab.at("stall-stack");
	await stack.getByText("flush_log").first().waitFor();
	assert.match(await stack.innerText(), new RegExp(truth.comm));
	/* Both forms of the moment, as the report writes them. */
	const details = words(await tab.page.getByRole("complementary", { name: "Details" }).innerText());
	assert.match(details, /\d\d:\d\d:\d\d\.\d{3} \(\+\d+\.\d{3}s\)/);
	const offset = `(+${(Math.floor(truth.start_ns / 1e6) / 1e3).toFixed(3)}s)`;
	assert.ok(details.includes(offset), `${details} has no ${offset}`);
});
