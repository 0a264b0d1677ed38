// SPDX-License-Identifier: MIT
/*
 * The ruler above the lanes: ticks whose distance follows the zoom, a strip of the whole recording
 * that shows where the view is, and the stalls.
 */
import type { Info, Range } from "./page";
import { clock, since } from "./util";

export const AXIS_HEIGHT = 54;
export const STRIP_HEIGHT = 10; /* at the top: the whole recording */
const TICK_TOP = STRIP_HEIGHT + 2;
export const MARK_HEIGHT = 8; /* at the bottom: stalls */
const LABEL_ROOM = 96; /* px between two ticks with words */

const LONG_STEPS = [10, 20, 30, 60, 120, 300, 600, 1800, 3600, 7200, 14400, 43200, 86400];

export function tickStep(perPixel: number): number {
	const least = perPixel * LABEL_ROOM;
	if (least > 5e9)
		return (LONG_STEPS.find((s) => s * 1e9 >= least) ?? 86400) * 1e9;
	const ten = 10 ** Math.floor(Math.log10(Math.max(1, least)));
	return [1, 2, 5, 10].map((m) => m * ten).find((s) => s >= least) ?? 10 * ten;
}

export function ticks(view: Range, width: number): { step: number; at: number[] } {
	const step = tickStep((view.to - view.from) / width);
	const at = [];
	for (let i = Math.ceil(view.from / step); i * step <= view.to; i++)
		at.push(i * step);
	return { step, at };
}

export interface AxisColors {
	ink: string;
	faint: string;
	line: string;
	strip: string;
	accent: string;
	second: string;
	stall: string;
}

export interface AxisPicture {
	view: Range;
	whole: number;
	width: number;
	sel: Range | null;
	sel2: Range | null;
	stall: number | null;
	hover: number | null; /* a time */
	font: string;
	colors: AxisColors;
}

function span(start: number, end: number, view: Range, width: number): [number, number] {
	const per = (view.to - view.from) / width;
	const x = (start - view.from) / per;
	return [x, Math.max(2, (end - start) / per)];
}

export function drawAxis(g: CanvasRenderingContext2D, info: Info, p: AxisPicture): void {
	const { view, width, colors } = p;
	const per = (view.to - view.from) / width;
	g.clearRect(0, 0, width, AXIS_HEIGHT);

	/* The whole recording, and the part in sight. */
	const all = { from: 0, to: p.whole };
	g.fillStyle = colors.strip;
	g.fillRect(0, 1, width, STRIP_HEIGHT - 3);
	const [vx, vw] = span(view.from, view.to, all, width);
	g.globalAlpha = 0.28;
	g.fillStyle = colors.accent;
	g.fillRect(vx, 1, Math.max(4, vw), STRIP_HEIGHT - 3);
	g.globalAlpha = 1;
	g.fillStyle = colors.stall;
	for (const s of info.stalls) {
		const [x, w] = span(s.start, s.start + s.ns, all, width);
		g.fillRect(x, 3, w, STRIP_HEIGHT - 7);
	}

	const { step, at } = ticks(view, width);
	g.font = p.font;
	g.textBaseline = "middle";
	for (const ts of at) {
		const x = Math.round((ts - view.from) / per);
		g.fillStyle = colors.line;
		g.fillRect(x, TICK_TOP, 1, AXIS_HEIGHT - TICK_TOP);
		g.fillStyle = colors.ink;
		const words = since(ts, step);
		if (x + 5 + g.measureText(words).width < width)
			g.fillText(words, x + 5, TICK_TOP + 9);
		const day = info.begin_unix_ns ? clock(info, ts, step >= 1e9 ? 0 : step >= 1e6 ? 3 : 6) : "";
		g.fillStyle = colors.faint;
		if (x + 5 + g.measureText(day).width < width)
			g.fillText(day, x + 5, TICK_TOP + 21);
		g.fillStyle = colors.line;
		for (let i = 1; i < 5; i++) {
			const minor = Math.round((ts + (step * i) / 5 - view.from) / per);
			g.fillRect(minor, AXIS_HEIGHT - MARK_HEIGHT - 4, 1, 4);
		}
	}

	for (const [range, color] of [[p.sel, colors.accent], [p.sel2, colors.second]] as const) {
		if (!range)
			continue;
		const [x, w] = span(range.from, range.to, view, width);
		g.fillStyle = color;
		g.globalAlpha = 0.18;
		g.fillRect(x, TICK_TOP, w, AXIS_HEIGHT - TICK_TOP);
		g.globalAlpha = 1;
	}
	info.stalls.forEach((s, i) => {
		const [x, w] = span(s.start, s.start + s.ns, view, width);
		if (x > width || x + w < 0)
			return;
		g.fillStyle = colors.stall;
		g.globalAlpha = p.stall === null || p.stall === i ? 1 : 0.45;
		g.fillRect(x, AXIS_HEIGHT - MARK_HEIGHT + 1, w, MARK_HEIGHT - 2);
		g.globalAlpha = 1;
	});
	if (p.hover !== null) {
		g.fillStyle = colors.ink;
		g.fillRect(Math.round((p.hover - view.from) / per), TICK_TOP, 1, AXIS_HEIGHT - TICK_TOP);
	}
}

/** The stall whose mark is at a place of the axis. */
export function stallAt(info: Info, view: Range, width: number, x: number, y: number): number | null {
	if (y < AXIS_HEIGHT - MARK_HEIGHT - 2)
		return null;
	const near = info.stalls
		.map((s, i) => ({ i, box: span(s.start, s.start + s.ns, view, width) }))
		.filter(({ box }) => x >= box[0] - 3 && x <= box[0] + box[1] + 3)
		.sort((a, b) => a.box[1] - b.box[1]);
	return near.length ? near[0].i : null;
}
