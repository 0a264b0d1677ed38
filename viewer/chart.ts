// SPDX-License-Identifier: MIT
/*
 * The stacks of one thread over time, below each other as they were called: what it ran, by its
 * samples, and what it waited in, by the waits' own stacks. It shows the stretch that the timeline
 * shows. Which thread: the one in focus, else the only one chosen, else the most telling.
 */
import { CANVAS_FONT as FONT, makeSurface } from "./canvas";
import { cssColour, moduleColour } from "./flame-colour";
import { fitText, ROW } from "./flame-draw";
import type { Page, Range } from "./page";
import { color, inkOn, className, RUNNING } from "./palette";
import { makePanel } from "./panel";
import { ticks } from "./timeline-axis";
import { pageTip } from "./timeline-tip";
import type { State } from "./state";
import { clamp, clock, duration, el, moments, since } from "./util";
import { unseenWords } from "./words";

interface ChartReply {
	thread: number;
	from: number;
	to: number;
	shortest_ns: number;
	left_out: number;
	names: string[];
	piece: {
		start: number[];
		end: number[];
		depth: number[];
		name: number[];
		class: number[];
		inlined: number[];
		kernel: number[];
	};
}

const AXIS = 20;

export function mountChart(root: HTMLElement, page: Page): void {
	let chart: ChartReply | null = null;
	/* Where the pieces of each depth begin: they are sorted by depth, then time. */
	let rows: number[] = [];
	let hover = -1;
	let cursor = -1;

	const threadOf = (state: State): number =>
		state.focus?.thread ?? (state.threads?.length ? state.threads[0]!
			: page.info.threads[0]?.index ?? 0);
	const whole = { from: 0, to: page.info.duration_ns };
	const rangeOf = (state: State): Range => state.view ?? whole;

	const chooser: HTMLSelectElement = el("select", {
		"aria-label": "Thread",
		onchange: () => {
			const index = Number(chooser.value);
			const range = rangeOf(page.state.get());
			const ts = Math.round((range.from + range.to) / 2);
			page.state.set({ focus: { thread: index, ts } }, "push");
		},
	});
	for (const t of page.info.threads.slice(0, 2000))
		chooser.append(el("option", { value: t.index }, `${t.comm} (${t.tid})`));

	const box = el("div", {
		class: "chart-box",
		tabindex: 0,
		role: "application",
		"aria-roledescription": "flame chart",
		"aria-label": "Stacks of one thread over time. Arrow keys walk, Enter shows the moment in " +
			"the timeline.",
		"aria-describedby": "chart-status",
		"data-test": "chart",
	});
	const frame = el("div", { class: "flame-frame" });
	const space = el("div", { class: "flame-space" });
	const status = el("div", { class: "flame-words", id: "chart-status",
		"aria-live": "polite" });
	const foot = el("div", { class: "flame-foot" }, status);
	const tip = pageTip();

	const gutter = el("div", { class: "chart-gutter" });
	const surface = makeSurface(frame, "Flame chart", (ctx, s) => draw(ctx, s.width, s.height));
	frame.append(surface.canvas);
	box.append(frame, space);

	function x(ts: number, width: number): number {
		return ((ts - chart!.from) / (chart!.to - chart!.from || 1)) * width;
	}

	function fillOf(i: number): string {
		const p = chart!.piece;
		const cls = p.class[i]!;
		if (cls >= 0 && cls !== RUNNING)
			return color(cls);
		return moduleColour(chart!.names[p.name[i]!] ?? "", p.kernel[i] === 1);
	}

	function draw(ctx: CanvasRenderingContext2D, width: number, height: number): void {
		if (!chart)
			return;
		const p = chart.piece;
		const top = box.scrollTop;
		ctx.textBaseline = "middle";
		const first = Math.max(0, Math.floor((top - AXIS) / ROW));
		for (let depth = first; depth < rows.length - 1; depth++) {
			const y = AXIS + depth * ROW - top;
			if (y > height)
				break;
			let done = -1;
			for (let i = rows[depth]!; i < rows[depth + 1]!; i++) {
				const left = Math.max(0, x(p.start[i]!, width));
				const right = Math.min(width, x(p.end[i]!, width));
				if (right <= done || right < 0 || left > width)
					continue;
				const w = Math.max(1, right - left - (right - left > 3 ? 1 : 0));
				done = left + w;
				ctx.fillStyle = fillOf(i);
				ctx.fillRect(left, y, w, ROW - 1);
				if (w < 24)
					continue;
				ctx.font = p.kernel[i] ? `italic ${FONT}` : FONT;
				ctx.fillStyle = inkOn(fillOf(i));
				ctx.fillText(fitText(ctx, chart.names[p.name[i]!] ?? "?", w - 8),
					left + 4, y + ROW / 2);
			}
		}
		outline(ctx, hover, cssColour("--ink"), 1, width, top);
		if (document.activeElement === box)
			outline(ctx, cursor, cssColour("--focus"), 2, width, top);
		drawAxis(ctx, width);
	}

	function outline(ctx: CanvasRenderingContext2D, i: number, colour: string, line: number,
			 width: number, top: number): void {
		if (i < 0 || !chart)
			return;
		const left = Math.max(0, x(chart.piece.start[i]!, width));
		const right = Math.min(width, x(chart.piece.end[i]!, width));
		ctx.strokeStyle = colour;
		ctx.lineWidth = line;
		ctx.strokeRect(left + line / 2, AXIS + chart.piece.depth[i]! * ROW - top + line / 2,
			Math.max(2, right - left - line), ROW - 1 - line);
	}

	function drawAxis(ctx: CanvasRenderingContext2D, width: number): void {
		ctx.fillStyle = cssColour("--bg");
		ctx.fillRect(0, 0, width, AXIS - 1);
		ctx.fillStyle = cssColour("--ink-2");
		ctx.font = "11px system-ui, sans-serif";
		const { step, at: marks } = ticks(chart!, width);
		const gap = marks.length > 1 ? x(marks[1]!, width) - x(marks[0]!, width) : width;
		for (const ts of marks) {
			const px = Math.round(x(ts, width));
			ctx.fillStyle = cssColour("--line");
			ctx.fillRect(px, 3, 1, AXIS - 5);
			ctx.fillStyle = cssColour("--ink-2");
			if (px + 60 >= width)
				continue;
			const text = since(ts, step);
			ctx.fillText(text, px + 5, AXIS / 2);
			const left = px + 5 + ctx.measureText(`${text} `).width;
			const day = clock(page.info, ts, step >= 1e9 ? 0 : step >= 1e6 ? 3 : 6);
			ctx.fillStyle = cssColour("--ink-3");
			if (page.info.begin_unix_ns && left + ctx.measureText(`${day} `).width < Math.min(width, px + gap))
				ctx.fillText(day, left, AXIS / 2);
		}
	}

	function at(clientX: number, clientY: number): number {
		if (!chart || !surface.width)
			return -1;
		const rect = surface.canvas.getBoundingClientRect();
		const depth = Math.floor((clientY - rect.top - AXIS + box.scrollTop) / ROW);
		if (depth < 0 || clientY - rect.top < AXIS || depth >= rows.length - 1)
			return -1;
		const px = clientX - rect.left;
		for (let i = rows[depth]!; i < rows[depth + 1]!; i++) {
			const left = x(chart.piece.start[i]!, surface.width);
			const right = x(chart.piece.end[i]!, surface.width);
			if (px >= left && px <= Math.max(left + 1, right))
				return i;
		}
		return -1;
	}

	function words(i: number): [string, string] {
		const p = chart!.piece;
		const cls = p.class[i]!;
		const grain = (chart!.to - chart!.from) / 1000;
		return [chart!.names[p.name[i]!] ?? "?",
			`${cls < 0 ? "ran and waited" : cls === RUNNING ? "ran" : `waited: ${className(page, cls)}`}` +
			`, ${moments(page.info, { from: p.start[i]!, to: p.end[i]! }, grain)}, ` +
			`${duration(p.end[i]! - p.start[i]!)}${p.inlined[i] ? ", inlined" : ""}` +
			`${p.kernel[i] ? ", kernel" : ""}`];
	}

	function describe(i: number): void {
		if (!chart || i < 0) {
			const left = chart?.left_out ?? 0;
			status.replaceChildren(el("span", { class: "dim" }, left
				? `Pieces shorter than ${duration(chart!.shortest_ns)} are left out: zoom in to see them.`
				: "Callers are above, what they called is below."));
			return;
		}
		const [name, more] = words(i);
		status.replaceChildren(el("b", {}, name), el("span", {}, ` ${more}`));
	}

	function go(i: number): void {
		if (!chart || i < 0)
			return;
		const p = chart.piece;
		const from = Math.max(p.start[i]!, chart.from);
		const to = Math.min(p.end[i]!, chart.to);
		page.state.set({ focus: { thread: chart.thread, ts: Math.round((from + to) / 2) } },
			"push");
	}

	box.addEventListener("scroll", () => surface.redraw());
	box.addEventListener("pointermove", (e) => {
		const i = at(e.clientX, e.clientY);
		if (i !== hover) {
			hover = i;
			surface.redraw();
		}
		describe(i >= 0 ? i : cursor);
		if (i < 0) {
			tip.hide();
			return;
		}
		const rect = surface.canvas.getBoundingClientRect();
		const top = rect.top + AXIS + chart!.piece.depth[i]! * ROW - box.scrollTop;
		tip.show(e.clientX, top, top + ROW, ...words(i));
	});
	box.addEventListener("pointerleave", () => {
		hover = -1;
		tip.hide();
		describe(cursor);
		surface.redraw();
	});
	box.addEventListener("click", (e) => {
		cursor = at(e.clientX, e.clientY);
		go(cursor);
	});
	box.addEventListener("wheel", (e) => {
		if (!chart || !(e.ctrlKey || e.metaKey))
			return;
		e.preventDefault();
		const rect = surface.canvas.getBoundingClientRect();
		const share = (e.clientX - rect.left) / (rect.width || 1);
		const span = chart.to - chart.from;
		const next = clamp(span * 1.0015 ** e.deltaY, 1000, page.info.duration_ns);
		const from = clamp(chart.from + share * (span - next), 0,
			page.info.duration_ns - next);
		page.state.set({ view: { from: Math.round(from), to: Math.round(from + next) } });
	}, { passive: false });
	box.addEventListener("focus", () => surface.redraw());
	box.addEventListener("blur", () => surface.redraw());
	box.addEventListener("keydown", (e) => {
		if (!chart || !rows.length || e.ctrlKey || e.metaKey || e.altKey)
			return;
		const p = chart.piece;
		const here = cursor < 0 ? 0 : cursor;
		const depth = p.depth[here] ?? 0;
		const near = (d: number) => {
			for (let i = rows[d] ?? 0; i < (rows[d + 1] ?? 0); i++)
				if (p.end[i]! > p.start[here]! && p.start[i]! < p.end[here]!)
					return i;
			return here;
		};
		if (e.key === "ArrowRight")
			cursor = here + 1 < (rows[depth + 1] ?? 0) ? here + 1 : here;
		else if (e.key === "ArrowLeft")
			cursor = here > (rows[depth] ?? 0) ? here - 1 : here;
		else if (e.key === "ArrowDown")
			cursor = cursor < 0 ? 0 : near(depth + 1);
		else if (e.key === "ArrowUp")
			cursor = depth ? near(depth - 1) : here;
		else if (e.key === "Enter")
			go(cursor);
		else
			return;
		const y = AXIS + (p.depth[cursor] ?? 0) * ROW;
		if (y - AXIS < box.scrollTop)
			box.scrollTop = y - AXIS;
		else if (y + ROW > box.scrollTop + box.clientHeight)
			box.scrollTop = y + ROW - box.clientHeight;
		describe(cursor);
		surface.redraw();
		e.preventDefault();
		e.stopPropagation();
	});
	const reach = () => {
		frame.style.height = `${box.clientHeight}px`;
		space.style.height = `${Math.max(0, AXIS + (rows.length - 1) * ROW - box.clientHeight)}px`;
	};
	new ResizeObserver(reach).observe(box);

	const panel = makePanel<ChartReply>(root, page, {
		range: rangeOf,
		who: (state) => page.thread(threadOf(state))?.comm ?? "",
		ask: (state) => page.askJson<ChartReply>("chart",
			{ thread: threadOf(state), ...rangeOf(state) }),
		show(reply, state) {
			chart = reply;
			hover = cursor = -1;
			chooser.value = String(reply.thread);
			const n = reply.piece.start.length;
			if (!n) {
				const name = page.thread(threadOf(state))?.comm ?? "This thread";
				panel.say(`${name} has no stacks in this range. ` +
					unseenWords(page, "wait_stacks"));
				return;
			}
			rows = [];
			for (let i = 0; i < n; i++)
				while (rows.length <= reply.piece.depth[i]!)
					rows.push(i);
			rows.push(n);
			if (!panel.body.contains(box))
				panel.body.replaceChildren(
					el("div", { class: "chart-place" }, gutter, box), foot);
			const thread = page.thread(reply.thread);
			gutter.replaceChildren(el("b", {}, thread?.comm ?? "?"),
				el("span", { class: "dim" }, ` ${thread?.tid ?? ""}`));
			reach();
			describe(-1);
			surface.redraw();
		},
	});
	panel.tools.append(chooser);
	panel.body.classList.add("flame");
}
