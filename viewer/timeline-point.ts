// SPDX-License-Identifier: MIT
/*
 * What a place in the lanes stands for: the interval there, for clicks and for the tooltip. Where a
 * column holds several intervals, the tooltip has their shares, and a click means the class that is
 * drawn under the pointer: a person who points at red means something red.
 */
import { Latest } from "./ask";
import type { Interval } from "./focus";
import type { Page } from "./page";
import { ABSENT, className } from "./palette";
import { LANE_PAD } from "./timeline-draw";
import { classAt, type Lanes } from "./timeline-lanes";
import type { Row } from "./timeline-rows";
import { pageTip } from "./timeline-tip";
import { clock, duration, percent, since } from "./util";

const TRIES = 64; /* intervals of a column that are looked at */
const SHARES = 4; /* classes that a tooltip lists */

/** What `cpu_at` answers. */
export interface CpuInterval {
	thread: number | null;
	start: number;
	end: number;
}

/** How the timeline lies on the screen. */
export interface Place {
	timeAt(x: number): number;
	perPixel(): number;
	rowAt(y: number): Row | null;
	top(row: Row): number; /* in the canvas */
	box(): DOMRect; /* of the canvas, in the window */
	lanes(thread: number): Lanes | undefined; /* what it is drawn from */
}

type ThreadRow = Row & { kind: "thread" };

export class Pointing {
	/** Where the pointer is; null: not over the lanes. */
	at: { x: number; y: number } | null = null;
	private tip = pageTip();
	private known: Interval | null = null;
	private threads: Latest<{ thread: number; ts: number }, Interval>;
	private cpus: Latest<{ cpu: number; ts: number }, CpuInterval>;

	constructor(
		private page: Page,
		private place: Place,
	) {
		this.threads = new Latest(
			(at) => page.askJson<Interval>("at", at),
			(interval) => {
				this.known = interval;
				this.show();
			},
			() => this.tip.hide(),
		);
		this.cpus = new Latest(
			(at) => page.askJson<CpuInterval>("cpu_at", at),
			(interval, { cpu }) => this.showCpu(interval, cpu),
			() => this.tip.hide(),
		);
	}

	/** The thread whose lane is under the pointer. */
	thread(): number | null {
		const row = this.row();
		return row?.kind === "thread" ? row.thread.index : null;
	}

	move(at: { x: number; y: number } | null): void {
		this.at = at;
		const row = this.row();
		if (!at || !row || (row.kind !== "thread" && row.kind !== "cpu"))
			return this.tip.hide();
		const ts = this.place.timeAt(at.x);
		if (row.kind === "cpu")
			this.cpus.want({ cpu: row.cpu, ts });
		else if (this.known && covers(this.known, row.thread.index, ts))
			this.show();
		else
			this.threads.want({ thread: row.thread.index, ts });
	}

	/** The time that a place in a lane stands for. */
	async locate(row: ThreadRow, x: number, y: number): Promise<number> {
		const exact = this.place.timeAt(x);
		const thread = row.thread.index;
		const lanes = this.place.lanes(thread);
		const shares = lanes?.at(thread, exact);
		if (!lanes || !shares || shares.length < 2)
			return exact;
		const bottom = this.place.top(row) + row.h - LANE_PAD;
		const cls = classAt(shares, (bottom - y) / (row.h - 2 * LANE_PAD));
		const { from, to } = lanes.column(exact);
		let ts: number | null = Math.max(from, row.thread.start);
		for (let tries = 0; tries < TRIES && ts !== null && ts < to; tries++) {
			const i: Interval = await this.page.askJson<Interval>("at", { thread, ts });
			if (i.class === cls)
				return (Math.max(i.start, from) + Math.min(i.end, to)) / 2;
			ts = i.next_ts;
		}
		return exact;
	}

	private row(): Row | null {
		return this.at && this.place.rowAt(this.at.y);
	}

	private show(): void {
		const row = this.row();
		const i = this.known;
		if (!this.at || row?.kind !== "thread" || !i)
			return this.tip.hide();
		const { index, comm, tid } = row.thread;
		const ts = this.place.timeAt(this.at.x);
		const pixel = this.place.perPixel();
		const shares = this.place.lanes(index)?.at(index, ts) ?? [];
		if (shares.length > 1 && i.end - i.start < pixel) {
			const words = shares
				.sort((a, b) => b.share - a.share)
				.slice(0, SHARES)
				.map((s) => `${className(this.page, s.cls)} ${percent(s.share, 1)}`);
			const what = `several intervals in ${duration(pixel)}`;
			return this.put(row, words.join(", "), `${comm} ${tid} · ${what}`);
		}
		/* An answer for a place that the pointer has left. */
		if (!covers(i, index, ts))
			return;
		if (i.class === ABSENT)
			return this.tip.hide();
		const when = `from ${since(i.start, 1e4)}, ${clock(this.page.info, i.start)}`;
		this.put(row, this.words(i), `${comm} ${tid} · ${when}`);
	}

	/* "running 1.20ms", "waiting 42.0ms: mutex commit_lock" */
	private words(i: Interval): string {
		const what = className(this.page, i.class);
		const time = duration(i.end - i.start);
		if (i.kind !== "waiting" && i.kind !== "runnable")
			return `${what} ${time}`;
		return `waiting ${time}: ${what}${i.lock ? ` ${i.lock.name}` : ""}`;
	}

	private showCpu(i: CpuInterval, cpu: number): void {
		const row = this.row();
		if (row?.kind !== "cpu" || row.cpu !== cpu)
			return this.tip.hide();
		const t = i.thread === null ? undefined : this.page.thread(i.thread);
		const what = t ? `${t.comm} ran ${duration(i.end - i.start)}` : "none of these threads";
		this.put(row, what, `CPU ${cpu} · from ${since(i.start, 1e4)}, ${clock(this.page.info, i.start)}`);
	}

	private put(row: Row, title: string, text: string): void {
		const box = this.place.box();
		const top = box.top + this.place.top(row);
		this.tip.show(box.left + this.at!.x, top, top + row.h, title, text);
	}
}

function covers(i: Interval, thread: number, ts: number): boolean {
	return i.thread === thread && ts >= i.start && ts < i.end;
}
