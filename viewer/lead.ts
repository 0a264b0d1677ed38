// SPDX-License-Identifier: MIT
/*
 * The top of the page: what was recorded, what is wrong in one sentence, and the stalls to click.
 */
import { notes } from "./details-rest";
import type { Page } from "./page";
import { same } from "./state";
import { clock, date, duration, el, plural } from "./util";

export function mountTop(root: HTMLElement, page: Page, help: () => void): void {
	const { info } = page;
	const command = info.capture.command.join(" ") || info.capture.path;
	const bad = notes(page).filter((n) => n.bad);
	root.replaceChildren(
		el("strong", { class: "mark" }, "thaw"),
		el("span", { class: "command", title: command }, command),
		el("span", { class: "what" }, `${duration(info.duration_ns)} on ${info.capture.host}, ` +
			`${date(info)} ${clock(info, 0, 0)}`),
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

export function mountLead(root: HTMLElement, page: Page, pickStall: (index: number) => void): void {
	const { info } = page;
	const [first, ...rest] = info.text.split(/\n\n+/);
	const words = el("div", { class: "lead-words" },
		el("h1", { "data-test": "lead" }, first.replace(/\s+/g, " ")),
		rest.length > 0 && el("p", {}, rest.join(" ").replace(/\s+/g, " ")));
	const list = el("ol", { class: "stalls", "data-test": "stalls" });
	const buttons = info.stalls.map((s, i) => {
		const button = el("button", {
			class: "stall",
			"data-test": `stall-${i}`,
			onclick: () => pickStall(i),
		}, el("span", { class: "stall-time" }, duration(s.ns)),
			el("span", { class: "dim" }, clock(info, s.start)),
			el("span", { class: "stall-text" }, s.text));
		list.append(el("li", {}, button));
		return button;
	});
	const box = el("div", { class: "lead-stalls" },
		el("h2", {}, info.stalls.length ? plural(info.stalls.length, "stall")
			: "No stalls: never did many threads stand still for one cause."),
		list);
	root.replaceChildren(words, box);
	const mark = () => buttons.forEach((b, i) => {
		const on = page.state.get().stall === i;
		b.setAttribute("aria-current", String(on));
	});
	mark();
	page.state.subscribe((now, before) => {
		if (!same("stall", now, before))
			mark();
	});
}
