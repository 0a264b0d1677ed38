// SPDX-License-Identifier: MIT
/*
 * What every part of the page gets, and the shape of what the engine answers to `open` and `at`.
 * Times are nanoseconds since the recording began, threads are the model's indexes. A part of the
 * page is a function `mountX(root, page)`: it draws into root, asks through page, follows
 * page.state, and never touches another part.
 */
import type { Args } from "./ask";
import type { Store } from "./state";

export interface Page {
	ask(name: string, args?: Args): Promise<ArrayBuffer>;
	askJson<T>(name: string, args?: Args): Promise<T>;
	info: Info;
	state: Store;
	/** The thread with this index, if the capture has it. */
	thread(index: number): Thread | undefined;
	reason(id: number): Reason | undefined;
}

export interface Range {
	from: number;
	to: number;
}

export interface Reason {
	id: number;
	name: string; /* the key in JSON */
	label: string; /* fits a table's column */
	words: string; /* "it waited WORDS" */
	idle: boolean; /* nobody suffers: there was no work */
}

export interface Thread {
	index: number;
	pid: number;
	tid: number;
	comm: string;
	process: string;
	start: number;
	end: number;
	/* null: this engine does not see it */
	running_ns: number | null;
	runnable_ns: number | null;
	waiting_ns: number | null;
	lost_ns: number | null;
	unseen_ns: number | null;
	waits: Record<string, number>;
	samples: number;
	idle: boolean;
}

export interface Stall {
	start: number;
	ns: number;
	threads: number; /* that stood still */
	of_threads: number;
	lock: { id: number | null; name: string; kind: string } | null;
	culprit: number | null;
	/** When the culprit did what the text says of it. */
	culprit_at: number | null;
	text: string;
}

export interface Span {
	start: number;
	ns: number;
}

/* As in `thaw report --json`. */
export interface Capture {
	path: string;
	host: string;
	kernel: string;
	engine: string;
	/* null: not known */
	start_unix_ns: number | null;
	duration_ns: number | null;
	cpus: number | null;
	freq_hz: number | null;
	command: string[];
	complete: boolean;
	damage: string;
	symbols: boolean;
	unseen: string[];
}

/* What thaw diff says of the two captures, or ranges of one, that are in one page. */
export interface Compared {
	text: string; /* what differs */
	sides: [Side, Side];
}

export interface Side {
	name: string; /* of the file */
	begin: number; /* of its recording, in the page's times */
	from: number; /* what is compared of it */
	ns: number;
	begin_unix_ns: number | null; /* null: not known */
}

/* The answer to `open`. */
export interface Info {
	schema: string;
	progress: number;
	compared?: Compared; /* not from the answer: the page carries it */
	capture: Capture;
	begin_unix_ns: number;
	duration_ns: number; /* in the page's own times, which mean nothing if none were recorded */
	text: string;
	/** What the text is about: what the page opens with. */
	about: { kind: "cpu" | "wait"; lock: number | null; threads: number[] };
	reasons: Reason[];
	threads: Thread[];
	cpus: number;
	stalls: Stall[];
	stalls_total: number; /* of which `stalls` lists the longest */
	blackouts: Span[];
	losses: Record<string, unknown>;
	guard: Record<string, unknown>;
	watch: Record<string, unknown>;
	events: number;
	samples: number;
	whole_machine: boolean;
	has_switches: boolean; /* false: only samples are known */
}

export interface Frame {
	name: string;
	module: string;
	file: string | null;
	line: number;
	inlined: boolean;
	guessed: boolean;
}
