// SPDX-License-Identifier: MIT
/*
 * One colour for each thing that a thread can do, the same in every part of the page. The most
 * common ones stay distinct for all kinds of colour blindness, by lightness where hue is not
 * enough: running is green, wanting a CPU is yellow, locks are warm, things that threads do
 * together are purple, storage is dark blue, talking to others light blue, and waits that nobody
 * suffers from (timers, no work) are pale. Colour is never the only sign: lanes carry labels, and
 * tooltips words.
 *
 * Rows stand in the order in which a column of the timeline stacks them, from the bottom up. Those
 * of reasons are in src/timeline/reason.def, all others in src/query/class.def.
 */
import CLASSES from "../src/query/class.def";
import REASONS from "../src/timeline/reason.def";
import type { Page } from "./page";
import { el } from "./util";

interface Paint {
	cls: number;
	level: number;
	light: string;
	dark: string;
	hatched?: boolean;
	pale?: boolean; /* nobody suffers: drawn without a label of its own weight */
}

const REASON_ROW =
	/^REASON\((\d+), .*,\s+\w+, ([\w |]+), (\d+), "(#\w+)", "(#\w+)"\)/gm;

const CLASS_ROW =
	/^CLASS\((\d+), (\w+), "\w+", "([^"]+)", "([^"]+)", (\w+), (\d+), "(#?\w*)", "(#?\w*)"\)/gm;

const CLASS_ROWS = [...CLASSES.matchAll(CLASS_ROW)];

function classOf(name: string): number {
	return Number(CLASS_ROWS.find((m) => m[2] === name)![1]);
}

export const RUNNING = classOf("RUNNING");
export const LOST = classOf("LOST");
export const ABSENT = classOf("GONE");
export const CPU_IDLE = classOf("IDLE");
export const BLACKOUT = classOf("BLACKOUT");

const REASON_PAINTS: Paint[] = [...REASONS.matchAll(REASON_ROW)].map((m) => ({
	cls: Number(m[1]), level: Number(m[3]), light: m[4]!, dark: m[5]!, pale: m[2]!.includes("PALE"),
}));

const CLASS_PAINTS: Paint[] = CLASS_ROWS.filter((m) => m[5] !== "NONE").map((m) => ({
	cls: Number(m[1]), level: Number(m[6]), light: m[7]!, dark: m[8]!,
	hatched: m[5] === "HATCHED", pale: m[5] === "PALE",
}));

const PAINTS = [...REASON_PAINTS, ...CLASS_PAINTS].sort((a, b) => a.level - b.level);

/* By class: what it is called, and the same as a part of a sentence. */
const LABELS = new Map(CLASS_ROWS.map((m) => [Number(m[1]), m[3]!]));
const WORDS = new Map(CLASS_ROWS.map((m) => [Number(m[1]), m[4]!]));

const UNKNOWN = PAINTS.find((p) => p.cls === 0)!;
const byClass: Paint[] = [];
const order: number[] = [];
PAINTS.forEach((p, i) => {
	byClass[p.cls] = p;
	order[p.cls] = i;
});

const query = matchMedia("(prefers-color-scheme: dark)");
let dark = query.matches;
const listeners: (() => void)[] = [];

function choose(now: boolean): void {
	dark = now;
	for (const fn of listeners)
		fn();
}

query.addEventListener("change", () => choose(query.matches));
/* Canvases need their colours before the browser applies the style for paper. */
addEventListener("beforeprint", () => {
	document.documentElement.classList.add("printing");
	choose(false);
});
addEventListener("afterprint", () => {
	document.documentElement.classList.remove("printing");
	choose(query.matches);
});

export function isDark(): boolean {
	return dark;
}

/** Calls fn when the colours have changed: another scheme, or printing, which is always light. */
export function onScheme(fn: () => void): void {
	listeners.push(fn);
}

export function color(cls: number): string {
	const p = byClass[cls] ?? UNKNOWN;
	return isDark() ? p.dark : p.light;
}

export function hatched(cls: number): boolean {
	return byClass[cls]?.hatched ?? false;
}

export function pale(cls: number): boolean {
	return byClass[cls]?.pale ?? false;
}

/** Where a class stands in a stacked column: the smaller, the nearer to the bottom. */
export function stackOrder(cls: number): number {
	return order[cls] ?? order[0];
}

export function rgb(hex: string): [number, number, number] {
	const n = parseInt(hex.slice(1), 16);
	return [n >> 16, (n >> 8) & 255, n & 255];
}

/** Black or white, whichever is easier to read on a colour. */
export function inkOn(hex: string): string {
	const [r, g, b] = rgb(hex).map((v) => {
		const c = v / 255;
		return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
	});
	return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.22 ? "#10151b" : "#ffffff";
}

/** A small square in the colour of a class, for lists. */
export function chip(cls: number): HTMLElement {
	const e = el("span", { class: hatched(cls) ? "chip hatched" : "chip", "aria-hidden": "true" });
	e.style.backgroundColor = color(cls);
	return e;
}

/** What a class is called in a table or a legend. */
export function className(page: Page, cls: number): string {
	return LABELS.get(cls) ?? page.reason(cls)?.label ?? "not known";
}

/** The same as a part of a sentence: "worker-1 WORDS". */
export function classWords(page: Page, cls: number): string {
	const r = page.reason(cls);
	if (r)
		return `waited ${r.words}`;
	return WORDS.get(cls) ?? className(page, cls);
}
