// SPDX-License-Identifier: MIT
/*
 * Locks: which one cost most, and who is to blame. The table has a row for each lock that somebody
 * waited for in the range; a click shows it at length (locks-detail.ts).
 */
import { mountLockDetail } from "./locks-detail";
import type { Page } from "./page";
import { makePanel, toggle } from "./panel";
import { same } from "./state";
import { askSummary, summaryWho, type Culprit, type Lock, type Summary } from "./summary";
import { barCell, makeTable } from "./table";
import { count, duration, el } from "./util";
import { isSignal, lockKind, noLocksWords } from "./words";

const BLAMED = 4;

/* The culprits that are worth naming. */
function worthTelling(rows: readonly Culprit[]): Culprit[] {
	return rows.filter((c) => c.blamed_ns >= rows[0]!.blamed_ns / 10);
}

function keyOf(lock: Lock): string {
	return lock.id === null ? `inferred ${lock.name}` : String(lock.id);
}

export function mountLocks(root: HTMLElement, page: Page): void {
	let answer: Summary | null = null;
	let withSignals = false;
	let most = 1;
	let inferred: string | null = null;

	const holder = (l: Lock) => l.holders.find((h) => h.comm !== null)?.comm ??
		(isSignal(l.kind) ? "" : "not known");
	const table = makeTable<Lock>({
		label: "Locks",
		sort: "total",
		key: keyOf,
		columns: [
			{ id: "name", head: "Lock", wide: true, value: (l) => l.name,
			  cell: (l) => el("span",
				{ class: "func", title: `${lockKind(l.kind)} ${l.name}` },
				l.name) },
			{ id: "total", head: "Waited", number: true, value: (l) => l.total_wait_ns,
			  cell: (l) => barCell(duration(l.total_wait_ns), l.total_wait_ns / most) },
			{ id: "waits", head: "Waits", number: true, value: (l) => l.waits,
				cell: (l) => count(l.waits) },
			{ id: "max", head: "Longest", number: true, value: (l) => l.max_wait_ns,
			  cell: (l) => duration(l.max_wait_ns) },
			{ id: "p50", head: "Half up to", number: true, optional: true,
			  title: "Half of the waits took at most this (p50)",
			  value: (l) => l.p50_ns, cell: (l) => duration(l.p50_ns) },
			{ id: "p99", head: "99% up to", number: true, optional: true,
			  title: "99 of 100 waits took at most this (p99)",
			  value: (l) => l.p99_ns, cell: (l) => duration(l.p99_ns) },
			{ id: "waiters", head: "Waiters", number: true, optional: true,
				value: (l) => l.waiters_total },
			{ id: "kind", head: "Kind", optional: true, value: (l) => lockKind(l.kind),
			  cell: (l) => lockKind(l.kind) + (l.inferred ? ", inferred" : "") },
			{ id: "holder", head: "Mostly held by", optional: true, value: holder },
		],
		pick(l) {
			/* An inferred lock has no id that a link could hold. */
			inferred = l.id === null ? keyOf(l) : null;
			if (l.id === null && page.state.get().lock === null)
				show();
			else
				page.state.set({ lock: l.id }, "push");
		},
	});
	const signals = toggle("Condition variables too",
		"Show also condition variables, semaphores and such, " +
		"which nobody holds", () => {
		withSignals = !withSignals;
		show();
	});
	const blame = el("section", { class: "blame", "aria-label": "Who kept others waiting" });
	const note = el("p", { class: "note" });
	const side = el("section", { class: "side wide", "aria-label": "The chosen lock" });
	const detail = mountLockDetail(side, page, () => {
		inferred = null;
		page.state.set({ lock: null }, "push");
		show();
	});
	const main = el("div", { class: "main" }, table.root, note, blame);
	const split = el("div", { class: "split" }, main, side);

	function showBlame(s: Summary): void {
		const rows = worthTelling(s.culprits).slice(0, BLAMED);
		const list = el("ul", { class: "blame-list" });
		for (const b of rows)
			list.append(el("li", {},
				el("b", { class: "blame-ns" }, duration(b.blamed_ns)),
				el("span", {}, b.words)));
		if (s.blamed.unknown_ns && s.blamed.unknown_ns > (s.blamed.waited_ns ?? 0) / 50)
			list.append(el("li", {},
				el("b", { class: "blame-ns" }, duration(s.blamed.unknown_ns)),
				el("span", {}, "behind locks whose holder is not known.")));
		blame.replaceChildren(...(list.childElementCount
			? [el("h3", {}, "Who kept others waiting"), list] : []));
	}

	function show(): void {
		signals.set(withSignals);
		if (!answer)
			return;
		const held = answer.locks.filter((l) => !isSignal(l.kind));
		const rest = answer.locks.filter((l) => isSignal(l.kind));
		const id = page.state.get().lock;
		const chosen = answer.locks.find(
			(l) => (id === null ? keyOf(l) === inferred : l.id === id));
		const rows = withSignals || (chosen && isSignal(chosen.kind)) ? answer.locks : held;
		if (!answer.locks.length) {
			panel.say(noLocksWords(page, page.state.get()));
			return;
		}
		most = Math.max(1, ...rows.map((l) => l.total_wait_ns));
		table.rows(rows);
		table.picked(chosen ? keyOf(chosen) : null);
		side.hidden = !chosen;
		if (chosen)
			detail.show(chosen);
		const ns = rest.reduce((sum, l) => sum + l.total_wait_ns, 0);
		note.textContent = [
			rows.length ? "" : "Nobody waited for a lock here.",
			rows.length === held.length && rest.length
				? `${duration(ns)} more were waits for something to happen (condition variables ` +
				  `and such), which is no contention.` : "",
			answer.kernel_locks_recorded ? ""
				: "Locks of the kernel were not recorded; those marked inferred were seen on stacks.",
		].filter(Boolean).join(" ");
		showBlame(answer);
		if (!panel.body.contains(split))
			panel.body.replaceChildren(split);
	}

	const panel = makePanel<Summary>(root, page, {
		who: (state) => summaryWho(page, state),
		ask: (state) => askSummary(page, state),
		show(s) {
			answer = s;
			show();
		},
	});
	panel.tools.append(signals.root);
	page.state.subscribe((now, before) => {
		if (!same("lock", now, before) && !root.hidden)
			show();
	});
}
