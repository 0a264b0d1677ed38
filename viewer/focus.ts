// SPDX-License-Identifier: MIT
/*
 * The interval that a person looks at: where state.focus points, as the engine knows it. The
 * timeline outlines it and draws its links, the details say it in words; both listen here, so that
 * the engine is asked once.
 */
import { Latest } from "./ask";
import type { Frame, Page } from "./page";
import { same } from "./state";

export interface Holder {
	thread: number | null;
	start: number;
	end: number;
	doing?: string;
	reason?: string | null;
	function?: string | null;
}

export interface Waker {
	thread: number | null;
	tid?: number;
	ctx: string;
	ts: number;
	stack: Frame[];
}

/** The answer to `at`. */
export interface Interval {
	thread: number;
	kind: string;
	class: number;
	reason: string | null;
	reason_words: string | null;
	evidence: string | null;
	start: number;
	end: number;
	cpu: number | null;
	stack: Frame[];
	lock: { id: number; name: string; kind: string } | null;
	holders: Holder[];
	waker: Waker | null;
	open: boolean;
	prev_ts: number | null;
	next_ts: number | null;
}

type Listener = () => void;

export class Focus {
	/** What is known of it; null while nothing is chosen, or the answer is on its way. */
	interval: Interval | null = null;
	error = "";
	private listeners: Listener[] = [];
	private latest: Latest<{ thread: number; ts: number }, Interval>;

	constructor(private page: Page) {
		this.latest = new Latest(
			(at) => page.askJson<Interval>("at", at),
			(interval, at) => {
				const now = page.state.get().focus;
				if (now && now.thread === at.thread && now.ts === at.ts)
					this.tell(interval, "");
			},
			(error) => this.tell(null, error.message),
		);
		page.state.subscribe((now, before) => {
			if (!same("focus", now, before))
				this.follow();
		});
		this.follow();
	}

	subscribe(fn: Listener): void {
		this.listeners.push(fn);
	}

	/** Looks at what a thread did at a time. */
	go(thread: number, ts: number): void {
		this.page.state.set({ focus: { thread, ts: Math.max(0, Math.round(ts)) } }, "push");
	}

	clear(): void {
		this.page.state.set({ focus: null, stall: null }, "push");
	}

	/** The wait's waker and its holder, for the keys and buttons that jump there. */
	toWaker(): boolean {
		const w = this.interval?.waker;
		if (!w || w.thread === null)
			return false;
		this.go(w.thread, w.ts);
		return true;
	}

	toHolder(which = 0): boolean {
		const h = this.interval?.holders?.[which];
		if (!h || h.thread === null)
			return false;
		this.go(h.thread, (h.start + h.end) / 2);
		return true;
	}

	private follow(): void {
		const at = this.page.state.get().focus;
		const i = this.interval;
		if (!at)
			this.tell(null, "");
		else if (!i || i.thread !== at.thread || at.ts < i.start || at.ts >= i.end)
			this.latest.want(at);
	}

	private tell(interval: Interval | null, error: string): void {
		this.interval = interval;
		this.error = error;
		for (const fn of this.listeners)
			fn();
	}
}
