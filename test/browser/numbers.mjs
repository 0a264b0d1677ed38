// SPDX-License-Identifier: MIT
/*
 * The numbers on the page are those of `thaw report --json` for the same range and threads: for the whole
 * recording, and for a range that a hand selected.
 */
import { assert, isCount, isDuration, isPercent, report, select, test } from "./harness.mjs";

/** Without and with a selection; fn gets the report of the same time. */
function both(name, fn) {
	test(`${name} as in the report`, {}, (tab) => fn(tab, report("demo")));
	test(`${name} as in the report of a selection`, {}, async (tab) => {
		const { from, to } = await select(tab, 0.2, 0.6);
		await fn(tab, report("demo", "--from", `${from}ns`, "--to", `${to}ns`));
	});
}

const all = (rows, truth, what) => assert.equal(rows.length, truth.length, `the number of ${what}`);

both("threads", async (tab, truth) => {
	await tab.tab("threads");
	const rows = await tab.table("Threads");
	all(rows, truth.threads.filter((t) => t.wall_ns), "threads");
	for (const t of truth.threads.filter((x) => x.wall_ns)) {
		const row = rows.find((r) => Number(r.tid) === t.tid);
		assert.ok(row, `${t.comm} is missing`);
		assert.ok(row.Thread.startsWith(t.comm), `${row.Thread}, not ${t.comm}`);
		assert.ok(isDuration(row.Time, t.wall_ns), `${t.comm}: ${row.Time}, not ${t.wall_ns}`);
		for (const [head, ns] of [["Running", t.running_ns], ["Runnable", t.runnable_ns],
			["Waiting", t.waiting_ns]])
			assert.ok(isPercent(row[head], ns, t.wall_ns),
				`${t.comm} ${head}: ${row[head]}, not ${ns / t.wall_ns}`);
	}
});

both("waits", async (tab, truth) => {
	await tab.tab("waits");
	await tab.page.getByRole("button", { name: "Waiting for work too" }).click();
	const rows = await tab.table("Waits by place");
	all(rows, truth.waits, "waits");
	const wanted = [...truth.waits].sort((a, b) => b.total_ns - a.total_ns);
	for (const [i, w] of wanted.entries()) {
		const row = rows[i];
		assert.ok(isDuration(row.Total, w.total_ns), `${i}: ${row.Total}, not ${w.total_ns}`);
		const same = wanted.filter((x) => isDuration(row.Total, x.total_ns));
		assert.ok(same.some((x) => isCount(row.Times, x.count) && isDuration(row.Longest, x.max_ns)),
			`${i}: ${row.Times} times, longest ${row.Longest}; not ${w.count}, ${w.max_ns}`);
	}
});

both("locks", async (tab, truth) => {
	await tab.tab("locks");
	await tab.page.getByRole("button", { name: "Condition variables too" }).click();
	const rows = await tab.table("Locks");
	all(rows, truth.locks, "locks");
	for (const l of truth.locks) {
		const same = rows.filter((r) => r.Lock === l.name && isDuration(r.Waited, l.total_wait_ns));
		assert.ok(same.length, `${l.name} with ${l.total_wait_ns} ns is missing`);
		assert.ok(same.some((r) => isCount(r.Waits, l.waits) && isDuration(r.Longest, l.max_wait_ns)),
			`${l.name}: ${JSON.stringify(same[0])}, not ${l.waits}, ${l.max_wait_ns}`);
	}
});

both("functions", async (tab, truth) => {
	await tab.tab("functions");
	const rows = await tab.table("Functions");
	const samples = truth.threads.reduce((n, t) => n + t.samples, 0);
	assert.ok(truth.functions.length > 10);
	for (const f of truth.functions.slice(0, 40)) {
		const same = rows.filter((r) => r.Function === f.name && r.Module === f.module);
		assert.ok(same.some((r) => isPercent(r.Self, f.self_samples, samples) &&
			isPercent(r.Total, f.total_samples, samples)),
			`${f.name}: ${JSON.stringify(same[0])}, not ${f.self_samples} and ${f.total_samples} of ${samples}`);
	}
});

both("the flame graph's total", async (tab, truth) => {
	await tab.tab("flame");
	const panel = tab.page.getByRole("tabpanel");
	const samples = truth.threads.reduce((n, t) => n + t.samples, 0);
	const total = async () => /all: (\S+)/.exec(await panel.innerText())?.[1];
	assert.ok(isCount(await total(), samples), `${await total()}, not ${samples}`);
	await panel.getByRole("button", { name: "Waiting" }).click();
	await tab.until("flame", undefined);
	await tab.calm();
	// Waiting for work is no trouble, and is left out.
	const waited = truth.threads.reduce((n, t) => n + t.waiting_ns - (t.waits.idle ?? 0), 0);
	assert.ok(isDuration(await total(), waited), `${await total()}, not ${waited}`);
});

test("one thread's numbers as in the report of it", {}, async (tab) => {
	const truth = report("demo", "--thread", "worker-1");
	await tab.page.getByRole("button", { name: "worker-1", exact: true }).first().click();
	await tab.until("threads", undefined);
	await tab.tab("waits");
	await tab.page.getByRole("button", { name: "Waiting for work too" }).click();
	const rows = await tab.table("Waits by place");
	all(rows, truth.waits, "waits");
	const sum = [...truth.waits].sort((a, b) => b.total_ns - a.total_ns);
	sum.forEach((w, i) => assert.ok(isDuration(rows[i].Total, w.total_ns), `${rows[i].Total}, not ${w.total_ns}`));
});
