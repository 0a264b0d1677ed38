// SPDX-License-Identifier: MIT
/*
 * Sentences about what the engine found, in the words of the text report (report/words.c), and about
 * what there is not: a table without rows says why.
 */
import LOCK_KINDS from "../src/model/lock/lock.def";
import LOSSES from "../src/wire/loss.def";
import UNSEEN from "../src/wire/unseen.def";
import type { Page } from "./page";
import type { State } from "./state";
import { isOfTwo, plural } from "./util";

function table(text: string, row: RegExp): Map<string, string> {
	return new Map([...text.matchAll(row)].map((m) => [m[1]!, m[2]!]));
}

const KINDS = table(LOCK_KINDS, /^LOCK_KIND\(\d+, \w+, "([^"]+)", "([^"]+)"/gm);
const CLASSES = table(LOCK_KINDS, /^LOCK_KIND\(\d+, \w+, "([^"]+)", "[^"]+", (\w+)/gm);
const UNSEEN_WORDS = table(UNSEEN, /^UNSEEN\(\d+, \w+, "([^"]+)",\s*"([^"]+)"/gm);

const LOSS_ROW = /^LOSS\(\d+, \w+, "([^"]+)", (\w+), "([^"]*)", "([^"]*)"\)/gm;
const LOSS_WORDS = new Map([...LOSSES.matchAll(LOSS_ROW)].map((m) =>
	[m[1]!, { stack: m[2] === "STACK", words: m[3]!, advice: m[4]! }]));

/* "1 record was lost: the ring of a CPU was full: ...; a larger --ring-size helps.": a sentence a
 * cause, as thaw record says it. Stacks that are missing are not among them. */
export function lossWords(byCause: unknown): string[] {
	const list: string[] = [];
	for (const [cause, n] of Object.entries((byCause ?? {}) as Record<string, number>)) {
		const loss = LOSS_WORDS.get(cause) ??
			{ stack: false, words: "a cause that this version does not know", advice: "" };
		if (!loss.stack && n)
			list.push(`${plural(n, "record")} ${n === 1 ? "was" : "were"} lost: ${loss.words}` +
				`${loss.advice ? `; ${loss.advice}` : ""}.`);
	}
	return list;
}

/* "kernel mutex" for "kernel_mutex" */
export function lockKind(kind: string): string {
	return KINDS.get(kind) ?? kind;
}

/* Waits for something to happen, which nobody holds. */
export function isSignal(kind: string): boolean {
	return CLASSES.get(kind) === "SIGNAL";
}

/* Those who wait for it burn CPU time and never sleep. */
export function isSpin(kind: string): boolean {
	return CLASSES.get(kind) === "SPIN";
}

export function unseen(page: Page, what: string): boolean {
	return page.info.capture.unseen.includes(what);
}

/* No times were recorded: samples are counted, and that is all. */
export function timeless(page: Page): boolean {
	return unseen(page, "times");
}

/* "the ctimer engine does not see ...", or "" if it does. */
export function unseenWords(page: Page, what: string): string {
	if (!unseen(page, what))
		return "";
	const who = isOfTwo(page.info) ? "One of the two engines" : `The ${page.info.capture.engine} engine`;
	return `${who} does not see ` +
		`${UNSEEN_WORDS.get(what) ?? what}.`;
}

function where(state: State): string {
	return (state.sel ? "in this range" : "in this recording") +
		(state.threads ? (state.threads.length === 1 ? ", in this thread"
			: ", in these threads") : "");
}

/* Why a view of samples or waits has nothing to show. */
export function nothingWords(page: Page, state: State, kind: "cpu" | "wait" | "both"): string {
	if (kind === "cpu")
		return `No sample was taken ${where(state)}: none of its threads was running when ` +
			"thaw looked.";
	const blind = unseenWords(page, "switches");
	if (blind)
		return `${blind} Look at what ran instead, under On CPU.`;
	return kind === "wait" ? `Nobody waited ${where(state)}.`
		: `Nobody ran or waited ${where(state)}.`;
}

export function noLocksWords(page: Page, state: State): string {
	return unseenWords(page, "locks") || `Nobody waited for a lock ${where(state)}.`;
}
