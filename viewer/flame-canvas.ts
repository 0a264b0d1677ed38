// SPDX-License-Identifier: MIT
/*
 * The flame graph as a picture that a person can point at and walk in: pointer, keys, zoom. It
 * keeps no state of the page; flame.ts is told what was zoomed or pointed at.
 *
 * The box scrolls, the canvas in it stays where it is and is as large as what can be seen: deep
 * stacks cost nothing.
 */
import { CANVAS_FONT, makeSurface, type Surface } from "./canvas";
import { children, nodeUnder, type FlameTree } from "./flame-data";
import { drawFlame, plainLabel, ROW, type FlameColours } from "./flame-draw";
import type { Matches } from "./flame-search";
import { el } from "./util";

const ZOOM_MS = 160;
const MOST_ON_PAPER = 620;
const FONTS = { plain: CANVAS_FONT, kernel: `italic ${CANVAS_FONT}` };

export interface Spot {
	x: number;
	top: number;
	bottom: number;
}

export interface FlameEvents {
	zoom(node: number): void;
	/* Under the pointer (then `at` says where) or the keys' cursor; -1: nothing. */
	point(node: number, at: Spot | null): void;
	copy(node: number): void;
	escape(): void;
}

export class FlameCanvas {
	readonly box: HTMLElement;
	private space = el("div", { class: "flame-space" });
	private surface: Surface;
	private tree: FlameTree | null = null;
	private colours: FlameColours | null = null;
	private makeColours: ((tree: FlameTree) => FlameColours) | null = null;
	private matches: Matches | null = null;
	private zoomed = 0;
	private cursor = -1;
	private hover = -1;
	private from = 0;
	private to = 1;
	private animation = 0;

	constructor(private events: FlameEvents) {
		this.box = el("div", {
			class: "flame-box",
			tabindex: 0,
			role: "application",
			"aria-roledescription": "flame graph",
			"aria-label": "Flame graph. Arrow keys walk from call to call, Enter zooms, " +
				"Escape shows all, C copies the stack.",
			"aria-describedby": "flame-status",
			"data-test": "flame",
		});
		const frame = el("div", { class: "flame-frame" });
		this.surface = makeSurface(frame, "Flame graph", (ctx, s) => this.draw(ctx, s));
		frame.append(this.surface.canvas);
		this.box.append(frame, this.space);
		this.box.addEventListener("scroll", () => this.surface.redraw());
		this.box.addEventListener("pointermove", (e) => this.pointed(e));
		this.box.addEventListener("pointerleave", () => this.pointAt(-1, null));
		this.box.addEventListener("click", (e) => {
			const node = this.under(e);
			if (node < 0)
				return;
			this.cursor = node;
			this.events.zoom(node);
		});
		this.box.addEventListener("keydown", (e) => this.key(e));
		this.box.addEventListener("blur", () => this.surface.redraw());
		this.box.addEventListener("focus", () => this.surface.redraw());
		const fit = () => {
			frame.style.height = `${this.box.clientHeight}px`;
			this.reach();
		};
		new ResizeObserver(fit).observe(this.box);
		/* Paper does not scroll: it gets all rows, as far as a page goes. */
		const tall = (height: string) => {
			this.box.style.flex = height && "none";
			this.box.style.height = height;
			fit();
			this.surface.paint();
		};
		addEventListener("beforeprint", () => {
			const rows = this.tree?.rows.length ?? 0;
			if (this.box.clientHeight)
				tall(`${Math.min(MOST_ON_PAPER, rows * ROW)}px`);
		});
		addEventListener("afterprint", () => tall(""));
	}

	set(tree: FlameTree, makeColours: (tree: FlameTree) => FlameColours, zoomed: number): void {
		this.tree = tree;
		this.makeColours = makeColours;
		this.colours = null;
		this.cursor = -1;
		this.hover = -1;
		this.matches = null;
		this.zoomed = zoomed;
		cancelAnimationFrame(this.animation);
		this.from = tree.start[zoomed] ?? 0;
		this.to = this.from + (tree.size[zoomed] ?? 1);
		this.reach();
		this.surface.redraw();
	}

	mark(matches: Matches | null): void {
		this.matches = matches;
		this.surface.redraw();
	}

	zoomTo(node: number): void {
		if (!this.tree || node === this.zoomed)
			return;
		const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
		const begin = performance.now();
		const from0 = this.from;
		const to0 = this.to;
		const from1 = this.tree.start[node]!;
		const to1 = from1 + this.tree.size[node]!;
		this.zoomed = node;
		cancelAnimationFrame(this.animation);
		const step = (now: number) => {
			const t = still ? 1 : Math.min(1, Math.max(0, now - begin) / ZOOM_MS);
			const ease = 1 - (1 - t) ** 3;
			this.from = from0 + (from1 - from0) * ease;
			this.to = to0 + (to1 - to0) * ease;
			this.surface.redraw();
			if (t < 1)
				this.animation = requestAnimationFrame(step);
		};
		this.animation = requestAnimationFrame(step);
		this.show(node);
	}

	current(): number {
		return this.hover >= 0 ? this.hover : this.cursor;
	}

	/* The frame covers the box; the space below makes it scroll as far as the rows go. */
	private reach(): void {
		const rows = this.tree?.rows.length ?? 0;
		this.space.style.height = `${Math.max(0, rows * ROW - this.box.clientHeight)}px`;
	}

	private draw(ctx: CanvasRenderingContext2D, surface: Surface): void {
		const tree = this.tree;
		if (!tree || !this.makeColours)
			return;
		/* Made anew for each picture: the scheme may have changed, and it costs little. */
		this.colours = this.makeColours(tree);
		drawFlame(ctx, tree, {
			from: this.from,
			to: this.to,
			top: this.box.scrollTop,
			width: surface.width,
			height: surface.height,
			cursor: document.activeElement === this.box ? this.cursor : -1,
			hover: this.hover,
			matches: this.matches,
			label: (node) => plainLabel(tree, node),
		}, this.colours, FONTS);
	}

	private under(e: MouseEvent): number {
		if (!this.tree || !this.surface.width)
			return -1;
		const rect = this.surface.canvas.getBoundingClientRect();
		const depth = Math.floor((e.clientY - rect.top + this.box.scrollTop) / ROW);
		const share = (e.clientX - rect.left) / rect.width;
		const x = this.from + share * (this.to - this.from);
		return nodeUnder(this.tree, depth, x);
	}

	private pointed(e: PointerEvent): void {
		const node = this.under(e);
		const depth = node >= 0 ? this.tree!.depth[node]! : 0;
		const top = this.surface.canvas.getBoundingClientRect().top +
			depth * ROW - this.box.scrollTop;
		this.pointAt(node, { x: e.clientX, top, bottom: top + ROW });
	}

	private pointAt(node: number, at: Spot | null): void {
		if (node !== this.hover) {
			this.hover = node;
			this.box.classList.toggle("over", node >= 0);
			this.surface.redraw();
		}
		this.events.point(node >= 0 ? node : this.cursor, node >= 0 ? at : null);
	}

	private walkTo(node: number): void {
		this.cursor = node;
		this.show(node);
		this.events.point(node, null);
		this.surface.redraw();
	}

	private show(node: number): void {
		const y = this.tree!.depth[node]! * ROW;
		if (y < this.box.scrollTop)
			this.box.scrollTop = y;
		else if (y + ROW > this.box.scrollTop + this.box.clientHeight)
			this.box.scrollTop = y + 2 * ROW - this.box.clientHeight;
	}

	/* The next node of the same row within the zoomed part. */
	private beside(node: number, step: number): number {
		const tree = this.tree!;
		const row = tree.rows[tree.depth[node]!]!;
		const next = row[row.indexOf(node) + step];
		if (next === undefined)
			return node;
		const inside = tree.start[next]! < this.to - 1e-12 &&
			tree.start[next]! + tree.size[next]! > this.from + 1e-12;
		return inside ? next : node;
	}

	private key(e: KeyboardEvent): void {
		const tree = this.tree;
		if (!tree || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const at = this.cursor >= 0 ? this.cursor : this.zoomed;
		const largest = (node: number) =>
			children(tree, node).reduce((best, kid) =>
				best < 0 || tree.size[kid]! > tree.size[best]! ? kid : best, -1);
		switch (e.key) {
		case "ArrowDown":
			this.walkTo(this.cursor < 0 ? at : Math.max(largest(at), at));
			break;
		case "ArrowUp":
			this.walkTo(Math.max(0, tree.parent[at]!));
			break;
		case "ArrowLeft":
			this.walkTo(this.beside(at, -1));
			break;
		case "ArrowRight":
			this.walkTo(this.beside(at, 1));
			break;
		case "Home":
			this.walkTo(0);
			break;
		case "Enter":
			this.events.zoom(at);
			break;
		case "Escape":
			this.events.escape();
			break;
		case "c":
			this.events.copy(at);
			break;
		default:
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	}
}
