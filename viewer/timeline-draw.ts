// SPDX-License-Identifier: MIT
/*
 * One frame of the lanes: pictures of answers, words where they fit, and over them what is chosen:
 * the selection, the interval in focus, its links to other lanes. Pure drawing: all it needs comes
 * in the scene, and it is called only when something has changed.
 */
import { mainHolders, type Focus, type Interval } from "./focus";
import type { Page, Range } from "./page";
import { BLACKOUT, className, color, inkOn, pale } from "./palette";
import { ticks } from "./timeline-axis";
import type { Row, Rows } from "./timeline-rows";
import type { Source, Wanted } from "./timeline-source";

export const LANE_PAD = 2;

export interface Colors {
	bg: string;
	band: string;
	line: string;
	ink: string;
	faint: string;
	accent: string;
	second: string; /* of the range that one compares with */
	stall: string;
	font: string;
}

export interface Scene {
	page: Page;
	view: Range;
	width: number; /* CSS pixels */
	height: number;
	dpr: number;
	top: number; /* how far the lanes are scrolled */
	rows: Rows;
	visible: Row[];
	threads: { source: Source; wanted: Wanted };
	cpus: { source: Source; wanted: Wanted };
	only: Set<number> | null;
	sel: Range | null;
	sel2: Range | null;
	focus: Focus;
	lane: number | null; /* the thread under the pointer */
	hover: number | null;
	colors: Colors;
}

export function drawScene(g: CanvasRenderingContext2D, s: Scene): void {
	g.setTransform(s.dpr, 0, 0, s.dpr, 0, 0);
	g.fillStyle = s.colors.bg;
	g.fillRect(0, 0, s.width, s.height);
	drawGround(g, s);
	s.threads.source.prepare(s.threads.wanted);
	s.cpus.source.prepare(s.cpus.wanted);
	g.setTransform(1, 0, 0, 1, 0, 0);
	g.imageSmoothingEnabled = false;
	for (const row of s.visible)
		drawLane(g, s, row);
	g.setTransform(s.dpr, 0, 0, s.dpr, 0, 0);
	drawWords(g, s);
	drawBlackouts(g, s);
	drawSelection(g, s);
	for (const i of [s.focus.origin, s.focus.interval])
		if (i) {
			drawFocus(g, s, i);
			drawLinks(g, s, i);
		}
	if (s.hover !== null) {
		g.fillStyle = s.colors.ink;
		g.globalAlpha = 0.5;
		g.fillRect(Math.round(xOf(s, s.hover)), 0, 1, s.height);
		g.globalAlpha = 1;
	}
}

export function xOf(s: { view: Range; width: number }, ts: number): number {
	return ((ts - s.view.from) / (s.view.to - s.view.from)) * s.width;
}

function drawGround(g: CanvasRenderingContext2D, s: Scene): void {
	for (const row of s.visible) {
		const y = row.y - s.top;
		if (row.kind === "process" || row.kind === "cpus") {
			g.fillStyle = s.colors.band;
			g.fillRect(0, y, s.width, row.h);
		} else if (row.kind === "thread" && row.thread.index === s.lane) {
			g.fillStyle = s.colors.band;
			g.fillRect(0, y, s.width, row.h);
		}
	}
	g.fillStyle = s.colors.line;
	for (const ts of ticks(s.view, s.width).at)
		g.fillRect(Math.round(xOf(s, ts)), 0, 1, s.height);
}

function drawLane(g: CanvasRenderingContext2D, s: Scene, row: Row): void {
	if (row.kind !== "thread" && row.kind !== "cpu")
		return;
	const { source, wanted } = row.kind === "thread" ? s.threads : s.cpus;
	const id = row.kind === "thread" ? row.thread.index : row.cpu;
	const y = Math.round((row.y - s.top + LANE_PAD) * s.dpr);
	const h = wanted.height;
	if (row.kind === "cpu") {
		/* The CPU may have run no recorded thread: its lane is still there. */
		g.fillStyle = s.colors.band;
		g.fillRect(0, y, wanted.width, h);
	}
	if (s.only && row.kind === "thread" && !s.only.has(id))
		g.globalAlpha = 0.3;
	const layers = source.layers(id, wanted);
	layers.forEach((lanes, i) => {
		if (i > 0) {
			/* A finer answer replaces a coarser one, gaps included. */
			const per = (s.view.to - s.view.from) / wanted.width;
			const from = Math.max(0, (lanes.query.from - s.view.from) / per);
			const to = Math.min(wanted.width, (lanes.query.to - s.view.from) / per);
			g.clearRect(from, y, to - from, h);
		}
		lanes.draw(g, id, s.view, wanted.width, y, h);
	});
	g.globalAlpha = 1;
}

/* The name of what a thread does, inside of the stretches that are wide enough. */
function drawWords(g: CanvasRenderingContext2D, s: Scene): void {
	g.font = s.colors.font;
	g.textBaseline = "middle";
	for (const row of s.visible) {
		if (row.kind !== "thread" || (s.only && !s.only.has(row.thread.index)))
			continue;
		const layers = s.threads.source.layers(row.thread.index, s.threads.wanted);
		const lanes = layers[layers.length - 1];
		if (!lanes)
			continue;
		for (const run of lanes.wideRuns(row.thread.index)) {
			const start = lanes.query.from + run.first * lanes.perColumn;
			const x = Math.max(0, xOf(s, start));
			const end = Math.min(s.width, xOf(s, start + run.columns * lanes.perColumn));
			const words = className(s.page, run.cls);
			if (end - x < g.measureText(words).width + 10)
				continue;
			g.fillStyle = pale(run.cls) ? s.colors.faint : inkOn(color(run.cls));
			g.fillText(words, x + 5, row.y - s.top + row.h / 2 + 0.5);
		}
	}
}

function drawBlackouts(g: CanvasRenderingContext2D, s: Scene): void {
	for (const b of s.page.info.blackouts) {
		const x = xOf(s, b.start);
		const end = xOf(s, b.start + b.ns);
		if (end < 0 || x > s.width)
			continue;
		g.save();
		g.beginPath();
		g.rect(x, 0, Math.max(2, end - x), s.height);
		g.clip();
		g.fillStyle = s.colors.bg;
		g.globalAlpha = 0.7;
		g.fillRect(x, 0, Math.max(2, end - x), s.height);
		g.globalAlpha = 1;
		g.strokeStyle = color(BLACKOUT);
		g.globalAlpha = 0.5;
		g.lineWidth = 1;
		g.beginPath();
		const first = Math.max(x, 0) - s.height;
		for (let i = first - (first % 9); i < Math.min(end, s.width) + 2; i += 9) {
			g.moveTo(i, s.height);
			g.lineTo(i + s.height, 0);
		}
		g.stroke();
		g.restore();
	}
}

/* Dims what is not selected, and draws the edges of each selected range. */
function drawSelection(g: CanvasRenderingContext2D, s: Scene): void {
	const ranges = [{ range: s.sel, color: s.colors.accent }, { range: s.sel2, color: s.colors.second }]
		.flatMap(({ range, color }) => (range ? [{ x: xOf(s, range.from), end: xOf(s, range.to), color }] : []))
		.sort((a, b) => a.x - b.x);
	if (!ranges.length)
		return;
	g.fillStyle = s.colors.bg;
	g.globalAlpha = 0.5;
	let left = 0;
	for (const { x, end } of [...ranges, { x: s.width, end: s.width }]) {
		if (x > left)
			g.fillRect(left, 0, Math.min(x, s.width) - left, s.height);
		left = Math.max(left, end);
	}
	g.globalAlpha = 1;
	for (const { x, end, color } of ranges) {
		g.fillStyle = color;
		g.fillRect(Math.round(x) - 1, 0, 1, s.height);
		g.fillRect(Math.round(end), 0, 1, s.height);
	}
}

function drawFocus(g: CanvasRenderingContext2D, s: Scene, i: Interval): void {
	const row = s.rows.find(i.thread);
	if (!row)
		return;
	const x = xOf(s, i.start);
	const w = Math.max(3, xOf(s, i.end) - x);
	const y = row.y - s.top + LANE_PAD - 1.5;
	g.lineWidth = 4;
	g.strokeStyle = s.colors.bg;
	g.strokeRect(x - 1, y, w + 2, row.h - 2 * LANE_PAD + 3);
	g.lineWidth = 2;
	g.strokeStyle = s.colors.ink;
	g.strokeRect(x - 1, y, w + 2, row.h - 2 * LANE_PAD + 3);
}

/* From the waker to the end of the wait, and from the wait to its lock's holders. */
function drawLinks(g: CanvasRenderingContext2D, s: Scene, i: Interval): void {
	const here = s.rows.find(i.thread);
	if (!here)
		return;
	const middle = (row: Row) => row.y - s.top + row.h / 2;
	for (const h of mainHolders(i)) {
		const row = h.thread === null ? null : s.rows.find(h.thread);
		if (!row || row === here)
			continue;
		const from = Math.max(h.start, i.start);
		const to = Math.min(h.end, i.end);
		const x = xOf(s, (Math.max(from, s.view.from) + Math.min(to, s.view.to)) / 2);
		const y = row.y - s.top + LANE_PAD - 1.5;
		g.setLineDash([4, 3]);
		outline(g, s, xOf(s, from), y, Math.max(3, xOf(s, to) - xOf(s, from)), row.h - 2 * LANE_PAD + 3);
		arrow(g, s, x, edge(here, row, s), x, edge(row, here, s));
		g.setLineDash([]);
	}
	const w = i.waker;
	const row = w && w.thread !== null ? s.rows.find(w.thread) : null;
	if (w && row && row !== here)
		arrow(g, s, xOf(s, w.ts), middle(row), xOf(s, i.end), edge(here, row, s));
}

/* The side of a row that looks towards another. */
function edge(row: Row, other: Row, s: Scene): number {
	return row.y - s.top + (other.y > row.y ? row.h - LANE_PAD : LANE_PAD);
}

function outline(g: CanvasRenderingContext2D, s: Scene, x: number, y: number, w: number, h: number): void {
	g.lineWidth = 2;
	g.strokeStyle = s.colors.ink;
	g.strokeRect(x, y, w, h);
}

function arrow(g: CanvasRenderingContext2D, s: Scene, x: number, y: number, toX: number, toY: number): void {
	const bend = Math.min(40, Math.abs(toX - x) / 2 + 8);
	const away = toY > y ? 1 : -1;
	for (const [width, style] of [[5, s.colors.bg], [2, s.colors.ink]] as const) {
		g.lineWidth = width;
		g.strokeStyle = style;
		g.beginPath();
		g.moveTo(x, y);
		g.bezierCurveTo(x + (toX === x ? 0 : bend), y + away * 12, toX, toY - away * 24, toX, toY - away * 5);
		g.stroke();
	}
	g.setLineDash([]);
	g.fillStyle = s.colors.ink;
	g.beginPath();
	g.moveTo(toX, toY);
	g.lineTo(toX - 5, toY - away * 8);
	g.lineTo(toX + 5, toY - away * 8);
	g.closePath();
	g.fill();
	g.beginPath();
	g.arc(x, y, 3.5, 0, 7);
	g.fill();
}
