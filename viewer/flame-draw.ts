// SPDX-License-Identifier: MIT
/*
 * Draws the visible part of a flame graph. The root is the top row; callees hang below.
 *
 * Rows are sorted, so only what lies within the view is looked at, and neighbours that are narrower
 * than a pixel are drawn together: the cost depends on the pixels, not on the nodes. What is drawn
 * together is drawn grey, because no colour would be true for all of it.
 */
import { FlameTree, nodeName, rowRange } from "./flame-data";
import { Matches } from "./flame-search";

export const ROW = 19;
const LEAST_TEXT = 22;
const PAD = 4;

export interface FlameColours {
	fill(node: number): string;
	text(node: number): string;
	small: string;
	focus: string;
	hover: string;
	mark: string;
}

export interface FlameView {
	/* The stretch of the whole (0..1) that fills the width. */
	from: number;
	to: number;
	/* In CSS pixels. */
	top: number;
	width: number;
	height: number;
	cursor: number;
	hover: number;
	matches: Matches | null;
	label(node: number): string;
}

const widths = new Map<string, number>();

function textWidth(ctx: CanvasRenderingContext2D, text: string): number {
	const key = ctx.font + text;
	let width = widths.get(key);
	if (width === undefined) {
		if (widths.size > 20000)
			widths.clear();
		width = ctx.measureText(text).width;
		widths.set(key, width);
	}
	return width;
}

/* The text, shortened at its end to fit, or "" where not even a few characters do. */
export function fitText(ctx: CanvasRenderingContext2D, text: string, space: number): string {
	const width = textWidth(ctx, text);
	if (width <= space)
		return text;
	let chars = Math.floor((text.length * (space - 8)) / width);
	while (chars > 1 && textWidth(ctx, text.slice(0, chars) + "…") > space)
		chars--;
	return chars > 1 ? text.slice(0, chars) + "…" : "";
}

export function drawFlame(ctx: CanvasRenderingContext2D, tree: FlameTree, view: FlameView,
			  colours: FlameColours, fonts: { plain: string; kernel: string }): void {
	const scale = view.width / (view.to - view.from || 1);
	const firstRow = Math.max(0, Math.floor(view.top / ROW));
	const lastRow = Math.min(tree.rows.length - 1, Math.floor((view.top + view.height) / ROW));

	ctx.clearRect(0, 0, view.width, view.height);
	ctx.textBaseline = "middle";
	for (let depth = firstRow; depth <= lastRow; depth++) {
		const row = tree.rows[depth]!;
		const y = depth * ROW - view.top;
		const [first, last] = rowRange(tree, row, view.from, view.to);
		let smallFrom = -1;
		let smallTo = -1;

		const flushSmall = () => {
			if (smallFrom < 0)
				return;
			ctx.globalAlpha = view.matches ? 0.4 : 1;
			ctx.fillStyle = colours.small;
			ctx.fillRect(smallFrom, y, Math.max(1, smallTo - smallFrom), ROW - 1);
			ctx.globalAlpha = 1;
			smallFrom = -1;
		};

		for (let k = first; k < last; k++) {
			const node = row[k]!;
			const start = (tree.start[node]! - view.from) * scale;
			const left = Math.max(0, start);
			const right = Math.min(view.width, start + tree.size[node]! * scale);
			if (right - left < 1.5) {
				if (smallFrom >= 0 && left - smallTo > 1)
					flushSmall();
				if (smallFrom < 0)
					smallFrom = left;
				smallTo = right;
				continue;
			}
			flushSmall();
			drawNode(ctx, tree, view, colours, fonts, node, left, right - left, y);
		}
		flushSmall();
	}
	outline(ctx, tree, view, view.hover, colours.hover, 1, scale);
	outline(ctx, tree, view, view.cursor, colours.focus, 2, scale);
}

function drawNode(ctx: CanvasRenderingContext2D, tree: FlameTree, view: FlameView,
		  colours: FlameColours, fonts: { plain: string; kernel: string }, node: number,
		  x: number, width: number, y: number): void {
	const hit = view.matches ? view.matches.hit[node]! === 1 : true;

	ctx.globalAlpha = hit || node === 0 ? 1 : 0.3;
	ctx.fillStyle = colours.fill(node);
	ctx.fillRect(x, y, width - 1, ROW - 1);
	ctx.globalAlpha = hit || node === 0 ? 1 : 0.55;
	if (tree.inlined[node]! && width > 6) {
		/* A broken line below marks an inlined function, which has no frame of its own. */
		ctx.globalAlpha *= 0.45;
		ctx.fillStyle = colours.text(node);
		for (let dash = x + 2; dash < x + width - 3; dash += 4)
			ctx.fillRect(dash, y + ROW - 3, Math.min(2, x + width - 2 - dash), 1);
		ctx.globalAlpha = hit || node === 0 ? 1 : 0.55;
	}
	if (view.matches && hit && node !== 0) {
		ctx.fillStyle = colours.mark;
		ctx.fillRect(x, y, width - 1, 2);
	}
	if (width >= LEAST_TEXT) {
		ctx.font = tree.kernel[node]! ? fonts.kernel : fonts.plain;
		const text = fitText(ctx, view.label(node), width - 2 * PAD - 1);
		if (text) {
			ctx.fillStyle = colours.text(node);
			ctx.fillText(text, x + PAD, y + ROW / 2);
		}
	}
	ctx.globalAlpha = 1;
}

function outline(ctx: CanvasRenderingContext2D, tree: FlameTree, view: FlameView, node: number,
		 colour: string, line: number, scale: number): void {
	if (node < 0 || node >= tree.n)
		return;
	const y = tree.depth[node]! * ROW - view.top;
	const start = (tree.start[node]! - view.from) * scale;
	const left = Math.max(0, start);
	const right = Math.min(view.width, start + tree.size[node]! * scale);
	if (right < left || y > view.height || y < -ROW)
		return;
	ctx.strokeStyle = colour;
	ctx.lineWidth = line;
	ctx.strokeRect(left + line / 2, y + line / 2, Math.max(2, right - left - 1 - line),
		       ROW - 1 - line);
}

/* What a node is called on the screen: kernel and inlined code say so where there is no colour. */
export function plainLabel(tree: FlameTree, node: number): string {
	return node === 0 ? "all" : nodeName(tree, node);
}
