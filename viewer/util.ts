// SPDX-License-Identifier: MIT
/*
 * Numbers as `thaw report` writes them (base/units.c is the model: the same value must read the
 * same in both), and the one way in which the page makes elements: text only ever arrives as
 * text, so a thread named "<script>" is a thread with an odd name.
 */
import type { Info, Range, Side } from "./page";

const US = 1e3;
const MS = 1e6;
const S = 1e9;

/** 50.0us, 10.4ms, 2.10s, 1m40s, 2h05m */
export function duration(ns: number): string {
	const two = (n: number) => String(Math.floor(n)).padStart(2, "0");
	if (ns < 0)
		return "-" + duration(-ns);
	if (ns < US)
		return `${Math.round(ns)}ns`;
	/* Rounding must not reach the next unit: 99.95s is 1m40s, 999.6us is 1.00ms. */
	if (ns >= 99.95 * S) {
		const s = Math.round(ns / S);
		if (s < 3600)
			return `${Math.floor(s / 60)}m${two(s % 60)}s`;
		if (s >= 3600e3)
			return `${Math.floor(s / 3600)}h`;
		return `${Math.floor(s / 3600)}h${two((s / 60) % 60)}m`;
	}
	const [unit, name] = ns >= S - MS / 2 ? [S, "s"] : ns >= MS - US / 2 ? [MS, "ms"] : [US, "us"];
	const v = ns / unit;
	return v.toFixed(v < 9.995 ? 2 : v < 99.95 ? 1 : 0) + name;
}

/** 12, 34.3k, 1.2M */
export function count(n: number): string {
	const names = ["", "k", "M", "G"];
	let i = 0;
	while (n >= (i ? 999.5 : 1000) && i + 1 < names.length) {
		n /= 1000;
		i++;
	}
	return n.toFixed(i === 0 || n >= 99.95 ? 0 : 1) + names[i];
}

/** 41%, 3.0%, <0.1% */
export function percent(part: number, whole: number): string {
	const p = whole > 0 ? (100 * part) / whole : 0;
	if (p > 0 && p < 0.05)
		return "<0.1%";
	return p.toFixed(p > 0 && p < 9.95 ? 1 : 0) + "%";
}

/** A time since the recording began, with as many digits as `grain` (ns) calls for: 1.546894s */
export function since(ns: number, grain = US): string {
	const digits = Math.min(9, Math.max(0, Math.ceil(9 - Math.log10(Math.max(1, grain)))));
	const sign = ns < 0 ? "-" : "";
	ns = Math.abs(ns);
	if (ns < 60 * S)
		return `${sign}${(ns / S).toFixed(digits)}s`;
	const minutes = Math.floor(ns / (60 * S));
	const rest = (ns / S - minutes * 60).toFixed(digits).padStart(digits ? 3 + digits : 2, "0");
	return `${sign}${minutes}m${rest}s`;
}

/* The wall clock at a moment, in ms: of two captures in one page, each has its own. */
function wall(info: Info, ns: number): number {
	const [one, two] = info.compared?.sides ?? [];
	const side = two && ns >= two.begin ? two : one;
	if (!side)
		return info.begin_unix_ns / MS + ns / MS;
	return (side.begin_unix_ns ?? 0) / MS + (ns - side.begin) / MS;
}

/** The same as a time of day: 13:45:30.750 */
export function clock(info: Info, ns: number, digits = 3): string {
	const ms = wall(info, ns);
	const d = new Date(ms);
	const two = (n: number) => String(n).padStart(2, "0");
	const base = `${two(d.getHours())}:${two(d.getMinutes())}:${two(d.getSeconds())}`;
	const below = ((ms % 1000) + 1000) % 1000;
	const frac = Math.floor(below * 10 ** (digits - 3));
	return digits ? `${base}.${String(frac).padStart(digits, "0")}` : base;
}

/* Digits behind a second's point, as many as `grain` (ns) calls for, but whole milliseconds. */
function digitsFor(grain: number): number {
	return Math.min(9, Math.max(3, Math.ceil(9 - Math.log10(Math.max(1, grain)))));
}

/* Both forms of some moments: 13:45:30.750 to 13:45:31.000 (+3.200s to +3.450s) */
function bothForms(info: Info, at: number[], grain: number): string {
	const digits = digitsFor(grain);
	const offset = (ns: number) => `+${(Math.floor(ns / 10 ** (9 - digits)) / 10 ** digits).toFixed(digits)}s`;
	const offsets = at.map(offset).join(" to ");
	/* The clock's numbers have no room for more than microseconds. */
	const clocks = at.map((ns) => clock(info, ns, Math.min(6, digits))).join(" to ");
	return info.begin_unix_ns ? `${clocks} (${offsets})` : offsets;
}

/** A moment in both forms, as reports write it and --from takes it: 13:45:30.750 (+3.200s) */
export function moment(info: Info, ns: number, grain = MS): string {
	return bothForms(info, [ns], grain);
}

/** The same of a range. */
export function moments(info: Info, range: Range, grain = (range.to - range.from) / 100): string {
	return bothForms(info, [range.from, range.to], grain);
}

export function date(info: Info, ns = 0): string {
	const d = new Date(wall(info, ns));
	const two = (n: number) => String(n).padStart(2, "0");
	return `${d.getFullYear()}-${two(d.getMonth() + 1)}-${two(d.getDate())}`;
}

/** Two captures are compared, not two ranges of one. */
export function isOfTwo(info: Info): boolean {
	const [one, two] = info.compared?.sides ?? [];
	return !!one && !!two && one.name !== two.name;
}

/** "a.thaw: 5.02s, 2026-03-01 10:22:01" */
export function sideWords(info: Info, side: Side): string {
	const when = side.begin_unix_ns
		? `, ${date(info, side.from)} ${clock(info, side.from, 0)}` : "";
	return `${side.name}: ${duration(side.ns)}${when}`;
}

export function clamp(v: number, low: number, high: number): number {
	return Math.max(low, Math.min(high, v));
}

/** "1 thread", "2 threads" */
export function plural(n: number, one: string, many = one + "s"): string {
	return `${count(n)} ${n === 1 ? one : many}`;
}

type Child = Node | string | null | undefined | false;
type Props = Record<string, string | number | boolean | null | undefined | EventListener>;

/**
 * An element: el("button", { class: "link", "aria-label": "..", onclick: f }, "text", child).
 * Properties that begin with "on" are listeners, false and null are left out, all else attributes.
 */
export function el<K extends keyof HTMLElementTagNameMap>(
	tag: K,
	props: Props = {},
	...children: Child[]
): HTMLElementTagNameMap[K] {
	const e = document.createElement(tag);
	for (const [key, value] of Object.entries(props)) {
		if (typeof value === "function")
			e.addEventListener(key.replace(/^on/, ""), value);
		else if (value !== null && value !== undefined && value !== false)
			e.setAttribute(key, value === true ? "" : String(value));
	}
	for (const child of children)
		if (child)
			e.append(child);
	return e;
}

/** An element of the page's own frame, which is there from the start. */
export function byId(id: string): HTMLElement {
	const e = document.getElementById(id);
	if (!e)
		throw new Error(`the page has no element ${id}`);
	return e;
}

/** Whether keys belong to a field in which a person types. */
export function typing(e: Event): boolean {
	const t = e.target;
	return t instanceof HTMLInputElement || t instanceof HTMLSelectElement ||
		t instanceof HTMLTextAreaElement;
}

export async function copyText(text: string): Promise<boolean> {
	try {
		await navigator.clipboard.writeText(text);
		return true;
	} catch {
		/* Files and old browsers have no clipboard; the older way needs a selection. */
		const area = el("textarea", { class: "offscreen", "aria-hidden": "true" });
		area.value = text;
		document.body.append(area);
		area.select();
		const done = document.execCommand("copy");
		area.remove();
		return done;
	}
}
