// SPDX-License-Identifier: MIT
/*
 * The timeline: puts its pieces together and draws a frame when something has changed, never
 * otherwise. Its own state is small (scrolling, what the pointer is over, a selection that is being
 * drawn); all else is the page's state or the focus.
 */
import type { Focus, Interval } from "./focus";
import type { Page, Range, Thread } from "./page";
import { ABSENT, color, onScheme } from "./palette";
import { same } from "./state";
import { AXIS_HEIGHT, drawAxis, stallAt, STRIP_HEIGHT } from "./timeline-axis";
import { drawScene, LANE_PAD, type Colors, type Scene } from "./timeline-draw";
import { attachPointer, attachWheel, type Gestures } from "./timeline-input";
import { Labels } from "./timeline-labels";
import { Pointing, type CpuInterval } from "./timeline-point";
import { CPU_HEIGHT, Rows, type Row } from "./timeline-rows";
import { Source, type Wanted } from "./timeline-source";
import { pageTip } from "./timeline-tip";
import type { View } from "./timeline-view";
import { duration, el, moment } from "./util";

const AROUND = 12; /* lanes asked for above and below those in sight */
const MUTEX = 11;
/* By which the bench tells when there is something to see. */
const FIRST_LANES = "thaw-first-lanes";

export class Timeline {
	readonly rows: Rows;
	private axis = el("canvas", { class: "tl-axis", "aria-hidden": "true" });
	private canvas = el("canvas", {
		class: "tl-canvas",
		tabindex: 0,
		role: "application",
		"aria-roledescription": "timeline",
		"aria-label":
			"Timeline of threads. J and K choose a lane, [ and ] an interval; ? lists all keys.",
		"data-test": "timeline",
	});
	private labelBox = el("div", { class: "tl-labels" });
	private sticky = el("div", { class: "tl-sticky" }, this.labelBox, this.canvas);
	private size = el("div", { class: "tl-size" }, this.sticky);
	private scroller = el("div", { class: "tl-scroll" }, this.size);
	private threads: Source;
	private cpus: Source;
	private labels: Labels;
	private tip = pageTip();
	private pointing: Pointing;
	private colors!: Colors;
	private frame = 0;
	private width = 0;
	private height = 0;
	private dpr = 1;
	private draft: { range: Range; second: boolean } | null = null;

	constructor(
		root: HTMLElement,
		corner: HTMLElement,
		private page: Page,
		private view: View,
		private focus: Focus,
		private pickStall: (index: number) => void,
		failed: (error: Error) => void,
	) {
		this.rows = new Rows(page.info);
		this.threads = new Source(page, "lanes", () => this.redraw(), failed);
		this.cpus = new Source(page, "cpus", () => this.redraw(), failed);
		this.labels = new Labels(this.labelBox, page, this.rows, {
			toggle: (key) => {
				this.rows.toggle(key);
				this.resize();
			},
			only: (threads, add) => this.only(threads, add),
		});
		this.pointing = new Pointing(page, {
			timeAt: (x) => this.timeAt(x),
			perPixel: () => this.perPixel(),
			rowAt: (y) => this.rowAt(y),
			top: (row) => row.y - this.scroller.scrollTop,
			box: () => this.canvas.getBoundingClientRect(),
			lanes: (thread) => this.threads.layers(thread, this.wanted().threads).pop(),
		});
		root.replaceChildren(el("div", { class: "tl-head" }, corner, this.axis), this.scroller);
		this.listen();
		this.readColors();
		this.resize();
	}

	redraw(): void {
		if (!this.frame)
			this.frame = requestAnimationFrame(() => {
				this.frame = 0;
				this.draw();
			});
	}

	/** Brings what is in focus into sight. */
	reveal(): void {
		const at = this.page.state.get().focus;
		const thread = at && this.page.thread(at.thread);
		if (!at || !thread)
			return;
		this.scrollTo(thread);
		this.view.reveal(at.ts);
		this.redraw();
	}

	private showCulprit(stall: number): void {
		const culprit = this.page.info.stalls[stall]?.culprit;
		const thread = typeof culprit === "number" ? this.page.thread(culprit) : undefined;
		if (thread)
			this.scrollTo(thread);
	}

	private scrollTo(thread: Thread): void {
		if (this.rows.reveal(thread))
			this.resize();
		const row = this.rows.find(thread.index);
		if (row && row.y < this.scroller.scrollTop)
			this.scroller.scrollTop = row.y - row.h;
		else if (row && row.y + row.h > this.scroller.scrollTop + this.height)
			this.scroller.scrollTop = row.y + 2 * row.h - this.height;
	}

	focusCanvas(): void {
		this.canvas.focus({ preventScroll: true });
	}

	private listen(): void {
		const { state } = this.page;
		state.subscribe((now, before) => {
			if (!same("focus", now, before))
				this.reveal();
			if (!same("stall", now, before) && now.stall !== null)
				this.showCulprit(now.stall);
			this.redraw();
		});
		this.focus.subscribe(() => this.redraw());
		addEventListener("keydown", () => {
			this.pointing.move(null);
			this.redraw();
		});
		this.scroller.addEventListener("scroll", () => this.redraw(), { passive: true });
		new ResizeObserver(() => this.resize()).observe(this.scroller);
		addEventListener("resize", () => this.resize()); /* another screen may be finer */
		onScheme(() => {
			this.readColors();
			this.threads.repaint();
			this.cpus.repaint();
			this.draw();
		});
		const lanes = this.gestures((x, y) => this.clickLane(x, y));
		attachWheel(this.canvas, lanes);
		const chosen = (e: PointerEvent) => (e.ctrlKey || e.metaKey ? "second" : "select");
		attachPointer(this.canvas, lanes, (e) => (e.shiftKey ? chosen(e) : "pan"));
		const ruler = this.gestures((x, y) => this.clickAxis(x, y));
		attachWheel(this.axis, ruler);
		attachPointer(this.axis, { ...ruler, hover: (x, y) => this.hoverAxis(x, y) },
			(e, y) => (y < STRIP_HEIGHT ? "strip" : chosen(e)));
	}

	private gestures(click: (x: number, y: number) => void): Gestures {
		const { view } = this;
		return {
			time: (x) => this.timeAt(x),
			perPixel: () => this.perPixel(),
			zoom: (factor, ts) => view.zoom(factor, ts),
			pan: (ns) => view.pan(ns),
			scroll: (px) => {
				this.scroller.scrollTop += px;
			},
			draft: (range, second) => {
				this.draft = range && { range, second };
				this.redraw();
			},
			select: (range, second) => this.select(range, second),
			click,
			double: (x, y) => this.zoomToInterval(x, y),
			hover: (x, y) => {
				this.pointing.move(x === null ? null : { x, y });
				this.redraw();
			},
		};
	}

	private perPixel(): number {
		const { from, to } = this.view.get();
		return (to - from) / Math.max(1, this.width);
	}

	private timeAt(x: number): number {
		return this.view.get().from + x * this.perPixel();
	}

	private rowAt(y: number): Row | null {
		return this.rows.at(y + this.scroller.scrollTop);
	}

	private select(range: Range, second: boolean): void {
		const from = Math.max(0, Math.round(range.from));
		const to = Math.min(this.view.duration, Math.round(range.to));
		if (to <= from)
			return;
		/* There is no second range without a first one. */
		if (second && this.page.state.get().sel)
			this.page.state.set({ sel2: { from, to } }, "push");
		else
			this.page.state.set({ sel: { from, to }, sel2: null }, "push");
	}

	private only(threads: number[], add: boolean): void {
		const now = new Set(this.page.state.get().threads ?? []);
		const all = threads.every((t) => now.has(t));
		const next = new Set(add ? now : []);
		for (const t of threads)
			all ? next.delete(t) : next.add(t);
		this.page.state.set({ threads: next.size ? [...next] : null }, "push");
	}

	private clickLane(x: number, y: number): void {
		const row = this.rowAt(y);
		const ts = this.timeAt(x);
		this.focusCanvas();
		if (row?.kind === "thread") {
			this.pointing.locate(row, x, y)
				.then((at) => this.focus.go(row.thread.index, at), () => undefined);
		} else if (row?.kind === "cpu") {
			this.page.askJson<CpuInterval>("cpu_at", { cpu: row.cpu, ts }).then((i) => {
				if (i.thread !== null)
					this.focus.go(i.thread, ts);
			}, () => undefined);
		}
	}

	private clickAxis(x: number, y: number): void {
		if (y < STRIP_HEIGHT) {
			const { from, to } = this.view.get();
			const ts = (x / this.width) * this.view.duration;
			this.view.set({ from: ts - (to - from) / 2, to: ts + (to - from) / 2 });
			return;
		}
		const stall = stallAt(this.page.info, this.view.get(), this.width, x, y);
		if (stall !== null)
			this.pickStall(stall);
		else
			this.page.state.set({ sel: null, sel2: null }, "push");
	}

	private zoomToInterval(x: number, y: number): void {
		const row = this.rowAt(y);
		if (row?.kind !== "thread")
			return;
		const thread = row.thread.index;
		this.pointing.locate(row, x, y)
			.then((ts) => this.page.askJson<Interval>("at", { thread, ts }))
			.then((i) => {
				if (i.class !== ABSENT)
					this.view.show({ from: i.start, to: i.end });
			}, () => undefined);
	}

	private hoverAxis(x: number | null, y: number): void {
		const { info } = this.page;
		const stall = x === null ? null : stallAt(info, this.view.get(), this.width, x, y);
		this.axis.classList.toggle("link", stall !== null || (x !== null && y < STRIP_HEIGHT));
		if (x === null)
			return this.tip.hide();
		const box = this.axis.getBoundingClientRect();
		if (stall === null)
			return this.tip.show(box.left + x, box.top, box.bottom, moment(info, this.timeAt(x)), "");
		const { ns, text } = info.stalls[stall];
		this.tip.show(box.left + x, box.top, box.bottom, `stall ${duration(ns)}`, text);
	}

	private readColors(): void {
		const css = getComputedStyle(document.documentElement);
		const get = (name: string) => css.getPropertyValue(name).trim();
		this.colors = {
			bg: get("--bg"),
			band: get("--bg-2"),
			line: get("--bg-3"),
			ink: get("--ink"),
			faint: get("--ink-3"),
			accent: get("--accent"),
			second: get("--second"),
			stall: color(MUTEX),
			font: `11px ${get("--font")}`,
		};
	}

	private resize(): void {
		this.dpr = devicePixelRatio || 1;
		this.height = this.scroller.clientHeight;
		this.rows.layout(this.height);
		this.size.style.height = `${Math.max(this.rows.height, this.height)}px`;
		this.sticky.style.height = `${this.height}px`;
		this.width = Math.max(1, this.scroller.clientWidth - this.labelBox.offsetWidth);
		for (const [c, h] of [[this.canvas, this.height], [this.axis, AXIS_HEIGHT]] as const) {
			c.style.width = `${this.width}px`;
			c.style.height = `${h}px`;
			const [w, tall] = [Math.round(this.width * this.dpr), Math.round(h * this.dpr)];
			if (c.width !== w || c.height !== tall) {
				c.width = w;
				c.height = tall;
			}
		}
		this.draw();
	}

	private wanted(): { threads: Wanted; cpus: Wanted; visible: Row[] } {
		const top = this.scroller.scrollTop;
		const visible = this.rows.between(top, top + this.height);
		const around = this.rows.between(Math.max(0, top - AROUND * this.rows.lane),
			top + this.height + AROUND * this.rows.lane);
		const ids = (rows: Row[]) =>
			rows.flatMap((r) => (r.kind === "thread" ? [r.thread.index] : []));
		const view = this.view.get();
		const width = this.canvas.width;
		const all = Array.from({ length: this.page.info.cpus }, (_, i) => i);
		const tall = (h: number) => Math.max(2, Math.round((h - 2 * LANE_PAD) * this.dpr));
		return {
			visible,
			threads: {
				ids: ids(visible),
				around: ids(around),
				view,
				width,
				height: tall(this.rows.lane),
			},
			cpus: {
				ids: visible.some((r) => r.kind === "cpu") ? all : [],
				around: all,
				view,
				width,
				height: tall(CPU_HEIGHT),
			},
		};
	}

	private draw(): void {
		const { threads, cpus, visible } = this.wanted();
		const state = this.page.state.get();
		const view = this.view.get();
		const { at } = this.pointing;
		const hover = at ? this.timeAt(at.x) : null;
		const { draft } = this;
		const sel = draft && !(draft.second && state.sel) ? draft.range : state.sel;
		const sel2 = draft ? (draft.second && state.sel ? draft.range : null) : state.sel2;
		const scene: Scene = {
			page: this.page,
			view,
			width: this.width,
			height: this.height,
			dpr: this.dpr,
			top: this.scroller.scrollTop,
			rows: this.rows,
			visible,
			threads: { source: this.threads, wanted: threads },
			cpus: { source: this.cpus, wanted: cpus },
			only: state.threads && new Set(state.threads),
			sel,
			sel2,
			focus: this.focus,
			lane: this.pointing.thread(),
			hover,
			colors: this.colors,
		};
		drawScene(this.canvas.getContext("2d")!, scene);
		const g = this.axis.getContext("2d")!;
		g.setTransform(this.dpr, 0, 0, this.dpr, 0, 0);
		drawAxis(g, this.page.info, {
			view,
			whole: this.view.duration,
			width: this.width,
			sel,
			sel2,
			stall: state.stall,
			hover,
			font: this.colors.font,
			colors: { ...this.colors, strip: this.colors.line },
		});
		this.labels.update(visible, scene.top);
		this.threads.wants(threads);
		this.cpus.wants(cpus);
		const settled = this.threads.settled(threads) || !threads.ids.length;
		const all = settled && (this.cpus.settled(cpus) || !cpus.ids.length);
		this.canvas.dataset.settled = String(all);
		if (settled && !performance.getEntriesByName(FIRST_LANES).length)
			performance.mark(FIRST_LANES);
	}
}
