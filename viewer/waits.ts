// SPDX-License-Identifier: MIT
/*
 * Where threads waited, by place, as the report has it: a click goes to the longest wait of a place
 * in the timeline and shows its stack and who ended it. Waiting for work is no trouble, and comes
 * only when asked for.
 */
import type { Page } from "./page";
import { chip } from "./palette";
import { makePanel, toggle } from "./panel";
import { pathWords, stackBox } from "./stack";
import {
	askSummary, focusOn, sinceBegin, summaryWho, type Summary, type Wait, type Waker,
} from "./summary";
import { barCell, makeTable } from "./table";
import { count, duration, el, moment, plural } from "./util";
import { nothingWords, unseenWords } from "./words";

function wakerName(w: Waker): string {
	return w.kind === "thread" ? `${w.comm ?? "a thread"} (${w.tid})` : "an interrupt";
}

function wakerWords(page: Page, w: Wait): string {
	const first = w.wakers[0];
	if (first)
		return wakerName(first);
	if (w.not_ended === w.count)
		return "nobody";
	return page.info.capture.unseen.includes("wakers") ? "not seen" : "not known";
}

function reasonChip(page: Page, name: string): HTMLElement {
	const reason = page.info.reasons.find((r) => r.name === name);
	return el("span", { class: "reason", title: reason ? `It waited ${reason.words}.` : null },
		chip(reason?.id ?? 0), reason?.label ?? name);
}

export function mountWaits(root: HTMLElement, page: Page): void {
	let answer: Summary | null = null;
	let withIdle = false;
	let picked: string | null = null;
	let longest = 1;

	const key = (w: Wait) => `${w.reason} ${w.lock} ${w.stack.map((f) => f.name).join(";")}`;
	const lockName = (w: Wait) => {
		const lock = w.lock === null ? undefined : answer?.locks[w.lock];
		return lock?.named ? lock.name : "";
	};
	const table = makeTable<Wait>({
		label: "Waits by place",
		sort: "total",
		key,
		columns: [
			{ id: "reason", head: "Waited for", value: (w) => w.reason,
			  cell: (w) => reasonChip(page, w.reason) },
			{ id: "total", head: "Total", number: true, value: (w) => w.total_ns,
			  cell: (w) => barCell(duration(w.total_ns), w.total_ns / longest) },
			{ id: "count", head: "Times", number: true, value: (w) => w.count,
			  cell: (w) => count(w.count) },
			{ id: "max", head: "Longest", number: true, value: (w) => w.max_ns,
			  cell: (w) => duration(w.max_ns) },
			{ id: "at", head: "At", title: "When the longest began", number: true,
			  optional: true, value: (w) => w.max_start_unix_ns,
			  cell: (w) => moment(page.info, sinceBegin(page, w.max_start_unix_ns)) },
			{ id: "place", head: "Where", wide: true, value: (w) => pathWords(w.stack),
			  cell: (w) => placeCell(w) },
			{ id: "waker", head: "Mostly woken by", optional: true,
				value: (w) => wakerWords(page, w) },
		],
		pick(w) {
			picked = key(w);
			detail(w);
			focusOn(page, w.max_tid, w.max_start_unix_ns, w.max_ns);
		},
	});

	function placeCell(w: Wait): HTMLElement {
		const name = lockName(w);
		const path = w.stack.length ? pathWords(w.stack, 4) : "no stack";
		return el("span", { class: "place", title: pathWords(w.stack, 99) },
			el("span", { class: "path" }, path),
			name && el("b", { class: "lock-name" }, name));
	}

	const idle = toggle("Waiting for work too", "Show also threads that waited for work", () => {
		withIdle = !withIdle;
		show();
	});
	const side = el("section", { class: "side", "aria-label": "The chosen wait" });
	const sum = el("p", { class: "note" });
	const main = el("div", { class: "main" }, table.root, sum);
	const split = el("div", { class: "split" }, main, side);

	function detail(w: Wait): void {
		const by = w.wakers.map((k) => el("details", {},
			el("summary", {}, `${wakerName(k)}: ${duration(k.total_ns)}, ` +
				`${plural(k.count, "time")}`),
			stackBox("Where it ended the wait", k.stack)));
		const reason = page.info.reasons.find((r) => r.name === w.reason);
		side.replaceChildren(
			el("h2", {}, `${plural(w.threads, "thread")} waited ${reason?.words ?? w.reason}` +
				(lockName(w) ? `, ${lockName(w)}` : "")),
			el("p", {}, `${plural(w.count, "time")}, ${duration(w.total_ns)} in all, at most ` +
				`${duration(w.max_ns)}.` +
					(w.not_ended ? ` ${count(w.not_ended)} had not ended.`
					: "")),
			w.lock === null ? "" : el("button", { class: "link", onclick: () => {
				const lock = answer?.locks[w.lock!];
				if (lock)
					page.state.set({ tab: "locks", lock: lock.id }, "push");
			} }, "Show this lock"),
			stackBox("Where they waited", w.stack),
			by.length ? el("h3", {}, "Woken by") : "",
			...by);
		side.hidden = false;
	}

	function show(): void {
		idle.set(withIdle);
		const all = answer?.waits ?? [];
		const rows = all.filter((w) => withIdle || w.reason !== "idle");
		const hidden = all.filter((w) => w.reason === "idle");
		if (!all.length) {
			panel.say(nothingWords(page, page.state.get(), "wait"));
			return;
		}
		longest = Math.max(1, ...rows.map((w) => w.total_ns));
		table.rows(rows);
		const chosen = rows.find((w) => key(w) === picked);
		table.picked(chosen ? picked : null);
		if (chosen)
			detail(chosen);
		else
			side.hidden = true;
		const idleNs = hidden.reduce((ns, w) => ns + w.total_ns, 0);
		sum.textContent = [
			rows.length ? "" : "Threads waited only for work here.",
			!withIdle && hidden.length
				? `${duration(idleNs)} more looked like waits for work, in ` +
				  `${plural(hidden.length, "place")}.` : "",
			unseenWords(page, "wakers"),
		].filter(Boolean).join(" ");
		if (!panel.body.contains(split))
			panel.body.replaceChildren(split);
	}

	const panel = makePanel<Summary>(root, page, {
		blank: (state) => unseenWords(page, "switches") &&
			nothingWords(page, state, "wait"),
		who: (state) => summaryWho(page, state),
		ask: (state) => askSummary(page, state),
		show(s) {
			answer = s;
			show();
		},
	});
	panel.tools.append(idle.root);
}
