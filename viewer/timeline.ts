// SPDX-License-Identifier: MIT
/*
 * The timeline: puts its pieces together and draws a frame when something has changed, never
 * otherwise. Its own state is small (scrolling, what the pointer is over, a selection that is being
 * drawn); all else is the page's state or the focus.
 */
import { Latest } from "./ask";
import type { Focus, Interval } from "./focus";
import type { Page, Range, Thread } from "./page";
import { ABSENT, className, color, onScheme } from "./palette";
import { same } from "./state";
import { AXIS_HEIGHT, drawAxis, stallAt, STRIP_HEIGHT } from "./timeline-axis";
import { drawScene, LANE_PAD, type Colors, type Scene } from "./timeline-draw";
import { attachPointer, attachWheel, type Gestures } from "./timeline-input";
import { Labels } from "./timeline-labels";
import { classAt } from "./timeline-lanes";
import { CPU_HEIGHT, Rows, type Row } from "./timeline-rows";
import { Source, type Wanted } from "./timeline-source";
import { pageTip, type Tip } from "./timeline-tip";
import type { View } from "./timeline-view";
import { clock, duration, el, percent, since } from "./util";

const AROUND = 12; /* lanes asked for above and below those in sight */
const MUTEX = 11;
const TRIES = 64;
const FIRST_LANES = "thaw-first-lanes"; /* by which the bench tells when there is something to see */

/* What `cpu_at` answers. */
interface CpuInterval {
	thread: number | null;
	start: number;
	end: number;
}

export class Timeline {
	readonly rows: Rows;
	private axis = el("canvas", { class: "tl-axis", "aria-hidden": "true" });
	private canvas = el("canvas", {
		class: "tl-canvas",
		tabindex: 0,
		role: "application",
		"aria-roledescription": "timeline",
		"aria-label": "Timeline of threads. J and K choose a lane, [ and ] an interval; ? lists all keys.",
		"data-test": "timeline",
	});
	private labelBox = el("div", { class: "tl-labels" });
	private sticky = el("div", { class: "tl-sticky" }, this.labelBox, this.canvas);
	private size = el("div", { class: "tl-size" }, this.sticky);
	private scroller = el("div", { class: "tl-scroll" }, this.size);
	private threads: Source;
	private cpus: Source;
	private labels: Labels;
	private tip: Tip;
	private colors!: Colors;
	private frame = 0;
	private width = 0;
	private height = 0;
	private dpr = 1;
	private draft: { range: Range; second: boolean } | null = null;
	private pointer: { x: number; y: number } | null = null;
	private hovered: Interval | null = null;
	private hover: Latest<{ thread: number; ts: number }, Interval>;
	private hoverCpu: Latest<{ cpu: number; ts: number }, CpuInterval>;

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
		this.tip = pageTip();
		this.threads = new Source(page, "lanes", () => this.redraw(), failed);
		this.cpus = new Source(page, "cpus", () => this.redraw(), failed);
		this.labels = new Labels(this.labelBox, page, this.rows, {
			toggle: (key) => {
				this.rows.toggle(key);
				this.resize();
			},
			only: (threads, add) => this.only(threads, add),
		});
		this.hover = new Latest(
			(at) => page.askJson<Interval>("at", at),
			(interval) => {
				this.hovered = interval;
				this.showTip();
			},
			() => this.tip.hide(),
		);
		this.hoverCpu = new Latest(
			(at) => page.askJson<CpuInterval>("cpu_at", at),
			(interval, { cpu }) => this.showCpuTip(interval, cpu),
			() => this.tip.hide(),
		);
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
			if (!same("view", now, before))
				this.hovered = null;
			const culprit = now.stall === null ? null : this.page.info.stalls[now.stall]?.culprit;
			const thread = typeof culprit === "number" ? this.page.thread(culprit) : undefined;
			if (!same("stall", now, before) && thread)
				this.scrollTo(thread);
			this.redraw();
		});
		this.focus.subscribe(() => this.redraw());
		addEventListener("keydown", () => {
			this.pointer = null;
			this.tip.hide();
			this.redraw();
		});
		this.scroller.addEventListener("scroll", () => this.redraw(), { passive: true });
		new ResizeObserver(() => this.resize()).observe(this.scroller);
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
				this.pointer = x === null ? null : { x, y };
				this.askHover();
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
			this.locate(row, x, y).then((at) => this.focus.go(row.thread.index, at), () => undefined);
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
		this.locate(row, x, y)
			.then((ts) => this.page.askJson<Interval>("at", { thread: row.thread.index, ts }))
			.then((i) => {
				if (i.class !== ABSENT)
					this.view.show({ from: i.start, to: i.end });
			}, () => undefined);
	}

	/*
	 * The time that a place in a lane stands for. Where a column holds several intervals, who points
	 * at red means something red: the first interval in it of the class that is drawn there.
	 */
	private async locate(row: Row & { kind: "thread" }, x: number, y: number): Promise<number> {
		const exact = this.timeAt(x);
		const thread = row.thread.index;
		const lanes = this.threads.layers(thread, this.wanted().threads).pop();
		const shares = lanes?.at(thread, exact);
		if (!lanes || !shares || shares.length < 2)
			return exact;
		const inside = row.h - 2 * LANE_PAD;
		const cls = classAt(shares, (row.y + row.h - LANE_PAD - this.scroller.scrollTop - y) / inside);
		const column = lanes.column(exact);
		let ts: number | null = Math.max(column.from, row.thread.start);
		for (let tries = 0; tries < TRIES && ts !== null && ts < column.to; tries++) {
			const i: Interval = await this.page.askJson<Interval>("at", { thread, ts });
			if (i.class === cls)
				return Math.max(ts, (Math.max(i.start, column.from) + Math.min(i.end, column.to)) / 2);
			ts = i.next_ts;
		}
		return exact;
	}

	private askHover(): void {
		const row = this.pointer && this.rowAt(this.pointer.y);
		if (!this.pointer || !row || (row.kind !== "thread" && row.kind !== "cpu")) {
			this.tip.hide();
			return;
		}
		const ts = this.timeAt(this.pointer.x);
		if (row.kind === "cpu")
			return this.hoverCpu.want({ cpu: row.cpu, ts });
		const known = this.hovered;
		if (known && known.thread === row.thread.index && ts >= known.start && ts < known.end)
			return this.showTip();
		this.hover.want({ thread: row.thread.index, ts });
	}

	/* Says what is under the pointer: an interval, or the shares of a pixel that holds several. */
	private showTip(): void {
		const row = this.pointer && this.rowAt(this.pointer.y);
		const i = this.hovered;
		if (!this.pointer || row?.kind !== "thread" || !i)
			return this.tip.hide();
		const ts = this.timeAt(this.pointer.x);
		const name = `${row.thread.comm} ${row.thread.tid}`;
		const shares = this.threads.layers(row.thread.index, this.wanted().threads).pop()
			?.at(row.thread.index, ts) ?? [];
		if (shares.length > 1 && i.end - i.start < this.perPixel()) {
			const list = shares.sort((a, b) => b.share - a.share).slice(0, 4)
				.map((s) => `${className(this.page, s.cls)} ${percent(s.share, 1)}`);
			return this.tipAt(row, `${list.join(", ")}`,
				`${name} · several intervals in ${duration(this.perPixel())}`);
		}
		if (i.thread !== row.thread.index || ts < i.start || ts >= i.end)
			return;
		if (i.class === ABSENT)
			return this.tip.hide();
		const what = className(this.page, i.class);
		const time = duration(i.end - i.start);
		this.tipAt(row, i.kind === "waiting" || i.kind === "runnable"
			? `waiting ${time}: ${what}${i.lock ? ` ${i.lock.name}` : ""}` : `${what} ${time}`,
			`${name} · from ${since(i.start, 1e4)}, ${clock(this.page.info, i.start)}`);
	}

	private showCpuTip(i: CpuInterval, cpu: number): void {
		const row = this.pointer && this.rowAt(this.pointer.y);
		if (row?.kind !== "cpu" || row.cpu !== cpu)
			return this.tip.hide();
		const t = i.thread === null ? undefined : this.page.thread(i.thread);
		this.tipAt(row, t ? `${t.comm} ran ${duration(i.end - i.start)}` : "none of these threads",
			`CPU ${cpu} · from ${since(i.start, 1e4)}`);
	}

	private tipAt(row: Row, title: string, text: string): void {
		const box = this.canvas.getBoundingClientRect();
		const y = box.top + row.y - this.scroller.scrollTop;
		this.tip.show(box.left + this.pointer!.x, y, y + row.h, title, text);
	}

	private hoverAxis(x: number | null, y: number): void {
		const { info } = this.page;
		const stall = x === null ? null : stallAt(info, this.view.get(), this.width, x, y);
		this.axis.classList.toggle("link", stall !== null || (x !== null && y < STRIP_HEIGHT));
		if (x === null || stall === null)
			return this.tip.hide();
		const box = this.axis.getBoundingClientRect();
		this.tip.show(box.left + x, box.top, box.bottom, `stall ${duration(info.stalls[stall].ns)}`,
			info.stalls[stall].text);
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
		const ids = (rows: Row[]) => rows.flatMap((r) => (r.kind === "thread" ? [r.thread.index] : []));
		const view = this.view.get();
		const width = this.canvas.width;
		const all = Array.from({ length: this.page.info.cpus }, (_, i) => i);
		const tall = (h: number) => Math.max(2, Math.round((h - 2 * LANE_PAD) * this.dpr));
		return {
			visible,
			threads: { ids: ids(visible), around: ids(around), view, width, height: tall(this.rows.lane) },
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
		const hover = this.pointer ? this.timeAt(this.pointer.x) : null;
		const row = this.pointer && this.rowAt(this.pointer.y);
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
			lane: row?.kind === "thread" ? row.thread.index : null,
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
		this.canvas.dataset.settled = String(settled && (this.cpus.settled(cpus) || !cpus.ids.length));
		if (settled && !performance.getEntriesByName(FIRST_LANES).length)
			performance.mark(FIRST_LANES);
	}
}
