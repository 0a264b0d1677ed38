// SPDX-License-Identifier: MIT
/*
 * The interval that a person looks at: where state.focus points, as the engine knows it. The
 * timeline outlines it and draws its links, the details say it in words; both listen here, so that
 * the engine is asked once.
 */
import { Latest } from "./ask";
import type { Frame, Page } from "./page";
import { same } from "./state";
import { clamp } from "./util";

export interface Doing {
	kind: string;
	class: number;
	ns: number;
}

/** Who had the lock for a part of a wait, and what it did with that time, the longest first. */
export interface Holder {
	thread: number | null;
	start: number;
	end: number;
	doing: Doing[];
}

export interface Waker {
	thread: number | null;
	tid: number;
	ctx: "thread" | "interrupt" | "unknown";
	ts: number;
	stack: Frame[];
}

/** The answer to `at`. */
export interface Interval {
	thread: number;
	kind: "running" | "runnable" | "waiting" | "lost" | "gone";
	class: number;
	evidence: string | null; /* by what the reason was decided */
	in: string | null; /* without work: in which kind of wait */
	start: number;
	end: number;
	cpu: number | null;
	stack: Frame[];
	sample_ts: number | null; /* running: when the stack was taken */
	lock: { id: number; name: string; kind: string } | null;
	holders: Holder[];
	waker: Waker | null;
	open: boolean;
	prev_ts: number | null;
	next_ts: number | null;
}

const TELLING = 0.01; /* of a wait: shorter holds are only counted */
const TRIES = 8;

/** Those who held a wait's lock for a part that matters, the longest first. */
export function mainHolders(i: Interval): Holder[] {
	const least = (i.end - i.start) * TELLING;
	return i.holders.filter((h) => h.end - h.start >= least)
		.sort((a, b) => b.end - b.start - (a.end - a.start));
}

type Listener = () => void;

export class Focus {
	/** What is known of it; null while nothing is chosen, or the answer is on its way. */
	interval: Interval | null = null;
	/** The wait from which a person went to its waker or holder: its links stay in sight. */
	origin: Interval | null = null;
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
		this.origin = null;
		this.move(thread, ts);
	}

	clear(): void {
		this.origin = null;
		this.page.state.set({ focus: null, stall: null }, "push");
	}

	/** Goes to the waker of this wait. */
	toWaker(): void {
		const i = this.interval;
		if (!i?.waker || i.waker.thread === null)
			return;
		this.origin = i;
		this.move(i.waker.thread, i.waker.ts);
	}

	/** Goes to a holder of this wait's lock, into the middle of what took most of that time. */
	async toHolder(which = 0): Promise<void> {
		const i = this.interval;
		const h = i && mainHolders(i)[which];
		if (!i || !h || h.thread === null)
			return;
		const { thread, start, end, doing } = h;
		let ts: number | null = (start + end) / 2;
		let best: Interval | null = null;
		for (let tries = 0; tries < TRIES && ts !== null && ts < end; tries++) {
			const at: Interval = await this.page.askJson<Interval>("at", { thread, ts });
			if (at.class === doing[0]?.class && (!best || at.end - at.start > best.end - best.start))
				best = at;
			ts = at.next_ts;
		}
		this.origin = i;
		this.move(thread, best ? (Math.max(best.start, start) + Math.min(best.end, end)) / 2
			: (start + end) / 2);
	}

	private move(thread: number, ts: number): void {
		const t = this.page.thread(thread);
		if (t)
			ts = clamp(ts, t.start, Math.max(t.start, t.end - 1));
		this.page.state.set({ focus: { thread, ts: Math.round(ts) } }, "push");
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
