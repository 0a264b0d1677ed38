// SPDX-License-Identifier: MIT
/*
 * Which time the timeline shows. All ways to move it (wheel, keys, drag, jumps) end here, so that
 * none can leave the recording or come nearer than a nanosecond is long.
 */
import type { Page, Range } from "./page";
import type { How } from "./state";
import { clamp } from "./util";

const SPAN_MIN = 2000; /* ns: beyond that there is nothing to see */
const GLIDE_MS = 160;

export class View {
	private frame = 0;
	private still = matchMedia("(prefers-reduced-motion: reduce)");

	constructor(private page: Page) {}

	get duration(): number {
		return Math.max(SPAN_MIN, this.page.info.duration_ns);
	}

	get(): Range {
		return this.page.state.get().view ?? { from: 0, to: this.duration };
	}

	set(range: Range): void {
		cancelAnimationFrame(this.frame);
		this.put(range);
	}

	pan(ns: number): void {
		const { from, to } = this.get();
		const by = clamp(ns, -from, this.duration - to);
		if (by)
			this.set({ from: from + by, to: to + by });
	}

	/** Makes the span `factor` times as long; what is at `ts` stays where it is. */
	zoom(factor: number, ts: number): void {
		this.set(this.scaled(this.get(), factor, ts));
	}

	/** As zoom(), in a short glide: for keys and buttons, which take larger steps. */
	glideZoom(factor: number, ts?: number): void {
		const view = this.get();
		this.glide(this.scaled(view, factor, ts ?? (view.from + view.to) / 2));
	}

	/** Goes to a range in a way that the eye can follow. */
	glide(target: Range, how: How = "replace"): void {
		const start = this.get();
		const end = this.fit(target);
		cancelAnimationFrame(this.frame);
		if (how === "push")
			this.page.state.keep();
		if (this.still.matches || document.hidden) {
			this.put(end);
			return;
		}
		const began = performance.now();
		const step = () => {
			const t = clamp((performance.now() - began) / GLIDE_MS, 0, 1);
			const ease = 1 - (1 - t) ** 3;
			if (t < 1) {
				this.put({
					from: start.from + (end.from - start.from) * ease,
					to: start.to + (end.to - start.to) * ease,
				});
				this.frame = requestAnimationFrame(step);
			} else {
				this.put(end);
			}
		};
		step();
	}

	/** Shows a span with some room around it. */
	show(range: Range, how: How = "push", margin = 0.15): void {
		const room = Math.max((range.to - range.from) * margin, SPAN_MIN / 2);
		this.glide({ from: range.from - room, to: range.to + room }, how);
	}

	/** Moves as little as needed to have a time in sight. */
	reveal(ts: number): void {
		const { from, to } = this.get();
		const span = to - from;
		if (ts < from || ts > to)
			this.glide({ from: ts - span / 2, to: ts + span / 2 });
	}

	isWhole(): boolean {
		return this.page.state.get().view === null;
	}

	private scaled(view: Range, factor: number, ts: number): Range {
		const span = clamp((view.to - view.from) * factor, SPAN_MIN, this.duration);
		const share = (ts - view.from) / (view.to - view.from);
		return { from: ts - span * share, to: ts + span * (1 - share) };
	}

	private fit(range: Range): Range {
		const span = clamp(range.to - range.from, SPAN_MIN, this.duration);
		const middle = (range.from + range.to) / 2;
		const from = clamp(
			span === range.to - range.from ? range.from : middle - span / 2, 0, this.duration - span);
		return { from, to: from + span };
	}

	private put(range: Range): void {
		const view = this.fit(range);
		const whole = view.from <= 0 && view.to >= this.duration;
		this.page.state.set({ view: whole ? null : view });
	}
}
