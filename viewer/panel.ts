// SPDX-License-Identifier: MIT
/*
 * What all tabs have in common: a head that says which range and threads the numbers are about,
 * with the tab's own controls; a body; and asking anew whenever the part of the state that the tab
 * is about has changed. While an answer is on its way the old one stays where it is, under a moving
 * line: nothing jumps. A hidden tab asks nothing until it is shown.
 */
import { Latest, type Args } from "./ask";
import { SHOWN } from "./layout";
import type { Page, Range } from "./page";
import { onScheme } from "./palette";
import { same, scope, type State } from "./state";
import { count, duration, el, moments, plural } from "./util";
import { timeless } from "./words";

const CALM_MS = 150;

export interface Panel {
	/* For the tab's controls, at the right of the head. */
	tools: HTMLElement;
	body: HTMLElement;
	/* A sentence instead of the body's content. */
	say(text: string): void;
}

export interface PanelParts<T> {
	/* What it is about, if not the selected range and threads. */
	range?(state: State): Range;
	who?(state: State): string;
	/* Has something else changed that calls for a new answer? */
	changed?(now: State, before: State): boolean;
	ask(state: State): Promise<T>;
	show(answer: T, state: State): void;
	/* Called instead of ask when this is not "". */
	blank?(state: State): string;
}

/* The range and the threads as arguments of a query. */
export function scopeArgs(page: Page, state: State): Args {
	const range = scope(state, page.info.duration_ns);
	return { from: range.from, to: range.to, threads: state.threads };
}

/*
 * What is counted, as arguments: waiting for work drowns all else, and is left out unless asked for.
 */
export function kindArgs(page: Page, state: State): Args {
	const { kind, idle } = state.flame;
	const reasons = page.info.reasons.filter((r) => !r.idle).map((r) => r.id);
	return { kind, reasons: kind === "cpu" || idle ? null : reasons };
}

/* The button for that, there only where waits are counted. */
export function idleToggle(page: Page): HTMLElement {
	const { root, set } = toggle("Waiting for work too",
		"Count also the time in which threads waited for work", () => {
		const { flame } = page.state.get();
		page.state.set({ flame: { ...flame, idle: !flame.idle } }, "push");
	});
	const update = () => {
		const { kind, idle } = page.state.get().flame;
		set(idle);
		root.disabled = kind === "cpu";
	};
	update();
	page.state.subscribe(update);
	return root;
}

/* "worker-1", "worker-1 and worker-2", "worker-1 and 3 more" */
export function threadWords(page: Page, threads: readonly number[] | null): string {
	if (!threads)
		return `all ${plural(page.info.threads.length, "thread")}`;
	const names = threads.map((i) => page.thread(i)?.comm ?? `thread ${i}`);
	if (names.length <= 2)
		return names.join(" and ");
	return `${names[0]} and ${count(names.length - 1)} more threads`;
}

export function scopeWords(page: Page, range: Range, who: string): string {
	const all = timeless(page) || (range.from <= 0 && range.to >= page.info.duration_ns);
	const where = timeless(page) ? "the whole recording" : all ? `the whole ${duration(page.info.duration_ns)}`
		: `${moments(page.info, range)}, ${duration(range.to - range.from)}`;
	return `${where}, ${who}`;
}

function makeHead(page: Page, tools: HTMLElement, words: () => string): {
	head: HTMLElement;
	update(): void;
} {
	const text = el("span", { class: "scope-words", "data-test": "scope" });
	const whole = el("button", {
		class: "scope-end",
		title: "Look at the whole recording again",
		onclick: () => page.state.set({ sel: null, sel2: null }, "push"),
	}, "✕ range");
	const all = el("button", {
		class: "scope-end",
		title: "Look at all threads again",
		onclick: () => page.state.set({ threads: null }, "push"),
	}, "✕ threads");
	const head = el("div", { class: "panel-head" },
		el("div", { class: "scope" }, text, whole, all), tools);
	const update = () => {
		const state = page.state.get();
		text.textContent = words();
		text.title = words();
		whole.hidden = !state.sel;
		all.hidden = !state.threads;
	};
	update();
	return { head, update };
}

export function makePanel<T>(root: HTMLElement, page: Page, parts: PanelParts<T>): Panel {
	const tools = el("div", { class: "tools" });
	const rangeOf = (state: State) => parts.range?.(state)
		?? scope(state, page.info.duration_ns);
	const whoOf = (state: State) => parts.who?.(state) ?? threadWords(page, state.threads);
	const { head, update } = makeHead(page, tools, () =>
		scopeWords(page, rangeOf(page.state.get()), whoOf(page.state.get())));
	const wait = el("div", { class: "working", role: "status" });
	const body = el("div", { class: "panel-body" });
	let stale = true;
	let timer = 0;

	const busy = (on: boolean) => {
		clearTimeout(timer);
		if (on) {
			timer = setTimeout(() => wait.classList.add("on"), CALM_MS);
			body.setAttribute("aria-busy", "true");
		} else {
			wait.classList.remove("on");
			body.removeAttribute("aria-busy");
		}
	};
	const say = (text: string) => {
		body.replaceChildren(el("p", { class: "sentence", "data-test": "sentence" }, text));
	};
	const latest = new Latest<State, T>(
		(state) => parts.ask(state),
		(answer, state) => {
			if (asked === state)
				busy(false);
			last = { answer, state };
			parts.show(answer, state);
		},
		(error) => {
			busy(false);
			say(error.message);
		},
	);
	let asked: State | null = null;
	let last: { answer: T; state: State } | null = null;
	onScheme(() => {
		if (last && !body.querySelector(".sentence"))
			parts.show(last.answer, last.state);
	});
	const refresh = () => {
		if (root.hidden) {
			stale = true;
			return;
		}
		stale = false;
		const state = page.state.get();
		const blank = parts.blank?.(state) ?? "";
		asked = state;
		if (blank) {
			busy(false);
			say(blank);
			return;
		}
		busy(true);
		latest.want(state);
	};

	root.classList.add("has-panel");
	root.replaceChildren(head, wait, body);
	root.addEventListener(SHOWN, () => {
		if (stale)
			refresh();
	});
	page.state.subscribe((now, before) => {
		const a = rangeOf(now);
		const b = rangeOf(before);
		const moved = a.from !== b.from || a.to !== b.to || whoOf(now) !== whoOf(before) ||
			!same("threads", now, before);
		if (moved || !same("sel", now, before))
			update();
		if (moved || parts.changed?.(now, before))
			refresh();
	});
	return { tools, body, say };
}

/* A row of buttons of which one is pressed. */
export function choice<V extends string>(label: string, options: readonly [V, string, string?][],
					 pick: (value: V) => void): {
	root: HTMLElement;
	set(value: V): void;
} {
	const buttons = options.map(([value, text, title]) =>
		el("button", {
			class: "choice-one",
			"data-value": value,
			title,
			onclick: () => pick(value),
		}, text));
	const root = el("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
	return {
		root,
		set(value) {
			for (const b of buttons)
				b.setAttribute("aria-pressed", String(b.dataset.value === value));
		},
	};
}

/* A button that stays pressed. */
export function toggle(text: string, title: string, flip: () => void): {
	root: HTMLButtonElement;
	set(on: boolean): void;
} {
	const root = el("button", { class: "toggle", title, onclick: flip }, text);
	return { root, set: (on) => root.setAttribute("aria-pressed", String(on)) };
}
