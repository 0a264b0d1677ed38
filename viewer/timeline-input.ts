// SPDX-License-Identifier: MIT
/*
 * Mouse, pen and fingers over the timeline, turned into few intents. The lanes: drag moves, shift
 * and drag selects (with ctrl a second range), two fingers pinch, the wheel zooms about the pointer
 * (with shift it moves, with alt it scrolls). The ruler: drag selects; its strip at the top moves
 * the view.
 */
import type { Range } from "./page";

export interface Gestures {
	time(x: number): number; /* of a place in the element */
	perPixel(): number;
	zoom(factor: number, ts: number): void;
	pan(ns: number): void;
	scroll(px: number): void;
	draft(range: Range | null, second: boolean): void; /* a selection that is being drawn */
	select(range: Range, second: boolean): void; /* second: to compare the first with */
	click(x: number, y: number): void;
	double(x: number, y: number): void;
	hover(x: number | null, y: number): void;
}

const CLICK_PX = 4;
const LINE_PX = 16; /* wheels that count lines */

function place(e: { clientX: number; clientY: number }, of: HTMLElement): { x: number; y: number } {
	const r = of.getBoundingClientRect();
	return { x: e.clientX - r.left, y: e.clientY - r.top };
}

export function attachWheel(on: HTMLElement, g: Gestures): void {
	on.addEventListener("wheel", (e) => {
		e.preventDefault();
		const unit = e.deltaMode === 1 ? LINE_PX : e.deltaMode === 2 ? on.clientHeight : 1;
		const dx = e.deltaX * unit;
		const dy = e.deltaY * unit;
		if (e.altKey)
			g.scroll(dy);
		else if (e.shiftKey)
			g.pan((dx || dy) * g.perPixel());
		else if (Math.abs(dx) > Math.abs(dy))
			g.pan(dx * g.perPixel());
		else
			/* A pinch on a touchpad arrives as a wheel with ctrl, in small steps. */
			g.zoom(Math.exp(dy * (e.ctrlKey ? 0.01 : 0.002)), g.time(place(e, on).x));
	}, { passive: false });
}

/** What a drag does is decided where it starts, and by the keys that are held there. */
export type DragKind = "pan" | "select" | "second" | "strip";

export function attachPointer(
	on: HTMLElement,
	g: Gestures,
	kindOf: (e: PointerEvent, y: number) => DragKind,
): void {
	const fingers = new Map<number, number>(); /* pointer: x */
	let start: { x: number; y: number; ts: number } | null = null;
	let last = { x: 0, y: 0 };
	let kind: DragKind = "pan";
	let moved = false;
	let spread = 0;

	const pinch = () => {
		const [a, b] = [...fingers.values()];
		const now = Math.max(20, Math.abs(a - b));
		if (spread)
			g.zoom(spread / now, g.time((a + b) / 2));
		spread = now;
	};
	const range = (x: number): Range => {
		const ts = g.time(x);
		return { from: Math.min(start!.ts, ts), to: Math.max(start!.ts, ts) };
	};

	on.addEventListener("pointerdown", (e) => {
		if (e.pointerType === "mouse" && e.button !== 0)
			return;
		const p = place(e, on);
		fingers.set(e.pointerId, p.x);
		on.setPointerCapture(e.pointerId);
		if (fingers.size === 2) {
			moved = true;
			spread = 0;
			pinch();
			return;
		}
		kind = kindOf(e, p.y);
		start = { ...p, ts: g.time(p.x) };
		last = p;
		moved = false;
		if (kind === "strip")
			g.click(p.x, p.y);
	});
	on.addEventListener("pointermove", (e) => {
		const p = place(e, on);
		if (!fingers.has(e.pointerId)) {
			if (e.pointerType === "mouse")
				g.hover(p.x, p.y);
			return;
		}
		fingers.set(e.pointerId, p.x);
		if (fingers.size === 2)
			return pinch();
		if (!start)
			return;
		if (!moved && Math.hypot(p.x - start.x, p.y - start.y) < CLICK_PX)
			return;
		if (!moved)
			g.hover(null, 0);
		moved = true;
		if (kind === "select" || kind === "second") {
			g.draft(range(p.x), kind === "second");
		} else if (kind === "strip") {
			g.click(p.x, 0);
		} else {
			g.pan((last.x - p.x) * g.perPixel());
			if (e.pointerType === "mouse")
				g.scroll(last.y - p.y);
		}
		last = p;
	});
	const end = (e: PointerEvent, cancelled: boolean) => {
		if (!fingers.delete(e.pointerId))
			return;
		const p = place(e, on);
		spread = 0;
		if (fingers.size)
			return;
		if (start && moved && (kind === "select" || kind === "second")) {
			g.draft(null, false);
			if (!cancelled)
				g.select(range(p.x), kind === "second");
		} else if (start && !moved && !cancelled && kind !== "strip") {
			g.click(p.x, p.y);
		}
		start = null;
	};
	on.addEventListener("pointerup", (e) => end(e, false));
	on.addEventListener("pointercancel", (e) => end(e, true));
	on.addEventListener("pointerleave", () => g.hover(null, 0));
	on.addEventListener("dblclick", (e) => {
		const p = place(e, on);
		g.double(p.x, p.y);
	});
}
