// SPDX-License-Identifier: MIT
/* The tabs under a hand: flame graph, functions, locks, heatmap and the comparison of two ranges. */
import { execFileSync } from "node:child_process";
import { assert, capture, isPercent, report, select, test, THAW } from "./harness.mjs";

test("search the flame graph", { options: { hash: "#tab=flame" } }, async (tab) => {
	await tab.calm();
	const truth = report("demo");
	const samples = truth.threads.reduce((n, t) => n + t.samples, 0);
	const lookup = truth.functions.find((f) => f.name === "lookup");
	await tab.at("flame-search").fill("/^lookup$/");
	await tab.page.waitForFunction(() => /%/.test(document.querySelector('[data-test="flame-found"]').textContent));
	const found = await tab.at("flame-found").innerText();
	assert.ok(isPercent(found.split(" ")[0], lookup.total_samples, samples), `${found}; ${lookup.total_samples} of ${samples}`);
	await tab.shot("flame-search");
	await tab.at("flame-search").fill("no such function");
	await tab.at("flame-found").getByText(/no function/).waitFor();
	await tab.at("flame-search").fill("/(/");
	await tab.at("flame-found").getByText(/not a regular expression/).waitFor();
});

test("zoom the flame graph and come back", { options: { hash: "#tab=flame" } }, async (tab) => {
	await tab.calm();
	const flame = tab.at("flame");
	await flame.focus();
	for (const key of ["ArrowDown", "ArrowDown", "ArrowDown", "Enter"])
		await tab.page.keyboard.press(key);
	await tab.until("flame", undefined);
	const crumbs = tab.page.getByRole("navigation").getByRole("button");
	assert.ok((await crumbs.count()) > 1);
	await tab.shot("flame-zoom");
	await crumbs.first().click();
	await tab.until("flame", null);
	const box = await flame.boundingBox();
	await tab.page.mouse.click(box.x + 0.4 * box.width, box.y + 50);
	await tab.until("flame", undefined);
	await tab.page.goBack();
	await tab.until("flame", null);
});

test("the flame graph from below, by thread, waiting, and as a list", { options: { hash: "#tab=flame" } },
	async (tab) => {
		await tab.calm();
		const panel = tab.page.getByRole("tabpanel");
		for (const name of ["Inverted", "By thread", "Waiting", "Both", "As list"]) {
			await panel.getByRole("button", { name, exact: true }).click();
			await tab.calm();
			await tab.shot(`flame-${name.toLowerCase().replace(" ", "-")}`);
		}
		assert.ok((await panel.getByRole("treeitem").count()) > 3);
	});

test("a function's callers and callees", { options: { hash: "#tab=functions" } }, async (tab) => {
	await tab.calm();
	await tab.page.getByRole("grid", { name: "Functions" }).getByRole("row")
		.filter({ hasText: "hash_bytes" }).first().click();
	const side = tab.page.getByRole("region", { name: "Callers and callees" });
	await side.getByText("Called by").waitFor();
	assert.match(await side.innerText(), /lookup|serve|work/);
	await tab.shot("functions");
});

test("a lock at length", { options: { hash: "#tab=locks" } }, async (tab) => {
	await tab.calm();
	const truth = report("demo").locks.find((l) => l.name === "commit_lock");
	await tab.page.getByRole("grid", { name: "Locks" }).getByRole("row")
		.filter({ hasText: "commit_lock" }).first().click();
	const side = tab.page.getByRole("region", { name: "The chosen lock" });
	await side.getByText("checkpointer").first().waitFor();
	const text = await side.innerText();
	for (const w of truth.waiters)
		assert.match(text, new RegExp(w.comm));
	await tab.calm();
	await tab.shot("lock");
});

test("a range picked in the heatmap", { options: { hash: "#tab=heatmap" } }, async (tab) => {
	await tab.calm();
	const map = tab.at("heatmap");
	const box = await map.boundingBox();
	await tab.page.mouse.move(box.x + 0.3 * box.width, box.y + 0.2 * box.height);
	await tab.page.mouse.down();
	await tab.page.mouse.move(box.x + 0.5 * box.width, box.y + 0.5 * box.height, { steps: 4 });
	await tab.page.mouse.up();
	const sel = (await tab.until("sel", undefined)).split("-").map(Number);
	assert.ok(sel[1] > sel[0]);
	await tab.calm();
	await tab.shot("heatmap");
	await tab.tab("flame");
	const truth = report("demo", "--from", `${sel[0]}ns`, "--to", `${sel[1]}ns`);
	const samples = truth.threads.reduce((n, t) => n + t.samples, 0);
	const text = await tab.page.getByRole("tabpanel").innerText();
	assert.match(text, samples ? new RegExp(`all: ${samples} `) : /No sample/);
});

/** Both forms of a range of the capture: 13:45:30.750 to 13:45:31.000 (+3.200s to +3.450s) */
function bothForms(name, from, to) {
	const begin = report(name).capture.start_unix_ns;
	const clock = (ns) => {
		const ms = begin / 1e6 + ns / 1e6;
		const at = new Date(ms);
		const two = (n) => String(n).padStart(2, "0");
		return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}.` +
			String(Math.floor(ms % 1000)).padStart(3, "0");
	};
	const offset = (ns) => `+${(ns / 1e9).toFixed(3)}s`;
	return `${clock(from)} to ${clock(to)} (${offset(from)} to ${offset(to)})`;
}

test("times by the clock and since the beginning", { capture: "deadlock", options: {
	hash: "#tab=functions&sel=500000000-1500000000&heat=wait" } }, async (tab) => {
	const want = bothForms("deadlock", 5e8, 15e8);
	for (const id of ["functions", "waits", "flame", "threads"]) {
		await tab.tab(id);
		const scope = tab.page.getByRole("tabpanel").locator('[data-test="scope"]');
		assert.equal(await scope.innerText(), `${want}, 1.00s, all 7 threads`, id);
		assert.ok(await scope.evaluate((e) => e.scrollWidth <= e.clientWidth), `${id}: it is cut off`);
	}
	/* A cell of the heatmap, a range that is picked in it, and the lanes of a lock. */
	const forms = /\d\d:\d\d:\d\d\.\d{3,6} to \d\d:\d\d:\d\d\.\d{3,6} \(\+\d\.\d{3,6}s to \+\d\.\d{3,6}s\)/;
	await tab.tab("heatmap");
	const map = tab.at("heatmap");
	await map.focus();
	await tab.page.keyboard.press("ArrowDown");
	assert.match(await tab.page.locator("#heat-status").innerText(), forms);
	await tab.page.keyboard.press("Shift+ArrowDown");
	assert.match(await tab.page.locator("#heat-status").innerText(), forms);
	await tab.tab("locks");
	await tab.page.getByRole("grid", { name: "Locks" }).getByRole("row").filter({ hasText: "commit_lock" }).first().click();
	const lanes = tab.page.locator(".lanes-words");
	await lanes.getByText("as the timeline").waitFor();
	assert.ok((await lanes.innerText()).startsWith(bothForms("deadlock", 0, 2e9)), await lanes.innerText());
});

test("two ranges compared", {}, async (tab) => {
	const a = await select(tab, 0.1, 0.3);
	await tab.page.goto(`${tab.address}#tab=flame&sel=${a.from}-${a.to}&sel2=${a.to}-${2 * a.to}`);
	await tab.at("diff-legend").waitFor();
	await tab.calm();
	await tab.shot("diff");
	await tab.page.getByRole("tabpanel").getByRole("button", { name: /one range|stop|only|end/i }).first().click();
	await tab.until("sel2", null);
});

/** Names, lengths and times of recording of both, and what differs, as thaw diff says it. */
async function saysWhichTwo(tab) {
	const sides = ["demo", "ctimer"].map((name) => ({ file: `${name}.thaw`, ...report(name).capture }));
	const title = `${sides[0].file} and ${sides[1].file} compared`;
	assert.equal(await tab.page.title(), title);
	const { summary } = JSON.parse(execFileSync(THAW, ["diff", capture("demo"), capture("ctimer"), "--json"],
		{ maxBuffer: 1 << 28 }));
	assert.equal(await tab.at("lead").innerText(), summary);
	const top = await tab.page.locator("#top").innerText();
	assert.ok(top.includes(title), top);
	for (const side of sides) {
		const at = new Date(Math.floor(side.start_unix_ns / 1e9) * 1000);
		const two = (n) => String(n).padStart(2, "0");
		const when = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())} ` +
			`${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
		const long = new RegExp(`${side.file.replace(/[.\\]/g, "\\$&")}: ([\\d.]+)s, ${when}`).exec(top);
		assert.ok(long, `${side.file}, ${when}: ${top}`);
		assert.ok(Math.abs(long[1] - side.duration_ns / 1e9) <= 0.06, `${long[1]} s, not ${side.duration_ns} ns`);
	}
	assert.match(await tab.at("notes").innerText(), /One of the two engines does not see which locks/);
	assert.match(await tab.at("diff-legend").innerText(), /first .*demo\.thaw[^]*second .*ctimer\.thaw/);
}

test("two captures compared", { hosts: ["diff"] }, async (tab) => {
	await tab.at("diff-legend").waitFor();
	const count = (name) => report(name).threads.reduce((n, t) => n + t.samples, 0);
	const [, before, after] = /all: ([\d.]+k?) samples and ([\d.]+k?) /.exec(
		(await tab.page.getByRole("tabpanel").innerText()).replace(/\s+/g, " "));
	const near = (text, n) => {
		const said = parseFloat(text) * (text.endsWith("k") ? 1000 : 1);
		assert.ok(Math.abs(said - n) <= 0.06 * n, `${text} samples, not ${n}`);
	};
	near(before, count("demo"));
	near(after, count("ctimer"));
	await saysWhichTwo(tab);
	await tab.calm();
	await tab.shot("diff-captures");
	await tab.page.getByRole("tabpanel").getByRole("button", { name: /end comparison/i }).first().click();
	await tab.until("sel2", null);
});

test("one thread over time", { options: { hash: "#tab=chart" } }, async (tab) => {
	await tab.calm();
	const { box } = await tab.where();
	await tab.page.mouse.click(box.x + 0.4 * box.width, await tab.lane("worker-1"));
	await tab.until("focus", undefined);
	await tab.calm();
	await tab.page.getByRole("tabpanel").getByText("worker-1").first().waitFor();
	await tab.at("chart").focus();
	await tab.page.keyboard.press("ArrowDown");
	assert.match(await tab.page.locator("#chart-status").innerText(),
		/\d\d:\d\d:\d\d\.\d{3,6} to \d\d:\d\d:\d\d\.\d{3,6} \(\+\d+\.\d{3,}s to \+\d+\.\d{3,}s\)/);
	await tab.shot("chart");
});
