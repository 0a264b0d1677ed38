// SPDX-License-Identifier: MIT
/*
 * What the details show while nothing is chosen: the colours that occur in this recording, and what
 * a reader must know about it before trusting it: losses, damage, what was not seen, what the guard
 * did.
 */
import type { Page } from "./page";
import { chip, className, LOST, RUNNING, stackOrder } from "./palette";
import { count, duration, el, isOfTwo, percent, plural, sideWords } from "./util";
import { lossWords, timeless, unseenWords } from "./words";

/* Time of all threads together, by class. */
function totals(page: Page): Map<number, number> {
	const sums = new Map<number, number>();
	const add = (cls: number, ns: number | null) => {
		if (ns)
			sums.set(cls, (sums.get(cls) ?? 0) + ns);
	};
	/* Retired ids share a name with the current one, which comes first. */
	const ids = new Map([...page.info.reasons].reverse().map((r) => [r.name, r.id]));
	for (const t of page.info.threads) {
		add(RUNNING, t.running_ns);
		add(LOST, t.lost_ns);
		for (const [name, ns] of Object.entries(t.waits))
			add(ids.get(name) ?? 0, ns);
	}
	return sums;
}

export function legend(page: Page): HTMLElement {
	if (timeless(page))
		return el("section", { "data-test": "legend" }, el("p", { class: "hint" },
			"Nothing is known of when and how long: samples are counted. A click on a thread " +
			"(Threads) shows its samples alone. ? shows all keys."));
	const sums = totals(page);
	const whole = [...sums.values()].reduce((a, b) => a + b, 0);
	const rows = [...sums.entries()].sort((a, b) => stackOrder(a[0]) - stackOrder(b[0]));
	const list = el("ul", { class: "legend" });
	for (const [cls, ns] of rows) {
		list.append(el("li", { title: page.reason(cls) ? `waiting ${page.reason(cls)!.words}` : null },
			chip(cls), el("span", { class: "grow" }, className(page, cls)),
			el("span", { class: "dim" }, duration(ns)),
			el("span", { class: "share" }, percent(ns, whole))));
	}
	return el("section", { "data-test": "legend" },
		el("h2", { class: "detail-title" }, el("span", { class: "grow" }, "What threads did")), list,
		el("p", { class: "hint" }, "Click a stretch of a lane to see why. Wheel zooms, drag moves, " +
			"shift and drag selects a range. ? shows all keys."));
}

type Dict = Record<string, unknown>;

function number(d: Dict, key: string): number {
	return typeof d[key] === "number" ? (d[key] as number) : 0;
}

function strings(list: unknown, key: string): string[] {
	if (!Array.isArray(list))
		return [];
	return list.map((v: unknown) => {
		const text = typeof v === "object" && v !== null ? (v as Dict)[key] : v;
		return typeof text === "string" ? text : "";
	}).filter(Boolean);
}

/** What to know before trusting the recording, one sentence each; the first says whether all is well. */
export function notes(page: Page): { text: string; bad: boolean }[] {
	const { info } = page;
	const list: { text: string; bad: boolean }[] = [];
	const bad = (text: string) => list.push({ text, bad: true });
	if (info.capture.damage)
		bad(info.capture.damage);
	if (!info.capture.complete)
		bad("The recording did not end in an orderly way; what was written until then is here.");
	for (const text of lossWords(info.losses.by_cause))
		bad(text);
	const time = number(info.losses, "thread_time_ns");
	if (time)
		bad(`${duration(time)} of threads' time is not known (hatched).`);
	for (const what of info.capture.unseen)
		bad(unseenWords(page, what));
	if (info.blackouts.length)
		bad(`Nothing came from any CPU for ${duration(info.blackouts.reduce((ns, b) => ns + b.ns, 0))}, ` +
			`in ${plural(info.blackouts.length, "blackout")} (hatched).`);
	for (const text of strings(info.watch.steps, "words"))
		bad(text);
	for (const text of strings(info.guard.findings, "title"))
		list.push({ text: `This kernel: ${text}.`, bad: false });
	if (!list.some((n) => n.bad))
		list.unshift({ text: "Nothing was lost.", bad: false });
	return list;
}

export function recordingNotes(page: Page): HTMLElement {
	const { capture } = page.info;
	const list = el("ul", { class: "notes" });
	for (const n of notes(page))
		list.append(el("li", { class: n.bad ? "warn" : null }, n.text));
	if (isOfTwo(page.info))
		return el("section", { "data-test": "notes" }, el("h3", {}, "Both recordings"), list,
			...page.info.compared!.sides.map((side) =>
				el("p", { class: "dim" }, sideWords(page.info, side))));
	return el("section", { "data-test": "notes" }, el("h3", {}, "This recording"), list,
		el("p", { class: "dim" }, `${count(page.info.events)} events by the ${capture.engine} engine` +
			(capture.freq_hz ? ` at ${capture.freq_hz} Hz` : "") +
			(capture.host ? `, on ${capture.host}` : "") +
			(capture.kernel ? `, Linux ${capture.kernel}` : "") + "."));
}
