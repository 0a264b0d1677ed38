// SPDX-License-Identifier: MIT
/*
 * The rows of the timeline from top to bottom: the CPUs, then the processes with their threads, all
 * in the order of interest in which `open` lists them. A row knows where it stands; with ten
 * thousand threads only those in sight are ever looked at.
 */
import type { Info, Thread } from "./page";
import { clamp } from "./util";

export const HEAD_HEIGHT = 20;
export const CPU_HEIGHT = 14;
const LANE_MIN = matchMedia("(pointer: coarse)").matches ? 28 : 20; /* fingers are wide */
const LANE_MAX = 30;
const CPUS_SHOWN = 8; /* with more than these the group starts closed */

export type Row =
	| { kind: "cpus"; y: number; h: number; cpus: number }
	| { kind: "cpu"; y: number; h: number; cpu: number }
	| { kind: "process"; y: number; h: number; process: Process }
	| { kind: "thread"; y: number; h: number; thread: Thread };

export interface Process {
	key: string;
	pid: number;
	name: string;
	threads: Thread[];
}

export function groupThreads(threads: Thread[]): Process[] {
	const found = new Map<string, Process>();
	for (const t of threads) {
		/* Without a pid, nothing tells two processes of one name apart. */
		const key = t.pid ? `p${t.pid}` : `n${t.process}`;
		let p = found.get(key);
		if (!p)
			found.set(key, (p = { key, pid: t.pid, name: t.process, threads: [] }));
		p.threads.push(t);
	}
	return [...found.values()];
}

export class Rows {
	list: Row[] = [];
	height = 0;
	lane = LANE_MIN;
	readonly processes: Process[];
	private closed = new Set<string>();
	private where = new Map<number, Row>();

	constructor(private info: Info) {
		this.processes = groupThreads(info.threads);
		if (info.cpus > CPUS_SHOWN)
			this.closed.add("cpus");
	}

	isOpen(key: string): boolean {
		return !this.closed.has(key);
	}

	toggle(key: string): void {
		if (!this.closed.delete(key))
			this.closed.add(key);
	}

	/** Lays the rows out for a window of this height: few threads get taller lanes. */
	layout(room: number): void {
		let fixed = 0;
		let lanes = 0;
		if (this.info.cpus)
			fixed += HEAD_HEIGHT + (this.isOpen("cpus") ? this.info.cpus * CPU_HEIGHT : 0);
		for (const p of this.processes) {
			fixed += HEAD_HEIGHT;
			lanes += this.isOpen(p.key) ? p.threads.length : 0;
		}
		this.lane = lanes ? clamp(Math.floor((room - fixed - 4) / lanes), LANE_MIN, LANE_MAX) : LANE_MIN;
		this.list = [];
		this.where.clear();
		let y = 0;
		const add = (row: Row) => {
			this.list.push(row);
			y += row.h;
		};
		if (this.info.cpus) {
			add({ kind: "cpus", y, h: HEAD_HEIGHT, cpus: this.info.cpus });
			for (let cpu = 0; cpu < this.info.cpus && this.isOpen("cpus"); cpu++)
				add({ kind: "cpu", y, h: CPU_HEIGHT, cpu });
		}
		for (const process of this.processes) {
			add({ kind: "process", y, h: HEAD_HEIGHT, process });
			if (!this.isOpen(process.key))
				continue;
			for (const thread of process.threads) {
				const row: Row = { kind: "thread", y, h: this.lane, thread };
				this.where.set(thread.index, row);
				add(row);
			}
		}
		this.height = y;
	}

	/** The row at a height, by halving. */
	at(y: number): Row | null {
		const i = this.indexAt(y);
		const row = this.list[i];
		return row && y >= row.y && y < row.y + row.h ? row : null;
	}

	/** The rows that touch [from, to). */
	between(from: number, to: number): Row[] {
		const first = this.indexAt(from);
		let last = first;
		while (last < this.list.length && this.list[last].y < to)
			last++;
		return this.list.slice(first, last);
	}

	/** Where a thread stands; its process is opened if need be. */
	find(thread: number): Row | null {
		return this.where.get(thread) ?? null;
	}

	/** Opens the process of a thread. Returns whether that changed anything. */
	reveal(thread: Thread): boolean {
		if (this.where.has(thread.index))
			return false;
		const p = this.processes.find((q) => q.threads.includes(thread));
		return p ? this.closed.delete(p.key) : false;
	}

	/** The thread `step` lanes below (or above) one, or the first. */
	neighbour(thread: number | null, step: number): Thread | null {
		const lanes = this.list.filter((r) => r.kind === "thread") as { thread: Thread }[];
		if (!lanes.length)
			return null;
		const i = lanes.findIndex((r) => r.thread.index === thread);
		return lanes[i < 0 ? 0 : clamp(i + step, 0, lanes.length - 1)].thread;
	}

	private indexAt(y: number): number {
		let low = 0;
		let high = this.list.length - 1;
		while (low < high) {
			const mid = (low + high + 1) >> 1;
			if (this.list[mid].y <= y)
				low = mid;
			else
				high = mid - 1;
		}
		return low;
	}
}
