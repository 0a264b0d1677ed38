// SPDX-License-Identifier: MIT
/*
 * A heatmap's cells: their values as the engine sends them, where they are on the screen, and what
 * colour they have. Cells are counted in the order of time: down a column, then the next.
 */
import type { Page, Range } from "./page";
import { color, isDark, rgb, RUNNING } from "./palette";
import { duration, since } from "./util";

export interface Heat {
	cols: number;
	rows: number;
	nsPerCol: number;
	nsPerRow: number;
	/* Samples, or microseconds of waiting. */
	values: Uint32Array;
	/* So many cells lie within the recording. */
	cells: number;
	most: number;
	kind: string;
}

export interface HeatPicture {
	left: number;
	width: number;
	height: number;
	marked: [Range | null, string][];
	cursor: number;
	anchor: number;
	ink: string;
}

export function makeHeat(bytes: ArrayBuffer, durationNs: number, kind: string): Heat {
	const head = new DataView(bytes);
	const cols = head.getUint32(0, true);
	const rows = head.getUint32(4, true);
	const nsPerCol = Number(head.getBigUint64(8, true));
	const nsPerRow = Number(head.getBigUint64(16, true));
	const values = new Uint32Array(bytes, 24, cols * rows);
	return {
		cols, rows, nsPerCol, nsPerRow, values, kind,
		cells: Math.min(cols * rows, cellOf({ rows, nsPerCol, nsPerRow } as Heat,
			Math.max(0, durationNs - 1)) + 1),
		most: values.reduce((most, v) => Math.max(most, v), 0),
	};
}

export function cellRange(heat: Heat, a: number, b: number, durationNs: number): Range {
	const first = Math.min(a, b);
	const last = Math.max(a, b);
	return {
		from: timeOf(heat, first),
		to: Math.min(durationNs, timeOf(heat, last + 1)),
	};
}

/* When a cell begins; the last of a column may be shorter than the others. */
function timeOf(heat: Heat, cell: number): number {
	const row = cell % heat.rows;
	return Math.floor(cell / heat.rows) * heat.nsPerCol +
		Math.min(row * heat.nsPerRow, heat.nsPerCol);
}

function cellOf(heat: Heat, ts: number): number {
	const col = Math.floor(ts / heat.nsPerCol);
	return col * heat.rows + Math.floor((ts - col * heat.nsPerCol) / heat.nsPerRow);
}

export function cellAt(heat: Heat, x: number, y: number, width: number, height: number): number {
	const col = Math.floor((x / width) * heat.cols);
	const row = Math.floor((y / height) * heat.rows);
	if (col < 0 || col >= heat.cols || row < 0 || row >= heat.rows)
		return -1;
	const cell = col * heat.rows + row;
	return cell < heat.cells ? cell : -1;
}

/* From the background's grey to the full colour of what is counted; small values are lifted. */
export function heatColours(heat: Heat, page: Page): (value: number) => string {
	const reason = page.info.reasons.find((r) => `reason:${r.name}` === heat.kind);
	const full = rgb(heat.kind === "samples" ? color(RUNNING) : reason ? color(reason.id)
		: color(11));
	const none = rgb(isDark() ? "#20252c" : "#f0f2f5");
	/* The last step goes beyond the colour, towards the ink: the hottest cells stand out. */
	const peak = isDark() ? [255, 244, 214] as const : [40, 16, 8] as const;
	return (value) => {
		if (!value)
			return `rgb(${none.join(" ")})`;
		const t = 0.12 + 0.88 * Math.sqrt(value / (heat.most || 1));
		const [from, to, s] = t < 0.75 ? [none, full, t / 0.75]
			: [full, peak, ((t - 0.75) / 0.25) * 0.55];
		return `rgb(${[0, 1, 2].map((i) => Math.round(from[i]! + (to[i]! - from[i]!) * s)).join(" ")})`;
	};
}

/* The outline of a stretch of cells, column by column. */
function outline(ctx: CanvasRenderingContext2D, heat: Heat, p: HeatPicture, from: number,
	to: number,
		 colour: string): void {
	const w = p.width / heat.cols;
	const h = p.height / heat.rows;
	const firstCol = Math.floor(from / heat.rows);
	const lastCol = Math.floor(to / heat.rows);
	ctx.fillStyle = colour;
	for (let col = firstCol; col <= lastCol && col < heat.cols; col++) {
		const top = col === firstCol ? from % heat.rows : 0;
		const bottom = col === lastCol ? (to % heat.rows) + 1 : heat.rows;
		const x = p.left + col * w;
		ctx.globalAlpha = 0.22;
		ctx.fillRect(x, top * h, w, (bottom - top) * h);
		ctx.globalAlpha = 1;
		/* Edges only where the neighbour is not in it. */
		const line = 2;
		ctx.fillRect(x, top * h, w, line);
		ctx.fillRect(x, bottom * h - line, w, line);
		if (col === firstCol)
			ctx.fillRect(x, top * h, line, (bottom - top) * h);
		else if (col === firstCol + 1)
			ctx.fillRect(x, top * h, line, (from % heat.rows) * h);
		if (col === lastCol)
			ctx.fillRect(x + w - line, top * h, line, (bottom - top) * h);
		else if (col === lastCol - 1)
			ctx.fillRect(x + w - line, ((to % heat.rows) + 1) * h, line,
				     (heat.rows - (to % heat.rows) - 1) * h);
	}
}

function drawAxes(ctx: CanvasRenderingContext2D, heat: Heat, p: HeatPicture): void {
	const w = p.width / heat.cols;
	ctx.fillStyle = p.ink;
	ctx.font = "11px system-ui, sans-serif";
	ctx.textBaseline = "middle";
	ctx.textAlign = "right";
	for (const part of [0, 0.2, 0.4, 0.6, 0.8])
		ctx.fillText(duration(heat.nsPerCol * part).replace(/^0ns$/, "0"), p.left - 6,
			     Math.max(7, part * p.height));
	ctx.textAlign = "left";
	ctx.textBaseline = "alphabetic";
	let free = 0;
	for (let col = 0; col < heat.cols; col++) {
		const x = p.left + col * w;
		const text = since(col * heat.nsPerCol, heat.nsPerCol);
		if (x < free || x + ctx.measureText(text).width > p.left + p.width)
			continue;
		ctx.fillText(text, x, p.height + 14);
		free = x + ctx.measureText(text).width + 24;
	}
}

export function drawHeat(ctx: CanvasRenderingContext2D, heat: Heat, p: HeatPicture,
			 colour: (value: number) => string): void {
	const w = p.width / heat.cols;
	const h = p.height / heat.rows;
	/* A gap between cells only where they are large enough to have one. */
	const gap = w >= 6 && h >= 4 ? 1 : 0;
	for (let cell = 0; cell < heat.cells; cell++) {
		const x = p.left + Math.floor(cell / heat.rows) * w;
		const y = (cell % heat.rows) * h;
		ctx.fillStyle = colour(heat.values[cell]!);
		ctx.fillRect(x, y, w - gap + (gap ? 0 : 0.5), h - gap + (gap ? 0 : 0.5));
	}
	drawAxes(ctx, heat, p);
	for (const [range, line] of p.marked)
		if (range)
			outline(ctx, heat, p, cellOf(heat, range.from),
				Math.min(heat.cells - 1,
					cellOf(heat, Math.max(range.from, range.to - 1))), line);
	if (p.cursor >= 0)
		outline(ctx, heat, p, Math.min(p.cursor, p.anchor < 0 ? p.cursor : p.anchor),
			Math.max(p.cursor, p.anchor), p.ink);
}
