// SPDX-License-Identifier: MIT
/* The timeline under a hand: zooming, panning, selecting, choosing a wait and following its links. */
import { assert, report, select, test } from "./harness.mjs";

test("the wheel zooms about the pointer", {}, async (tab) => {
	const before = await tab.where();
	const x = before.box.x + 0.7 * before.box.width;
	await tab.page.mouse.move(x, before.box.y + 100);
	await tab.page.mouse.wheel(0, -300);
	await tab.until("view", undefined);
	await tab.calm();
	const after = await tab.where();
	assert.ok(after.to - after.from < 0.9 * (before.to - before.from), "it is not nearer");
	const slack = (2 * (after.to - after.from)) / after.box.width;
	assert.ok(Math.abs(after.time(x) - before.time(x)) < slack, "what is under the pointer has moved");
	await tab.page.mouse.wheel(0, 3000);
	await tab.until("view", null);
});

test("a drag moves what is under the hand", {}, async (tab) => {
	const { box } = await tab.where();
	const y = box.y + 100;
	await tab.page.mouse.move(box.x + 0.5 * box.width, y);
	await tab.page.mouse.wheel(0, -600);
	const old = await tab.until("view", undefined);
	const before = await tab.where();
	const [a, b] = [box.x + 0.6 * box.width, box.x + 0.4 * box.width];
	await tab.page.mouse.move(a, y);
	await tab.page.mouse.down();
	await tab.page.mouse.move((a + b) / 2, y);
	await tab.page.mouse.move(b, y);
	await tab.page.mouse.up();
	await tab.until("view", old);
	const after = await tab.where();
	const slack = (2 * (after.to - after.from)) / box.width;
	assert.ok(Math.abs(after.time(b) - before.time(a)) < slack, "it has not followed");
	assert.ok(Math.abs(after.to - after.from - (before.to - before.from)) < slack, "it has zoomed");
});

test("shift and drag select a range", {}, async (tab) => {
	const { box, from, to } = await tab.where();
	const got = await select(tab, 0.25, 0.5);
	const slack = (2 * (to - from)) / box.width;
	assert.ok(Math.abs(got.from - got.wanted[0]) < slack, `${got.from}, not ${got.wanted[0]}`);
	assert.ok(Math.abs(got.to - got.wanted[1]) < slack, `${got.to}, not ${got.wanted[1]}`);
	await tab.shot("selection");
});

/** The longest wait for the demo's lock: whose, and when. */
function longest() {
	const r = report("demo");
	const lock = r.locks.find((l) => l.name === "commit_lock");
	const w = r.waits.filter((x) => r.locks[x.lock] === lock).sort((a, b) => b.max_ns - a.max_ns)[0];
	// Such large numbers lose their last digits; the middle of 100 ms does not mind.
	const start = w.max_start_unix_ns - r.capture.start_unix_ns;
	const comm = r.threads.find((t) => t.tid === w.max_tid).comm;
	const stall = r.stalls.find((s) => s.start_ns < start + w.max_ns && start < s.start_ns + s.ns);
	return { start, ns: w.max_ns, comm, holder: stall?.comm ?? "checkpointer", waker: w.wakers[0].comm };
}

test("a click on a wait shows reason, lock, holder, waker, and leads to them and back", {}, async (tab) => {
	const { start, ns, comm, holder } = longest();
	const details = tab.page.getByRole("complementary", { name: "Details" });
	const { x } = await tab.where();
	await tab.page.mouse.click(x(start + ns / 2), await tab.lane(comm));
	await tab.at("detail-lock").waitFor();
	const text = await details.innerText();
	for (const word of [comm, "commit_lock", holder, /mutex|lock/i, /Woken by/i, /pthread_mutex_lock/])
		assert.match(text, new RegExp(word), `the details do not say ${word}`);
	await tab.calm();
	await tab.shot("wait");
	const focus = (await tab.state()).focus;

	await tab.at("detail-holder").first().click();
	await tab.until("focus", focus);
	await details.getByText(holder).first().waitFor();
	await tab.page.goBack();
	assert.equal((await tab.state()).focus, focus);
	await tab.at("detail-waker").click();
	await tab.until("focus", focus);
	await tab.page.goBack();
	await tab.at("detail-lock").waitFor();
	assert.equal((await tab.state()).focus, focus);
});

test("the tooltip says what is under the pointer, and does not jump", {}, async (tab) => {
	const { start, ns, comm } = longest();
	const { x } = await tab.where();
	const y = await tab.lane(comm);
	await tab.page.mouse.move(x(start + 0.4 * ns), y);
	await tab.at("tooltip").waitFor();
	assert.match(await tab.at("tooltip").innerText(), /commit_lock/);
	const before = await tab.at("tooltip").boundingBox();
	await tab.page.mouse.move(x(start + 0.6 * ns), y + 2);
	await tab.page.waitForTimeout(200);
	const after = await tab.at("tooltip").boundingBox();
	assert.equal(after.y, before.y, "it went up or down within a lane");
});

test("a click on a name is about this thread alone", {}, async (tab) => {
	await tab.page.getByRole("button", { name: "checkpointer", exact: true }).first().click();
	await tab.until("threads", undefined);
	await tab.tab("functions");
	const rows = await tab.table("Functions");
	assert.ok(rows.length > 0);
	assert.ok(!rows.some((r) => r.Function === "lookup"), "a worker's function is there too");
});
