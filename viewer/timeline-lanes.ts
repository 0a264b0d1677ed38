// SPDX-License-Identifier: MIT
/*
 * An answer of the engine to `lanes` or `cpus`, and its picture.
 *
 * The answer has, for each lane, runs of equal columns; a column holds classes with the shares of
 * its time, so that what is narrower than a pixel is seen in its true proportions. The picture is
 * painted once, one device pixel a column, with the shares stacked from the bottom up; a frame then
 * only copies it: at its own scale if the view still fits it, else stretched until a better answer
 * arrives.
 */
import { BLACKOUT, color, hatched, rgb, stackOrder } from "./palette";

const FULL = 65535;
const LABEL_COLUMNS = 28; /* narrower runs have no room for words */
const HATCH = 6;
const sorted = new Uint32Array(256);

/** One class through many columns: wide enough that its name fits. */
export interface WideRun {
	first: number;
	columns: number;
	cls: number;
}

interface Lane {
	runs: Uint32Array; /* word offsets of its runs in the answer, in order */
	wide: WideRun[];
	painted: boolean;
}

export interface LanesQuery {
	ids: number[];
	from: number;
	to: number;
	columns: number;
}

export interface Share {
	cls: number;
	share: number; /* of the column's time, 0..1 */
}

export class Lanes {
	readonly perColumn: number;
	private words: Uint32Array;
	private lanes: Lane[] = [];
	private rows = new Map<number, number>();
	private picture: HTMLCanvasElement;
	private context: CanvasRenderingContext2D;

	constructor(
		answer: ArrayBuffer,
		readonly query: LanesQuery,
		private height: number,
	) {
		this.perColumn = (query.to - query.from) / query.columns;
		this.words = new Uint32Array(answer, 0, answer.byteLength >> 2);
		query.ids.forEach((id, row) => this.rows.set(id, row));
		this.index();
		this.picture = takeCanvas(query.columns, Math.max(1, height * this.lanes.length));
		this.context = this.picture.getContext("2d")!;
	}

	/** It will not be drawn again. */
	release(): void {
		spare.push(this.picture);
	}

	has(id: number): boolean {
		return this.rows.has(id);
	}

	/** Paints lanes that are about to be drawn. */
	prepare(ids: number[]): void {
		let first = Infinity;
		let last = -1;
		for (const id of ids) {
			const row = this.rows.get(id);
			if (row === undefined || this.lanes[row].painted)
				continue;
			first = Math.min(first, row);
			last = Math.max(last, row);
		}
		if (last >= first)
			this.paint(first, last - first + 1);
	}

	/** Draws what lies between two times of a lane into a rectangle of the target. */
	draw(target: CanvasRenderingContext2D, id: number, view: { from: number; to: number }, width: number,
		y: number, h: number): void {
		const row = this.rows.get(id);
		if (row === undefined)
			return;
		const { query, perColumn } = this;
		const perPixel = (view.to - view.from) / width;
		const left = (query.from - view.from) / perPixel;
		/* At the same scale, whole pixels: nothing shimmers when the view is dragged. */
		if (Math.abs(perColumn / perPixel - 1) * width < 0.5) {
			target.drawImage(this.picture, 0, row * this.height, query.columns, this.height,
				Math.round(left), y, query.columns, h);
			return;
		}
		const scale = perColumn / perPixel;
		const first = Math.max(0, Math.floor(-left / scale));
		const last = Math.min(query.columns, Math.ceil((width - left) / scale));
		if (last > first)
			target.drawImage(this.picture, first, row * this.height, last - first, this.height,
				left + first * scale, y, (last - first) * scale, h);
	}

	wideRuns(id: number): WideRun[] {
		const row = this.rows.get(id);
		return row === undefined ? [] : this.lanes[row].wide;
	}

	/** What a lane did in the column at a time: nothing if the answer does not reach there. */
	at(id: number, ts: number): Share[] | null {
		const row = this.rows.get(id);
		const column = Math.floor((ts - this.query.from) / this.perColumn);
		if (row === undefined || column < 0 || column >= this.query.columns)
			return null;
		const { runs } = this.lanes[row];
		let low = 0;
		let high = runs.length - 1;
		while (low < high) {
			const mid = (low + high + 1) >> 1;
			if (this.words[runs[mid]] <= column)
				low = mid;
			else
				high = mid - 1;
		}
		const at = runs[low];
		if (at === undefined || column < this.words[at] || column >= this.words[at] + this.words[at + 1])
			return [];
		return this.shares(at).map((s) => ({ cls: s.cls, share: s.share / FULL }));
	}

	/** The times between which a column lies. */
	column(ts: number): { from: number; to: number } {
		const n = Math.floor((ts - this.query.from) / this.perColumn);
		const from = this.query.from + n * this.perColumn;
		return { from: Math.round(from), to: Math.round(from + this.perColumn) };
	}

	/** The colours have changed. */
	repaint(): void {
		for (const lane of this.lanes)
			lane.painted = false;
	}

	/* Puts a run's words into `sorted`, the bottom one first: hot, so without garbage. */
	private stack(at: number): number {
		const n = Math.min(this.words[at + 2], sorted.length);
		for (let i = 0; i < n; i++) {
			const word = this.words[at + 3 + i];
			const place = stackOrder(word & 255);
			let k = i;
			for (; k > 0 && stackOrder(sorted[k - 1] & 255) > place; k--)
				sorted[k] = sorted[k - 1];
			sorted[k] = word;
		}
		return n;
	}

	private shares(at: number): { cls: number; share: number }[] {
		const n = this.words[at + 2];
		const list = [];
		for (let i = 0; i < n; i++) {
			const word = this.words[at + 3 + i];
			list.push({ cls: word & 255, share: word >>> 8 });
		}
		return list;
	}

	private index(): void {
		const { words, query } = this;
		let at = 0;
		for (let lane = 0; lane < query.ids.length; lane++) {
			const n = at < words.length ? words[at++] : 0;
			const runs = new Uint32Array(n);
			const wide: WideRun[] = [];
			for (let i = 0; i < n; i++) {
				runs[i] = at;
				const segments = words[at + 2];
				if (segments === 1 && words[at + 1] >= LABEL_COLUMNS && words[at + 3] >>> 8 >= FULL)
					wide.push({ first: words[at], columns: words[at + 1], cls: words[at + 3] & 255 });
				at += 3 + segments;
			}
			this.lanes.push({ runs, wide, painted: false });
		}
	}

	/*
	 * Paints rows that lie together, and writes them into the picture at once: each writing after a
	 * drawing makes the browser copy the whole of it.
	 */
	private paint(first: number, rows: number): void {
		const { height } = this;
		const { columns } = this.query;
		const image = takeImage(columns, rows * height);
		for (let row = 0; row < rows; row++) {
			const start = row * height * columns;
			const pixels = new Uint32Array(image.data.buffer, start * 4, height * columns);
			this.paintLane(this.lanes[first + row], pixels);
		}
		this.context.putImageData(image, 0, first * height);
	}

	private paintLane(lane: Lane, pixels: Uint32Array): void {
		const { words, height } = this;
		const { columns } = this.query;
		lane.painted = true;
		for (let i = 0; i < lane.runs.length; i++) {
			const at = lane.runs[i];
			const first = words[at];
			const end = Math.min(columns, first + words[at + 1]);
			if (words[at + 2] === 1 && words[at + 3] >>> 8 >= FULL) {
				fill(pixels, columns, first, end, 0, height, words[at + 3] & 255);
				continue;
			}
			const n = this.stack(at);
			let sum = 0;
			let bottom = height;
			for (let k = 0; k < n; k++) {
				sum += sorted[k] >>> 8;
				const top = height - Math.round((Math.min(sum, FULL) / FULL) * height);
				fill(pixels, columns, first, end, top, bottom, sorted[k] & 255);
				bottom = top;
			}
		}
	}
}

/* Answers come many times a second while one zooms: what they are painted with is used again. */
const spare: HTMLCanvasElement[] = [];
let scratch: ImageData | null = null;

function takeCanvas(width: number, height: number): HTMLCanvasElement {
	const canvas = spare.pop() ?? document.createElement("canvas");
	if (canvas.width < width)
		canvas.width = width;
	if (canvas.height < height)
		canvas.height = height;
	return canvas;
}

function takeImage(width: number, height: number): ImageData {
	if (!scratch || scratch.width !== width || scratch.height !== height)
		scratch = new ImageData(width, height);
	else
		scratch.data.fill(0);
	return scratch;
}

/** What is drawn in a column at a height above its bottom, 0..1. */
export function classAt(shares: Share[], height: number): number {
	const list = [...shares].sort((a, b) => stackOrder(a.cls) - stackOrder(b.cls));
	let sum = 0;
	for (const s of list) {
		sum += s.share;
		if (height <= sum)
			return s.cls;
	}
	return list[list.length - 1].cls;
}

function fill(pixels: Uint32Array, stride: number, left: number, right: number, top: number,
	bottom: number, cls: number): void {
	const value = pixel(cls);
	if (hatched(cls)) {
		const other = cls === BLACKOUT ? 0xff000000 : 0;
		for (let y = top; y < bottom; y++)
			for (let x = left; x < right; x++)
				pixels[y * stride + x] = (x + y) % HATCH < HATCH / 2 ? value : other;
		return;
	}
	for (let y = top; y < bottom; y++) {
		const start = y * stride + left;
		if (right - left < 8)
			for (let x = 0; x < right - left; x++)
				pixels[start + x] = value;
		else
			pixels.fill(value, start, start + right - left);
	}
}

const cache = new Map<string, number>();

function pixel(cls: number): number {
	const hex = color(cls);
	let value = cache.get(hex);
	if (value === undefined) {
		const [r, g, b] = rgb(hex);
		value = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
		cache.set(hex, value);
	}
	return value;
}
