// SPDX-License-Identifier: MIT
/*
 * The panel at the right: the interval in focus in words, with what it is linked to; or the stall
 * that was chosen; or, with nothing chosen, what the colours mean and how the recording went.
 */
import { recordingNotes, legend } from "./details-rest";
import { mainHolders, type Focus, type Holder, type Interval, type Waker } from "./focus";
import type { Page } from "./page";
import { ABSENT, chip, classWords, onScheme } from "./palette";
import { stackBox } from "./stack";
import { same } from "./state";
import type { View } from "./timeline-view";
import { duration, el, moment, plural, since } from "./util";

const HOLDERS = 4; /* that are listed */

export interface DetailActions {
	focus: Focus;
	view: View;
	pickStall(index: number): void;
	say(text: string): void; /* for those who cannot see the page */
}

export function mountDetails(root: HTMLElement, page: Page, act: DetailActions): void {
	const show = () => {
		const { focus, stall } = page.state.get();
		const i = act.focus.interval;
		if (act.focus.error)
			root.replaceChildren(el("p", { class: "warn" }, act.focus.error));
		else if (focus && i)
			root.replaceChildren(...ofInterval(page, act, i));
		else if (!focus && stall !== null && page.info.stalls[stall])
			root.replaceChildren(...ofStall(page, act, stall));
		else if (!focus)
			root.replaceChildren(legend(page), recordingNotes(page));
		if (i)
			act.say(sentence(page, i));
	};
	act.focus.subscribe(show);
	onScheme(show);
	page.state.subscribe((now, before) => {
		if (!same("stall", now, before) || (!same("focus", now, before) && !now.focus))
			show();
	});
	show();
}

function sentence(page: Page, i: Interval): string {
	const name = page.thread(i.thread)?.comm ?? "?";
	const lock = i.lock ? ` (${i.lock.name})` : "";
	return `${name} ${classWords(page, i.class)}${lock} ${duration(i.end - i.start)}, from ${moment(page.info, i.start)}`;
}

function ofInterval(page: Page, act: DetailActions, i: Interval): Node[] {
	const t = page.thread(i.thread);
	const parts: Node[] = [heading(i.class, capital(classWords(page, i.class)), duration(i.end - i.start))];
	const list = el("dl", { class: "facts" });
	const add = (term: string, ...what: (Node | string)[]) =>
		list.append(el("dt", {}, term), el("dd", {}, ...what));

	add("Thread", `${t?.comm ?? "?"} `, el("span", { class: "dim" }, String(t?.tid ?? "")));
	if (i.class !== ABSENT)
		add("From", `${since(i.start, 1e3)} `, el("span", { class: "dim" }, moment(page.info, i.start)));
	if (i.cpu !== null && i.cpu !== undefined && i.kind === "running")
		add("On", `CPU ${i.cpu}`);
	if (i.open)
		add("Until", "it had not ended when the recording did");
	if (i.lock)
		add("Lock", lockButton(page, i.lock.id, i.lock.name), el("span", { class: "dim" }, ` ${i.lock.kind}`));
	const main = mainHolders(i).slice(0, HOLDERS);
	main.forEach((h, n) => add(n ? "" : "Held by", ...holder(page, act, h, n)));
	const rest = i.holders.filter((h) => !main.includes(h));
	if (rest.length)
		add(main.length ? "" : "Held by", el("span", { class: "dim" }, `${main.length ? "and " : ""}` +
			`${plural(rest.length, "time")}${main.length ? " more" : ""} for ` +
			`${duration(rest.reduce((ns, h) => ns + h.end - h.start, 0))} in all`));
	if (i.waker)
		add("Woken by", ...waker(page, act, i.waker));
	if (i.evidence)
		add("Known by", i.evidence);
	parts.push(list, moves(page, act, i));
	if (i.stack.length)
		parts.push(stackBox(i.kind === "waiting" ? "Where it waited"
			: `Where it ran${i.sample_ts === null ? "" : `, at ${moment(page.info, i.sample_ts, 1e3)}`}`,
			i.stack));
	/* Readers want the waiter's stack first: the waker's starts closed. */
	if (i.waker?.stack.length)
		parts.push(stackBox("Where its waker was", i.waker.stack, "waker", false));
	return parts;
}

function heading(cls: number, words: string, time: string): HTMLElement {
	return el("h2", { class: "detail-title", "data-test": "detail-title" }, chip(cls),
		el("span", { class: "grow" }, words), el("span", { class: "time" }, time));
}

function lockButton(page: Page, id: number | null, name: string): Node {
	if (id === null)
		return document.createTextNode(name);
	return el("button", {
		class: "link",
		"data-test": "detail-lock",
		title: "Show it among the locks",
		onclick: () => page.state.set({ tab: "locks", lock: id }, "push"),
	}, name);
}

function holder(page: Page, act: DetailActions, h: Holder, n: number): (Node | string)[] {
	const t = h.thread === null ? undefined : page.thread(h.thread);
	const time = el("span", { class: "dim" }, ` for ${duration(h.end - h.start)}`);
	if (!t)
		return ["not known", time];
	const doing = el("ul", { class: "doing" });
	for (const d of h.doing.slice(0, 3))
		doing.append(el("li", {}, chip(d.class), `${classWords(page, d.class)} `,
			el("span", { class: "dim" }, duration(d.ns))));
	return [
		el("button", {
			class: "link",
			"data-test": "detail-holder",
			title: n ? "Go there" : "Go there (H)",
			onclick: () => void act.focus.toHolder(n),
		}, t.comm),
		time, doing,
	];
}

function waker(page: Page, act: DetailActions, w: Waker): (Node | string)[] {
	const t = w.thread === null ? undefined : page.thread(w.thread);
	if (!t)
		return [w.ctx === "thread" ? "a thread that was not recorded"
			: w.ctx === "interrupt" ? "an interrupt" : "not known"];
	return [el("button", {
		class: "link",
		"data-test": "detail-waker",
		title: "Go there (G)",
		onclick: () => act.focus.toWaker(),
	}, t.comm), el("span", { class: "dim" }, ` ${t.tid}`)];
}

function moves(page: Page, act: DetailActions, i: Interval): HTMLElement {
	const go = (ts: number | null) => () => {
		if (ts !== null)
			act.focus.go(i.thread, ts);
	};
	return el("div", { class: "buttons" },
		el("button", { class: "button", disabled: i.prev_ts === null, title: "Previous interval ([)",
			onclick: go(i.prev_ts) }, "‹ Before"),
		el("button", { class: "button", disabled: i.next_ts === null, title: "Next interval (])",
			onclick: go(i.next_ts) }, "After ›"),
		el("button", { class: "button", title: "Zoom to it (Enter)",
			onclick: () => act.view.show({ from: i.start, to: i.end }) }, "Zoom"),
		el("button", { class: "button", title: "Back (Backspace)", onclick: () => page.state.back() }, "Back"));
}

function ofStall(page: Page, act: DetailActions, index: number): Node[] {
	const s = page.info.stalls[index];
	const culprit = s.culprit === null ? undefined : page.thread(s.culprit);
	const list = el("dl", { class: "facts" });
	list.append(el("dt", {}, "From"), el("dd", {}, moment(page.info, s.start)));
	if (s.lock)
		list.append(el("dt", {}, "Lock"), el("dd", {}, lockButton(page, s.lock.id, s.lock.name)));
	if (culprit)
		list.append(el("dt", {}, "Held by"), el("dd", {}, el("button", {
			class: "link",
			"data-test": "stall-holder",
			title: "Go there",
			onclick: () => act.focus.go(culprit.index, s.culprit_at ?? s.start),
		}, culprit.comm), el("span", { class: "dim" }, ` ${culprit.tid}`)));
	const step = (to: number) => el("button", {
		class: "button",
		disabled: !page.info.stalls[to],
		onclick: () => act.pickStall(to),
	}, to < index ? "‹ Longer" : "Shorter ›");
	const where = el("div", { "data-test": "stall-stack" });
	if (culprit)
		void showStack(page, where, culprit.comm, culprit.index, s.culprit_at ?? s.start);
	return [
		el("h2", { class: "detail-title", "data-test": "detail-title" },
			el("span", { class: "grow" }, `Stall ${index + 1} of ${page.info.stalls.length}`),
			el("span", { class: "time" }, duration(s.ns))),
		el("p", {}, capital(s.text) + "."),
		list,
		el("div", { class: "buttons" }, step(index - 1), step(index + 1),
			el("button", { class: "button", onclick: () => page.state.back() }, "Back")),
		where,
	];
}

/* The stack of a stall's culprit, at the moment that tells most. */
async function showStack(page: Page, root: HTMLElement, name: string, thread: number, ts: number): Promise<void> {
	try {
		const at = await page.askJson<Interval>("at", { thread, ts: Math.round(ts) });
		root.replaceChildren(stackBox(at.kind === "waiting" ? `Where ${name} waited` : `Where ${name} ran`,
			at.stack, "culprit"));
	} catch {
		root.replaceChildren();
	}
}

export function capital(s: string): string {
	return s ? s[0].toUpperCase() + s.slice(1) : s;
}
