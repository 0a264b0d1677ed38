// SPDX-License-Identifier: MIT
/*
 * The top of the page: what was recorded, what is wrong in one sentence, and the stalls to click.
 */
import { notes } from "./details-rest";
import type { Info, Page, Range } from "./page";
import { same } from "./state";
import { clock, date, duration, el, isOfTwo, moment, plural, sideWords } from "./util";
import { timeless } from "./words";

const BLACKOUT_WORDS = "blackout: nothing came from any CPU; the kernel or the virtual machine stood still";

/** What was recorded, in few words. */
export function recorded(info: Info): string {
	const names = info.compared?.sides.map((side) => side.name);
	if (names)
		return (isOfTwo(info) ? names.join(" and ") : `Two ranges of ${names[0]}`) + " compared";
	const processes = [...new Set(info.threads.map((t) => t.process))];
	return info.capture.command.join(" ") || (info.whole_machine ? "the whole machine"
		: processes.slice(0, 3).join(", ") + (processes.length > 3 ? " and others" : ""));
}

/* "2.10s on host, 2026-03-01 10:22:01", as much of it as is known */
export function whenAndWhere(page: Page): string {
	const { info } = page;
	if (info.compared)
		return info.compared.sides.map((side) => sideWords(info, side)).join("; ");
	const when = info.capture.start_unix_ns ? `, ${date(info)} ${clock(info, 0, 0)}` : "";
	const where = info.capture.host ? ` on ${info.capture.host}` : "";
	return (timeless(page) ? "no times" : duration(info.duration_ns)) + where + when;
}

export function mountTop(root: HTMLElement, page: Page, help: () => void): void {
	const { info } = page;
	const command = recorded(info);
	const bad = notes(page).filter((n) => n.bad);
	root.replaceChildren(
		el("strong", { class: "mark" }, "thaw"),
		el("span", { class: "command", title: command }, command),
		el("span", { class: "what" }, whenAndWhere(page)),
		el("button", {
			class: "badge",
			hidden: !bad.length,
			title: bad.map((n) => n.text).join("\n"),
			onclick: () => page.state.set({ focus: null, stall: null }, "push"),
		}, "not all was seen"),
		el("span", { class: "grow" }),
		el("span", { id: "find" }),
		el("button", { class: "button", "aria-label": "Help", title: "All keys (?)", "data-test": "help",
			onclick: help }, "?"),
	);
}

interface Row {
	start: number;
	ns: number;
	text: string;
	stall: number | null; /* null: a blackout */
}

/* Stalls and blackouts together, the longest first. */
function allRows(page: Page): Row[] {
	const { stalls, blackouts } = page.info;
	const rows: Row[] = stalls.map((s, i) => ({ start: s.start, ns: s.ns, text: s.text, stall: i }));
	for (const b of blackouts)
		rows.push({ start: b.start, ns: b.ns, text: BLACKOUT_WORDS, stall: null });
	return rows.sort((a, b) => b.ns - a.ns);
}

function heading(page: Page, rows: Row[]): string {
	const { stalls, stalls_total, blackouts } = page.info;
	if (!rows.length)
		return page.info.has_switches ? "No stalls: at no time did many threads stand still for one cause."
			: "Stalls cannot be seen in samples alone.";
	const parts = [];
	if (stalls_total)
		parts.push(plural(stalls_total, "stall") + (stalls.length < stalls_total ? ", the longest of them:" : ""));
	if (blackouts.length)
		parts.push(plural(blackouts.length, "blackout"));
	return parts.join(" and ");
}

export interface LeadActions {
	pickStall(index: number): void;
	pickRange(range: Range): void;
}

export function mountLead(root: HTMLElement, page: Page, act: LeadActions): void {
	const { info } = page;
	const words = el("div", { class: "lead-words" },
		el("h1", { "data-test": "lead" }, info.compared?.text || info.text || "Nothing stands out in this recording."));
	const rows = allRows(page);
	const list = el("ol", { class: "stalls", "data-test": "stalls" });
	const buttons = rows.map((row, i) => {
		const button = el("button", {
			class: "stall",
			"data-test": `stall-${i}`,
			onclick: () => row.stall !== null ? act.pickStall(row.stall)
				: act.pickRange({ from: row.start, to: row.start + row.ns }),
		}, el("span", { class: "stall-time" }, duration(row.ns)),
			el("span", { class: "dim" }, moment(info, row.start)),
			el("span", { class: "stall-text", title: row.text }, row.text));
		list.append(el("li", {}, button));
		return button;
	});
	root.replaceChildren(words, el("div", { class: "lead-stalls" }, el("h2", {}, heading(page, rows)), list));
	const mark = () => buttons.forEach((b, i) => {
		const { stall } = page.state.get();
		b.setAttribute("aria-current", String(stall !== null && stall === rows[i].stall));
	});
	mark();
	page.state.subscribe((now, before) => {
		if (!same("stall", now, before))
			mark();
	});
}
