// SPDX-License-Identifier: MIT
/* What each key does. One row each; help.ts prints the same rows. */
import type { Focus } from "./focus";
import type { Key } from "./keys";
import type { Page } from "./page";
import type { Timeline } from "./timeline";
import type { View } from "./timeline-view";

interface Parts {
	page: Page;
	view: View;
	focus: Focus;
	timeline: Timeline;
	help(): void;
}

const STEP = 0.25; /* of the view */
const ZOOM = 0.6;

export function keyTable({ page, view, focus, timeline, help }: Parts): Key[] {
	const pan = (share: number) => {
		const { from, to } = view.get();
		const by = (to - from) * share;
		view.glide({ from: from + by, to: to + by });
	};
	const edge = (end: boolean) => {
		const { from, to } = view.get();
		const start = end ? view.duration - (to - from) : 0;
		view.glide({ from: start, to: start + to - from });
	};
	const lane = (step: number) => {
		const at = page.state.get().focus;
		const { from, to } = view.get();
		const t = timeline.rows.neighbour(at?.thread ?? null, step);
		if (t)
			focus.go(t.index, at ? at.ts : (from + to) / 2);
	};
	const interval = (which: "prev_ts" | "next_ts") => {
		const i = focus.interval;
		const ts = i?.[which];
		if (i && typeof ts === "number")
			focus.go(i.thread, ts);
		else if (!i)
			lane(1);
	};
	const zoomIn = () => {
		const { sel } = page.state.get();
		const i = focus.interval;
		if (i)
			view.show({ from: i.start, to: i.end });
		else if (sel)
			view.show(sel, "push", 0.05);
	};
	const escape = () => {
		const s = page.state.get();
		if (s.focus || s.stall !== null)
			focus.clear();
		else if (s.sel || s.sel2)
			page.state.set({ sel: null, sel2: null }, "push");
		else if (s.threads)
			page.state.set({ threads: null }, "push");
	};
	return [
		{ keys: ["w", "+", "=", "ArrowUp"], shown: ["W", "+", "↑"], words: "zoom in", timed: true,
			run: () => view.glideZoom(ZOOM) },
		{ keys: ["s", "-", "ArrowDown"], shown: ["S", "-", "↓"], words: "zoom out", timed: true,
			run: () => view.glideZoom(1 / ZOOM) },
		{ keys: ["a", "ArrowLeft"], shown: ["A", "←"], words: "move left", timed: true, run: () => pan(-STEP) },
		{ keys: ["d", "ArrowRight"], shown: ["D", "→"], words: "move right", timed: true, run: () => pan(STEP) },
		{ keys: ["0"], shown: ["0"], words: "show the whole recording", timed: true,
			run: () => view.glide({ from: 0, to: view.duration }, "push") },
		{ keys: ["Home"], shown: ["Home"], words: "go to the start", timed: true, run: () => edge(false) },
		{ keys: ["End"], shown: ["End"], words: "go to the end", timed: true, run: () => edge(true) },
		{ keys: ["j"], shown: ["J"], words: "next lane", timed: true, run: () => lane(1) },
		{ keys: ["k"], shown: ["K"], words: "lane before", timed: true, run: () => lane(-1) },
		{ keys: ["[", ","], shown: ["[", ","], words: "interval before", timed: true, run: () => interval("prev_ts") },
		{ keys: ["]", "."], shown: ["]", "."], words: "next interval", timed: true, run: () => interval("next_ts") },
		{ keys: ["Enter"], shown: ["Enter"], words: "zoom to the interval, or to the selection", timed: true, run: zoomIn },
		{ keys: ["g"], shown: ["G"], words: "go to who ended this wait", timed: true, run: () => focus.toWaker() },
		{ keys: ["h"], shown: ["H"], words: "go to who held its lock", timed: true, run: () => void focus.toHolder() },
		{ keys: ["Backspace"], shown: ["Backspace"], words: "back", run: () => page.state.back() },
		{ keys: ["Escape"], shown: ["Esc"], words: "clear the interval, the selection, the threads",
			run: escape },
		{ keys: ["/"], shown: ["/"], words: "find a thread or a function",
			run: () => document.querySelector<HTMLElement>("#find input")?.focus() },
		{ keys: ["?"], shown: ["?"], words: "this help", run: help },
	];
}
