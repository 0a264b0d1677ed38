// SPDX-License-Identifier: MIT
/*
 * One colour for each thing that a thread can do, the same in every part of the page. Those that
 * are met most keep apart for all kinds of colour blindness, by lightness where hue is not enough:
 * running is green, wanting a CPU is yellow, locks are warm, things that threads do together are
 * purple, storage is dark blue, talking to others light blue, and waits that nobody suffers from
 * (timers, no work) are pale. Colour is never the only sign: lanes carry labels, and tooltips words.
 *
 * Rows stand in the order in which a column of the timeline stacks them, from the bottom up.
 */
import type { Page } from "./page";
import { el } from "./util";

export const RUNNING = 100;
export const LOST = 101;
export const ABSENT = 102;
export const CPU_IDLE = 103;
export const BLACKOUT = 104;

export const RUN_QUEUE = 27;
export const THROTTLED = 28;

interface Paint {
	cls: number;
	light: string;
	dark: string;
	hatched?: boolean;
	pale?: boolean; /* nobody suffers: drawn without a label of its own weight */
}

const PAINTS: Paint[] = [
	{ cls: RUNNING, light: "#0f9d72", dark: "#21a97f" },
	{ cls: RUN_QUEUE, light: "#f2c53d", dark: "#dcb341" },
	{ cls: THROTTLED, light: "#b98900", dark: "#a67f14" },
	{ cls: 11, light: "#d6440c", dark: "#e2571f" } /* mutex */,
	{ cls: 12, light: "#bd1e55", dark: "#c02a60" } /* rwlock */,
	{ cls: 10, light: "#8c1d12", dark: "#a93122" } /* kernel lock */,
	{ cls: 13, light: "#ef9166", dark: "#f7a37d" } /* semaphore */,
	{ cls: 25, light: "#bf5a2a", dark: "#cc6a3a" } /* file lock */,
	{ cls: 17, light: "#f3b597", dark: "#efb296" } /* futex */,
	{ cls: 14, light: "#de98c4", dark: "#eaa0ce" } /* condvar */,
	{ cls: 16, light: "#9c4583", dark: "#b660a0" } /* barrier */,
	{ cls: 15, light: "#dcb0cd", dark: "#6f4f65" } /* join */,
	{ cls: 2, light: "#0a62ad", dark: "#2a80cf" } /* disk */,
	{ cls: 18, light: "#38449c", dark: "#5563c4" } /* page fault */,
	{ cls: 29, light: "#7565d6", dark: "#8c7df0" } /* memory */,
	{ cls: 19, light: "#46a7df", dark: "#54b4ea" } /* network */,
	{ cls: 21, light: "#67bccb", dark: "#5fb3c2" } /* pipe */,
	{ cls: 26, light: "#4f9db3", dark: "#4f9db3" } /* ipc */,
	{ cls: 20, light: "#8cc6ec", dark: "#4c7c9b" } /* poll */,
	{ cls: 24, light: "#8db4c0", dark: "#587984" } /* terminal */,
	{ cls: 22, light: "#b5a8d8", dark: "#6b6090" } /* child */,
	{ cls: 23, light: "#c9c2e2", dark: "#565070" } /* signal */,
	{ cls: 30, light: "#6a5f8c", dark: "#9388ae" } /* the kernel */,
	{ cls: 4, light: "#6c727b", dark: "#7d848e" } /* stopped */,
	{ cls: 5, light: "#566273", dark: "#68778b" } /* debugger */,
	{ cls: 9, light: "#a9bcc9", dark: "#4d606d" } /* frozen */,
	{ cls: 0, light: "#5d636c", dark: "#6d747e" } /* not known */,
	{ cls: 8, light: "#c6ccd4", dark: "#3c434d", pale: true } /* ended */,
	{ cls: 7, light: "#dce1e7", dark: "#2d333c", pale: true } /* parked */,
	{ cls: 1, light: "#d3d9e1", dark: "#353c48", pale: true } /* a timer */,
	{ cls: 6, light: "#e6eaef", dark: "#262c35", pale: true } /* no work */,
	{ cls: CPU_IDLE, light: "#e6eaef", dark: "#262c35", pale: true },
	{ cls: LOST, light: "#9aa1ab", dark: "#69707b", hatched: true },
	{ cls: BLACKOUT, light: "#3c424b", dark: "#aab1bc", hatched: true },
];

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
/* What canvases are drawn with must be there before the style for paper is. */
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
	switch (cls) {
	case RUNNING:
		return "running";
	case LOST:
		return "lost";
	case ABSENT:
		return "not alive";
	case CPU_IDLE:
		return "idle";
	case BLACKOUT:
		return "blackout";
	default:
		return page.reason(cls)?.label ?? "not known";
	}
}

/** The same as a part of a sentence: "worker-1 WORDS". */
export function classWords(page: Page, cls: number): string {
	const r = page.reason(cls);
	if (r)
		return `waited ${r.words}`;
	return cls === RUNNING ? "ran"
		: cls === LOST ? "did what was not recorded"
		: cls === ABSENT ? "was not alive"
		: className(page, cls);
}
