// SPDX-License-Identifier: MIT
/*
 * Captures that were made to break a page (make_hostile.c): names that are markup, a million intervals,
 * ten thousand threads, torn files, nothing at all. The watch in harness.mjs sees a name come to life.
 */
import fs from "node:fs";
import { assert, Tab, report, test } from "./harness.mjs";

const LOSSES = fs.readFileSync(new URL("../../src/wire/loss.def", import.meta.url), "utf8");
const TABS = ["flame", "functions", "waits", "locks", "threads", "heatmap", "chart"];

/** Looks at everything once. */
async function everything(tab) {
	const there = [];
	for (const id of TABS)
		if (await tab.at(`tab-${id}`).count()) {
			await tab.tab(id);
			there.push(id);
		}
	assert.ok(there.length >= 5, `only the tabs ${there}`);
}

test("hostile names are text", { capture: "names" }, async (tab) => {
	const before = await tab.page.evaluate(() => document.querySelectorAll("img, script, svg, b, iframe").length);
	await everything(tab);
	await tab.tab("threads");
	const rows = await tab.table("Threads");
	const names = report("names").threads.map((t) => t.comm);
	for (const name of ["<img src=x onerror=pwned()>", "<script>pwned()</script>", "__proto__", "constructor",
		"javascript:pwned()", "${pwned()}{{pwned()}}"]) {
		assert.ok(names.includes(name), `the capture has no ${name}`);
		assert.ok(rows.some((r) => r.Thread.startsWith(name)), `${name} is not shown as it is`);
	}
	await tab.tab("locks");
	assert.ok((await tab.table("Locks")).some((r) => r.Lock === "lock<img src=x onerror=pwned()>"));
	await tab.tab("functions");
	const functions = await tab.table("Functions");
	assert.ok(functions.some((r) => r.Function === "<script>pwned()</script>"));
	assert.ok(functions.some((r) => r.Function === 'hot<int>::operator()("</script>")'));
	assert.ok(functions.some((r) => r.Function === "__proto__"));
	const after = await tab.page.evaluate(() =>
		[...document.querySelectorAll("img, script, svg, iframe")].length);
	assert.ok(after <= before, "there are elements that were not there");
	assert.ok(rows.some((r) => r.Thread.startsWith("\ufffdgnp.evil")), "a name is read from right to left");
	assert.ok(!/[\u202a-\u202e\u2066-\u2069]/.test(await tab.page.locator("body").innerText()));
	await tab.shot("hostile");
});

test("hostile names in details, tooltips and stalls", { capture: "names" }, async (tab) => {
	await tab.at("stalls").getByRole("button").filter({ hasText: "stood behind" }).first().click();
	await tab.at("stall-holder").click();
	const details = tab.page.getByRole("complementary", { name: "Details" });
	await details.getByText("disk").first().waitFor();
	assert.match(await details.innerText(), /<svg\/onload=pwned\(\)>/);
	const { box, x } = await tab.where();
	for (const ts of [0.1e9, 0.55e9, 1.55e9, 3.5e9])
		for (let y = box.y + 5; y < box.y + box.height; y += 25) {
			await tab.page.mouse.move(x(ts), y);
			await tab.page.mouse.click(x(ts), y);
		}
	await tab.calm();
});

test("a very long name makes nothing wider than the window", { capture: "names" }, async (tab) => {
	await everything(tab);
	const wide = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
	assert.ok(wide <= 0, `${wide} pixels too wide`);
});

test("a million intervals", { capture: "million" }, async (tab) => {
	const { box } = await tab.where();
	await tab.calm();
	await tab.shot("million");
	await tab.page.mouse.move(box.x + 300, box.y + 150);
	for (let i = 0; i < 20; i++)
		await tab.page.mouse.wheel(0, -300);
	await tab.until("view", undefined);
	await tab.calm();
	await tab.page.mouse.click(box.x + 300, box.y + 150);
	await tab.until("focus", undefined);
	await tab.at("detail-title").waitFor();
	await everything(tab);
	await tab.shot("million-near");
});

test("ten thousand threads", { capture: "threads" }, async (tab) => {
	await tab.calm();
	await tab.shot("threads");
	await everything(tab);
	await tab.tab("threads");
	const shown = await tab.table("Threads");
	assert.ok(shown.length >= 100, `${shown.length} rows`);
	const elements = await tab.page.evaluate(() => document.querySelectorAll("*").length);
	assert.ok(elements < 20000, `${elements} elements`);
	const { box } = await tab.where();
	await tab.page.mouse.move(box.x + 300, box.y + 100);
	await tab.page.keyboard.down("Alt");
	for (let i = 0; i < 10; i++)
		await tab.page.mouse.wheel(0, 4000);
	await tab.page.keyboard.up("Alt");
	await tab.calm();
});

test("five thousand threads behind one lock", { capture: "crowd" }, async (tab) => {
	const said = report("crowd").finding.sentence.replace(/\s+/g, " ");
	const lead = (await tab.at("lead").innerText()).replace(/\s+/g, " ");
	assert.ok(lead.includes(said), `it does not say: ${said}`);
	await everything(tab);
	/* Down to the last lane. */
	const { box } = await tab.where();
	const label = tab.page.locator(".tl-label.thread");
	const first = await label.first().innerText();
	await tab.page.mouse.move(box.x + 300, box.y + 100);
	await tab.page.keyboard.down("Alt");
	for (let i = 0; i < 10; i++)
		await tab.page.mouse.wheel(0, 20000);
	await tab.page.keyboard.up("Alt");
	await tab.calm();
	assert.notEqual(await label.first().innerText(), first);
	await tab.shot("crowd");
});

for (const name of ["torn", "cut"])
	test(`a torn file shows what there is, and says so (${name})`, { capture: name }, async (tab) => {
		const damage = report(name).capture;
		assert.ok(!damage.complete || damage.damage, "the capture is whole");
		const text = await tab.page.locator("body").innerText();
		assert.match(text, /not all was seen|torn|damaged|killed|not complete|missing|cut/i);
		await everything(tab);
		await tab.shot(name);
	});

test("a capture without times shows counts, and no times",
     { capture: "counted", options: { wait: false } }, async (tab) => {
	const seen = [];
	const look = async () => seen.push(await tab.page.locator("body").innerText());
	await tab.at("tab-flame").waitFor();
	await tab.calm();
	await look();
	assert.match(seen[0], /all: 45 samples/);
	for (const id of ["functions", "waits", "locks", "threads"]) {
		await tab.tab(id);
		await look();
	}
	const threads = await tab.table("Threads");
	assert.deepEqual(threads.map((r) => [r.Thread, r.Samples, r["Of all"]]),
		[["prog", "40", "89%"], ["other", "5", "11%"]]);
	await tab.page.keyboard.press("w");
	await tab.page.keyboard.press("j");
	await look();
	for (const text of seen) {
		assert.doesNotMatch(text, /\b\d[\d.]*(ns|us|ms|s)\b|1970|Hz/);
		assert.match(text, /the whole recording, all 2 threads/);
	}
	for (const gone of ["tab-chart", "tab-heatmap"])
		assert.equal(await tab.at(gone).count(), 0);
	assert.ok(!(await tab.page.locator("#timeline").isVisible()));
	await tab.shot("counted");
});

test("an empty capture gets a sentence", { capture: "empty", options: { wait: false } }, async (tab) => {
	await tab.page.getByRole("heading", { name: "Nothing to show" }).waitFor();
	assert.match(await tab.page.locator("body").innerText(), /no threads in it/);
	await tab.shot("empty");
});

test("what was lost is shown and said", { capture: "lost" }, async (tab) => {
	await tab.calm();
	await tab.shot("lost");
	const text = await tab.page.locator("body").innerText();
	assert.match(text, /not all was seen|lost/i);
	/* Each cause in the words of its row, with what helps against it. */
	for (const [cause, n] of Object.entries(report("lost").losses.by_cause)) {
		const row = new RegExp(`"${cause}", (\\w+), "([^"]*)", "([^"]*)"`).exec(LOSSES);
		const said = `${n} record${n === 1 ? " was" : "s were"} lost: ${row[2]}${row[3] && `; ${row[3]}`}.`;
		assert.equal(text.includes(said), row[1] !== "STACK", said);
	}
	const lost = report("lost").threads.find((t) => t.lost_ns);
	assert.ok(lost, "the capture lost nothing");
	const { x } = await tab.where();
	await tab.page.mouse.click(x(3.4e9), await tab.lane("gnp.evil"));
	await tab.at("detail-title").waitFor();
	await everything(tab);
});

test("a recording without switches says what it does not see", { capture: "ctimer" }, async (tab) => {
	await tab.calm();
	await tab.shot("ctimer");
	await tab.tab("waits");
	assert.match(await tab.at("sentence").first().innerText(), /does not see/);
	// Which functions the timers met is chance: the report has the same capture's.
	const [most] = report("ctimer").functions;
	assert.ok(most, "the capture has no samples");
	await tab.tab("functions");
	assert.ok((await tab.table("Functions")).some((r) => r.Function === most.name), `no ${most.name}`);
	await everything(tab);
});
