// SPDX-License-Identifier: MIT
/*
 * One lock at length: how long its waits took, who waited while which thread held it, when that
 * was, and where in the code. The lanes show the stretch that the timeline shows; all else is about
 * the selection.
 */
import { Latest } from "./ask";
import { makeLockLanes, type LockLine } from "./locks-lane";
import type { Page, Range } from "./page";
import { same, scope, type State } from "./state";
import { stackBox } from "./stack";
import { focusOn, type Lock, type LockHolder } from "./summary";
import { count, duration, el, plural } from "./util";
import { isSignal, isSpin, lockKind } from "./words";

const TOP = 4;
const MATRIX = 8;

function sums(lock: Lock): string {
	let text = `${plural(lock.waits, "wait")} of ${plural(lock.waiters_total, "thread")}, ` +
		`${duration(lock.total_wait_ns)} in all`;
	if (lock.waits > 1)
		text += `: half took up to ${duration(lock.p50_ns)}, 99 of 100 up to ${duration(lock.p99_ns)}`;
	text += `, the longest ${duration(lock.max_wait_ns)}.`;
	if (lock.given_up)
		text += ` ${count(lock.given_up)} gave up.`;
	if (lock.not_ended)
		text += ` ${count(lock.not_ended)} had not ended.`;
	return text;
}

function identity(lock: Lock): string {
	return [
		lockKind(lock.kind),
		lock.inferred ? "inferred from stacks" : lock.address ? `at ${lock.address}` : "",
		lock.pid ? `in process ${lock.pid}` : "",
		lock.shared ? "shared between processes" : "",
		lock.life > 1 ? `number ${lock.life} at this address` : "",
	].filter(Boolean).join(", ");
}

/* A row for each power of two that has waits. */
function histogram(lock: Lock): HTMLElement {
	const rows = new Map<number, number>();
	for (const { from_ns, count: n } of lock.histogram) {
		const power = from_ns > 0 ? 2 ** Math.floor(Math.log2(from_ns)) : 0;
		rows.set(power, (rows.get(power) ?? 0) + n);
	}
	const most = Math.max(1, ...rows.values());
	const list = el("ul", { class: "histogram", "aria-label": "How long the waits took" });
	for (const [from, n] of [...rows].sort((a, b) => a[0] - b[0])) {
		const bar = el("span", { class: "hist-bar" });
		bar.style.width = `${(100 * n) / most}%`;
		list.append(el("li", {},
			el("span", { class: "hist-from" }, `${from ? duration(from) : "0"} –`),
			el("span", { class: "hist-space" }, bar),
			el("span", { class: "hist-count" }, count(n))));
	}
	return el("section", {}, el("h3", {}, "How long"), list);
}

function nameOf(page: Page, side: { thread: number | null; others: number }): string {
	if (side.thread === null)
		return side.others ? `${count(side.others)} others` : "not known";
	return page.thread(side.thread)?.comm ?? "?";
}

/* Waiters by holders: how long each waiter waited while each holder had it. */
function matrix(page: Page, line: LockLine): HTMLElement | null {
	const holders = line.holders.slice(0, MATRIX);
	const waiters = line.waiters.slice(0, MATRIX);
	if (!line.lock.held || !holders.length || !waiters.length)
		return null;
	const most = Math.max(1, ...line.matrix.flat());
	const head = el("tr", {}, el("th", { scope: "col" }, "waited \\ held by"),
		...holders.map((h) => el("th",
			{ scope: "col", class: "number", title: nameOf(page, h) },
			nameOf(page, h))));
	const body = waiters.map((w, i) => el("tr", {},
		el("th", { scope: "row", title: nameOf(page, w) }, nameOf(page, w)),
		...holders.map((h, k) => {
			const ns = line.matrix[i]?.[k] ?? 0;
			const cell = el("td", {
				class: "number",
				title: `${nameOf(page, w)} waited ${duration(ns)} while ${nameOf(page, h)} held it`,
			}, ns ? duration(ns) : "·");
			cell.style.setProperty("--heat",
				String(Math.round(55 * Math.sqrt(ns / most))));
			return cell;
		})));
	const more = line.waiters.length - waiters.length + line.holders.length - holders.length;
	return el("section", {}, el("h3", {}, "Who waited for whom"),
		el("div", { class: "matrix-box" },
			el("table", { class: "matrix", "aria-label": "Waiters by holders" },
				el("thead", {}, head), el("tbody", {}, ...body))),
		more > 0 ? el("p", { class: "dim" }, `and ${count(more)} more`) : null);
}

const STACK_FROM: Record<string, string> = {
	sample: "ran in",
	wait: "waited in",
	release: "let go in",
};

function holderPart(h: LockHolder): HTMLElement {
	const who = h.comm === null ? "Not known" : `${h.comm} (${h.tid})`;
	const part = el("details", {}, el("summary", {},
		`${who}: ${duration(h.blamed_ns)} behind it`,
		el("span", { class: "dim" }, h.comm === null ? "" : `  ${h.meanwhile_words}`)));
	if (h.stack_from)
		part.append(stackBox(`It ${STACK_FROM[h.stack_from] ?? "was in"}`, h.stack));
	if (h.stack_from !== "release" && h.release_stack.length)
		part.append(stackBox("It let go in", h.release_stack));
	return part;
}

function people(lock: Lock): HTMLElement {
	const box = el("section", { class: "people" });
	const more = (n: number) => (n > TOP
		? el("p", { class: "dim" }, `and ${count(n - TOP)} more`) : "");
	if (lock.contended && !isSignal(lock.kind)) {
		box.append(el("h3", {}, lock.holders.length ? "Who held it"
			: "Who held it is not known"),
			...lock.holders.slice(0, TOP).map(holderPart), more(lock.holders_total));
	}
	box.append(el("h3", {}, "Who waited"), ...lock.waiters.slice(0, TOP).map((w) =>
		el("details", {}, el("summary", {}, `${w.comm} (${w.tid}): ${duration(w.wait_ns)}`,
			el("span", { class: "dim" },
				`  ${plural(w.waits, "time")}, at most ${duration(w.max_ns)}`)),
			stackBox("It waited in", w.stack))), more(lock.waiters_total));
	return box;
}

export interface LockDetail {
	show(lock: Lock): void;
}

export function mountLockDetail(root: HTMLElement, page: Page, close: () => void): LockDetail {
	let lock: Lock | null = null;
	const lanes = makeLockLanes(page);
	const grid = el("div", { class: "matrix-place" });
	const body = el("div");
	root.append(body);

	const viewOf = (state: State): Range => state.view
		?? { from: 0, to: page.info.duration_ns };
	const ask = (state: State, range: Range, cols: number) =>
		page.askJson<LockLine>("lockline",
			{ lock: state.lock, from: range.from, to: range.to, cols });
	const inView = new Latest<State, LockLine>(
		(state) => ask(state, viewOf(state), Math.max(200, lanes.root.clientWidth)),
		(line) => lanes.show(line),
		(error) => lanes.say(error.message),
	);
	const inScope = new Latest<State, LockLine>(
		(state) => ask(state, scope(state, page.info.duration_ns), 1),
		(line) => grid.replaceChildren(matrix(page, line) ?? ""),
		() => grid.replaceChildren(),
	);
	page.state.subscribe((now, before) => {
		if (lock && !root.hidden && now.lock !== null && !same("view", now, before))
			inView.want(now);
	});

	return {
		show(next) {
			lock = next;
			const go = el("button", { class: "link", onclick: () =>
				focusOn(page, next.max_tid, next.max_start_unix_ns,
					next.max_wait_ns) }, "Go to the longest");
			body.replaceChildren(
				el("h2", {}, next.name,
					el("span", { class: "dim" }, `  ${identity(next)}`),
					el("button",
						{ class: "link close",
						"aria-label": "Close this lock",
						onclick: close }, "✕")),
				el("p", {}, `${sums(next)} `, next.max_tid === null ? null : go),
				lanes.root,
				grid,
				el("div", { class: "lock-parts" }, histogram(next), people(next)));
			const words = next.id === null
				? "It is inferred from stacks: when it was held is not known."
				: isSpin(next.kind)
					? "Threads that wait for it spin, and count as running: no lanes." : "";
			if (words) {
				lanes.say(words);
				grid.replaceChildren();
				return;
			}
			const state = { ...page.state.get(), lock: next.id };
			inView.want(state);
			inScope.want(state);
		},
	};
}
