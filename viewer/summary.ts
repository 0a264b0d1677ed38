// SPDX-License-Identifier: MIT
/*
 * The report of a range, as `thaw report --json` has it: its shape, and the last few answers, since
 * several tabs want the same one.
 */
import type { Frame, Page, Thread } from "./page";
import { threadWords } from "./panel";
import { scope, type State } from "./state";

export interface Who {
	pid: number;
	tid: number;
	comm: string;
}

export interface Waker extends Who {
	kind: string;
	total_ns: number;
	count: number;
	stack: Frame[];
}

export interface Wait {
	reason: string;
	evidence: string;
	in: string | null;
	lock: number | null;
	total_ns: number;
	count: number;
	not_ended: number;
	max_ns: number;
	max_start_unix_ns: number;
	max_tid: number;
	threads: number;
	stack: Frame[];
	wakers: Waker[];
}

export interface LockWaiter extends Who {
	wait_ns: number;
	waits: number;
	max_ns: number;
	stack: Frame[];
}

export interface LockHolder {
	pid: number | null;
	tid: number | null;
	comm: string | null;
	blamed_ns: number;
	waits: number;
	running_ns: number;
	runnable_ns: number;
	waiting_ns: number;
	meanwhile_words: string;
	stack_from: string | null;
	stack: Frame[];
	release_stack: Frame[];
}

export interface Lock {
	id: number | null; /* null: inferred from stacks */
	kind: string;
	name: string;
	address: string | null;
	named: boolean;
	inferred: boolean;
	contended: boolean;
	shared: boolean;
	pid: number;
	life: number;
	waits: number;
	total_wait_ns: number;
	max_wait_ns: number;
	max_start_unix_ns: number;
	max_tid: number | null;
	p50_ns: number;
	p99_ns: number;
	not_ended: number;
	given_up: number;
	holder_known_ns: number;
	histogram: { from_ns: number; count: number }[];
	waiters_total: number;
	waiters: LockWaiter[];
	holders_total: number;
	holders: LockHolder[];
}

export interface Culprit extends Who {
	function: string | null;
	lock: number | null;
	first_lock: number | null;
	deadlock: boolean;
	blamed_ns: number;
	words: string;
}

export interface Summary {
	kernel_locks_recorded: boolean;
	waits: Wait[];
	locks: Lock[];
	culprits: Culprit[];
	blamed: { waited_ns: number | null; charged_ns: number | null; unknown_ns: number | null };
}

/*
 * A report is of all threads, of one, or of all with one name; other choices get that of all, and
 * summaryWho says so.
 */
function threadSpec(page: Page, threads: readonly number[] | null): string | null {
	const chosen = (threads ?? []).map((i) => page.thread(i)).filter((t): t is Thread => !!t);
	const first = chosen[0];
	if (!first)
		return null;
	if (chosen.length === 1)
		return String(first.tid);
	const named = page.info.threads.filter((t) => t.comm === first.comm);
	const same = named.length === chosen.length && chosen.every((t) => t.comm === first.comm);
	return same ? first.comm : null;
}

export function summaryWho(page: Page, state: State): string {
	const all = threadWords(page, null);
	if (!state.threads || threadSpec(page, state.threads) !== null)
		return threadWords(page, state.threads);
	return `${all} (this table is of one thread or of all)`;
}

const KEPT = 4;
const kept: { key: string; answer: Promise<Summary> }[] = [];

export function askSummary(page: Page, state: State): Promise<Summary> {
	const args = { ...scope(state, page.info.duration_ns),
		thread: threadSpec(page, state.threads) };
	const key = JSON.stringify(args);
	const known = kept.find((k) => k.key === key);
	if (known)
		return known.answer;
	const answer = page.askJson<Summary>("summary", args);
	kept.unshift({ key, answer });
	kept.length = Math.min(kept.length, KEPT);
	answer.catch(() => kept.splice(kept.findIndex((k) => k.answer === answer), 1));
	return answer;
}

/* A thread of the report in the page's list; tids may be reused. */
export function threadOf(page: Page, who: { pid?: number | null; tid: number | null },
			 ts?: number): Thread | undefined {
	const all = page.info.threads.filter((t) => t.tid === who.tid &&
		(who.pid === undefined || who.pid === null || t.pid === who.pid));
	return all.find((t) => ts !== undefined && t.start <= ts && ts <= t.end) ?? all[0];
}

/* Nanoseconds since the recording began. Such large numbers lose their last digits in JSON. */
export function sinceBegin(page: Page, unixNs: number): number {
	return Math.max(0, unixNs - page.info.begin_unix_ns);
}

/* Points the page at the middle of an interval: its ends may be off by a digit. */
export function focusOn(page: Page, tid: number | null, startUnixNs: number, ns: number): void {
	const ts = sinceBegin(page, startUnixNs) + ns / 2;
	const thread = threadOf(page, { tid }, ts);
	if (thread)
		page.state.set({ focus: { thread: thread.index, ts: Math.round(ts) } }, "push");
}
