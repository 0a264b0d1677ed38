// SPDX-License-Identifier: MIT
/*
 * What the page shows, in one object that lives in the address: a link, a bookmark and the back
 * button all lead to the same view. FIELDS is the one table of what it holds; a field that equals
 * its default is left out of the address, and what cannot be read there counts as the default.
 *
 * Steps that a person would want to undo (a click, a jump, another tab) are pushed; what changes
 * continuously (zooming, panning, typing) replaces the current entry, and only once it is quiet,
 * because browsers refuse more than some replacements a second.
 */
import type { Range } from "./page";

export interface Flame {
	kind: "cpu" | "wait" | "both";
	invert: boolean;
	by: "" | "thread";
	idle: boolean; /* with waiting for work */
	zoom: string; /* names from the root on, as flame.ts joins them; "" is the root */
	search: string;
}

export interface State {
	view: Range | null; /* what the timeline shows; null: the whole recording */
	sel: Range | null; /* the range that all else is about; null: the whole recording */
	sel2: Range | null; /* a second one to compare with */
	threads: number[] | null; /* only these; null: all */
	tab: string;
	focus: { thread: number; ts: number } | null; /* the interval that details are shown of */
	stall: number | null; /* or, without a focus, this one of the stalls of `open` */
	lock: number | null; /* the lock that the Locks tab shows */
	func: string; /* the function that the Functions tab shows: module!name */
	flame: Flame;
	heat: { kind: string };
}

interface Field<T> {
	value: T;
	write(value: T): string;
	read(text: string): T | undefined;
}

function count(text: string): number | undefined {
	return /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

const range: Field<Range | null> = {
	value: null,
	write: (r) => (r ? `${Math.round(r.from)}-${Math.round(r.to)}` : ""),
	read(text) {
		const m = /^(\d{1,15})-(\d{1,15})$/.exec(text);
		const r = m && { from: Number(m[1]), to: Number(m[2]) };
		return r && r.from < r.to ? r : undefined;
	},
};

const index: Field<number | null> = {
	value: null,
	write: (n) => (n === null ? "" : String(n)),
	read: count,
};

function text(value = ""): Field<string> {
	return { value, write: (s) => s, read: (s) => s };
}

const FLAME: Flame = { kind: "cpu", invert: false, by: "", idle: false, zoom: "", search: "" };

const FIELDS: { [K in keyof State]: Field<State[K]> } = {
	view: range,
	sel: range,
	sel2: range,
	threads: {
		value: null,
		write: (list) => (list ? list.join(".") : ""),
		read: (s) => (/^\d{1,9}(\.\d{1,9})*$/.test(s) ? s.split(".").map(Number) : undefined),
	},
	tab: text(),
	focus: {
		value: null,
		write: (f) => (f ? `${f.thread}@${Math.round(f.ts)}` : ""),
		read(s) {
			const m = /^(\d{1,9})@(\d{1,15})$/.exec(s);
			return m ? { thread: Number(m[1]), ts: Number(m[2]) } : undefined;
		},
	},
	stall: index,
	lock: index,
	func: text(),
	flame: {
		value: FLAME,
		write: (f) =>
			[f.kind, f.invert ? "1" : "", f.by, f.zoom, f.search, f.idle ? "1" : ""]
				.map(encodeURIComponent)
				.join(","),
		read(s) {
			const [kind, invert, by, zoom, search, idle] = s.split(",").map(decode);
			if (kind !== "cpu" && kind !== "wait" && kind !== "both")
				return undefined;
			return {
				kind,
				invert: invert === "1",
				by: by === "thread" ? by : "",
				idle: idle === "1",
				zoom: zoom || "",
				search: search || "",
			};
		},
	},
	heat: { value: { kind: "samples" }, write: (h) => h.kind, read: (kind) => ({ kind }) },
};

function decode(s: string): string {
	try {
		return decodeURIComponent(s);
	} catch {
		return "";
	}
}

export function readState(hash: string): State {
	const found = new Map<string, string>();
	for (const part of hash.replace(/^#/, "").split("&")) {
		const eq = part.indexOf("=");
		if (eq > 0)
			found.set(part.slice(0, eq), decode(part.slice(eq + 1)));
	}
	const one = <K extends keyof State>(key: K): State[K] => {
		const s = found.get(key);
		return (s ? FIELDS[key].read(s) : undefined) ?? FIELDS[key].value;
	};
	const state: Partial<State> = {};
	const put = <K extends keyof State>(key: K) => (state[key] = one(key));
	(Object.keys(FIELDS) as (keyof State)[]).forEach(put);
	return state as State;
}

export function writeState(state: State): string {
	const one = <K extends keyof State>(key: K): string => {
		const s = FIELDS[key].write(state[key]);
		return s && s !== FIELDS[key].write(FIELDS[key].value)
			? `${key}=${encodeURIComponent(s).replace(/%2C/g, ",").replace(/%40/g, "@")}`
			: "";
	};
	return "#" + (Object.keys(FIELDS) as (keyof State)[]).map(one).filter(Boolean).join("&");
}

export type How = "push" | "replace";
export type Listener = (state: State, before: State) => void;

const QUIET_MS = 300;

export class Store {
	private state: State = readState(location.hash || start());
	private listeners: Listener[] = [];
	private timer = 0;

	constructor() {
		addEventListener("popstate", () => this.adopt(readState(location.hash)));
		addEventListener("hashchange", () => this.adopt(readState(location.hash)));
		addEventListener("pagehide", () => this.save());
	}

	get(): State {
		return this.state;
	}

	set(patch: Partial<State>, how: How = "replace"): void {
		const next = { ...this.state, ...patch };
		if (writeState(next) === writeState(this.state))
			return;
		if (how === "push") {
			this.save();
			this.push(next);
		} else {
			clearTimeout(this.timer);
			this.timer = setTimeout(() => this.save(), QUIET_MS);
		}
		this.adopt(next);
	}

	/** Makes the back button lead here, whatever changes next. */
	keep(): void {
		this.save();
		this.push(this.state);
	}

	/** One step back, but never out of the page. */
	back(): void {
		if (depth() > 0)
			history.back();
	}

	/** Calls fn after each change, with what was before; returns how to end that. */
	subscribe(fn: Listener): () => void {
		this.listeners.push(fn);
		return () => (this.listeners = this.listeners.filter((other) => other !== fn));
	}

	private adopt(next: State): void {
		const before = this.state;
		if (writeState(next) === writeState(before))
			return;
		this.state = next;
		for (const fn of this.listeners)
			fn(next, before);
	}

	private push(next: State): void {
		history.pushState({ depth: depth() + 1 }, "", writeState(next));
	}

	private save(): void {
		clearTimeout(this.timer);
		const hash = writeState(this.state);
		if (hash !== (location.hash || "#"))
			history.replaceState({ depth: depth() }, "", hash);
	}
}

/* The state that an exported page was made to open with. */
function start(): string {
	return document.querySelector<HTMLMetaElement>('meta[name="thaw-start"]')?.content ?? "";
}

/* How many steps of this page the back button can undo. */
function depth(): number {
	const d = (history.state as { depth?: unknown } | null)?.depth;
	return typeof d === "number" ? d : 0;
}

/** Whether two values of a field are the same: ranges and lists are compared by what they hold. */
export function same<K extends keyof State>(key: K, a: State, b: State): boolean {
	return a[key] === b[key] || FIELDS[key].write(a[key]) === FIELDS[key].write(b[key]);
}

/** The range that numbers are about: the selection, or all. */
export function scope(state: State, duration: number): Range {
	return state.sel ?? { from: 0, to: duration };
}
