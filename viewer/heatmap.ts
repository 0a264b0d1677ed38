// SPDX-License-Identifier: MIT
/*
 * The recording as a heatmap: a column a second (or what fits), from its beginning on top to its end
 * at the bottom. What repeats every second, or stops for a tenth of one, can be seen at a glance.
 *
 * A click or a drag picks the range that all else is about; with Shift or Alt it picks a second one,
 * and the flame graph shows what has changed between the two.
 */
import { makeSurface } from "./canvas";
import { cssColour } from "./flame-colour";
import { cellAt, cellRange, drawHeat, heatColours, makeHeat, type Heat } from "./heat-draw";
import type { Page, Range } from "./page";
import { choice, makePanel } from "./panel";
import { same, type State } from "./state";
import { pageTip } from "./timeline-tip";
import { count, duration, el, moments } from "./util";
import { nothingWords, unseenWords } from "./words";

const ROWS = 50;
const LEFT = 46;
const BOTTOM = 18;
const LEAST = 4;

export function mountHeatmap(root: HTMLElement, page: Page): void {
	let heat: Heat | null = null;
	let cursor = 0;
	let anchor = -1;
	let drag: { from: number; to: number; second: boolean } | null = null;

	const kind = choice<string>("What is counted", [
		["samples", "Samples", "Samples of running code"],
		["wait", "Waiting", "Time that threads waited, whatever for"],
	], (value) => page.state.set({ heat: { kind: value } }, "push"));
	const reasons: HTMLSelectElement = el("select", {
		"aria-label": "Waiting for one reason",
		onchange: () => page.state.set({ heat: { kind: reasons.value || "wait" } }, "push"),
	}, el("option", { value: "" }, "one reason …"));
	const sums = page.info.reasons.map((reason) => ({
		reason,
		ns: page.info.threads.reduce((ns, t) => ns + (t.waits[reason.name] ?? 0), 0),
	}));
	for (const { reason, ns } of sums.sort((a, b) => b.ns - a.ns))
		if (ns)
			reasons.append(el("option", { value: `reason:${reason.name}` },
				`${reason.label}, ${duration(ns)}`));

	const box = el("div", {
		class: "heat-box",
		tabindex: 0,
		role: "application",
		"aria-roledescription": "heatmap",
		"aria-label": "Heatmap. Arrow keys move, Shift with them extends, Enter picks the range, " +
			"Alt+Enter picks a second one to compare with, Escape ends the selection.",
		"aria-describedby": "heat-status",
		"data-test": "heatmap",
	});
	const status = el("div", { class: "heat-words", id: "heat-status", "aria-live": "polite" });
	const scale = el("div", { class: "heat-scale" });
	const foot = el("div", { class: "heat-foot" }, status, scale);
	const tip = pageTip();
	const surface = makeSurface(box, "Heatmap", (ctx, s) => {
		if (!heat)
			return;
		const state = page.state.get();
		const marked: [Range | null, string][] = [
			[drag && !drag.second ? span(drag.from, drag.to) : state.sel,
				cssColour("--focus")],
			[drag?.second ? span(drag.from, drag.to) : state.sel2, "#c2410c"],
		];
		const focused = document.activeElement === box;
		drawHeat(ctx, heat, {
			left: LEFT,
			width: s.width - LEFT - 4,
			height: s.height - BOTTOM - 2,
			marked,
			cursor: focused ? cursor : -1,
			anchor: focused ? anchor : -1,
			ink: cssColour("--ink-2"),
		}, heatColours(heat, page));
	});
	box.append(surface.canvas);

	/* ---- words ---- */
	const isSamples = () => page.state.get().heat.kind === "samples";
	const amount = (v: number) => (isSamples() ? `${count(v)} ${v === 1 ? "sample" : "samples"}`
		: `${duration(v * 1000)} of waiting`);
	const when = (range: Range) => moments(page.info, range, heat!.nsPerRow);
	const span = (a: number, b: number): Range => cellRange(heat!, a, b, page.info.duration_ns);

	function words(cell: number): string {
		const one = span(cell, cell);
		return `${when(one)}: ${amount(heat!.values[cell]!)}`;
	}

	function describe(cell: number): void {
		if (!heat || cell < 0) {
			status.textContent = `${duration(heat?.nsPerCol ?? 0)} a column, ` +
				`${duration(heat?.nsPerRow ?? 0)} a cell. Drag to pick a range, with Shift a second one.`;
			return;
		}
		const range = anchor >= 0 ? span(anchor, cell) : null;
		status.textContent = range
			? `${when(range)}, ${duration(range.to - range.from)}`
			: words(cell);
	}

	function showScale(): void {
		if (!heat)
			return;
		const most = heat.most;
		const steps = [0, 0.25, 0.5, 0.75, 1].map((v) => Math.round(most * v));
		scale.replaceChildren(el("span", {}, isSamples() ? "samples a cell"
			: "waiting a cell"),
			...[...new Set(steps)].map((v) => {
				const key = el("i", { class: "swatch" });
				key.style.background = heatColours(heat!, page)(v);
				return el("span", { class: "swatch-one" }, key,
					isSamples() ? count(v) : duration(v * 1000));
			}));
	}

	/* ---- picking ---- */
	function pick(a: number, b: number, second: boolean): void {
		const range = span(a, b);
		anchor = -1;
		drag = null;
		if (second && page.state.get().sel)
			page.state.set({ sel2: range, tab: "flame" }, "push");
		else
			page.state.set({ sel: range, sel2: null }, "push");
		surface.redraw();
	}

	const hit = (e: MouseEvent) => {
		const rect = surface.canvas.getBoundingClientRect();
		return heat ? cellAt(heat, e.clientX - rect.left - LEFT, e.clientY - rect.top,
			surface.width - LEFT - 4, surface.height - BOTTOM - 2) : -1;
	};
	box.addEventListener("pointerdown", (e) => {
		const cell = hit(e);
		if (cell < 0 || e.button !== 0)
			return;
		box.setPointerCapture(e.pointerId);
		drag = { from: cell, to: cell, second: e.shiftKey || e.altKey };
		cursor = cell;
		tip.hide();
		box.focus({ preventScroll: true });
		e.preventDefault();
		surface.redraw();
	});
	box.addEventListener("pointermove", (e) => {
		const cell = hit(e);
		if (drag) {
			if (cell >= 0)
				drag.to = cell;
			const r = span(drag.from, drag.to);
			status.textContent = `${when(r)}, ${duration(r.to - r.from)}`;
			surface.redraw();
			return;
		}
		describe(cell);
		if (cell < 0) {
			tip.hide();
			return;
		}
		const one = span(cell, cell);
		tip.show(e.clientX, e.clientY - 8, e.clientY + 12, amount(heat!.values[cell]!),
			when(one));
	});
	box.addEventListener("pointerup", () => drag && pick(drag.from, drag.to, drag.second));
	box.addEventListener("pointercancel", () => {
		drag = null;
		surface.redraw();
	});
	box.addEventListener("pointerleave", () => {
		tip.hide();
		describe(-1);
	});
	box.addEventListener("focus", () => surface.redraw());
	box.addEventListener("blur", () => surface.redraw());
	box.addEventListener("keydown", (e) => {
		if (!heat || e.ctrlKey || e.metaKey)
			return;
		const step = { ArrowDown: 1, ArrowUp: -1, ArrowRight: heat.rows,
			ArrowLeft: -heat.rows,
			       PageDown: 10, PageUp: -10 }[e.key];
		if (step !== undefined) {
			const next = cursor + step;
			if (e.shiftKey && anchor < 0)
				anchor = cursor;
			else if (!e.shiftKey)
				anchor = -1;
			if (next >= 0 && next < heat.cells)
				cursor = next;
			describe(cursor);
		} else if (e.key === "Enter" || e.key === " ") {
			pick(anchor < 0 ? cursor : anchor, cursor, e.altKey || e.shiftKey);
		} else if (e.key === "Escape" && (anchor >= 0 || page.state.get().sel)) {
			if (anchor < 0)
				page.state.set({ sel: null, sel2: null }, "push");
			anchor = -1;
		} else {
			return;
		}
		surface.redraw();
		e.preventDefault();
		e.stopPropagation();
	});

	const wanted = () => Math.max(1,
		Math.floor(((box.clientWidth || root.clientWidth || 900) - LEFT - 4) / LEAST));

	const panel = makePanel<ArrayBuffer>(root, page, {
		range: () => ({ from: 0, to: page.info.duration_ns }),
		changed: (now, before) => !same("heat", now, before),
		blank: (state) => (state.heat.kind === "samples" ? ""
			: unseenWords(page, "switches")),
		ask: (state: State) => page.ask("heat", {
			kind: state.heat.kind,
			threads: state.threads,
			cols: wanted(),
			rows: ROWS,
		}),
		show(bytes, state) {
			heat = makeHeat(bytes, page.info.duration_ns, state.heat.kind);
			if (!heat.most) {
				panel.say(nothingWords(page, { ...state, sel: null },
					state.heat.kind === "samples" ? "cpu" : "wait"));
				return;
			}
			cursor = Math.min(cursor, heat.cells - 1);
			if (!panel.body.contains(box))
				panel.body.replaceChildren(box, foot);
			showScale();
			describe(-1);
			surface.redraw();
		},
	});
	panel.body.classList.add("heat");
	panel.tools.append(kind.root, reasons);
	const controls = () => {
		const now = page.state.get().heat.kind;
		kind.set(now);
		reasons.value = now.startsWith("reason:") ? now : "";
	};
	controls();
	page.state.subscribe((now, before) => {
		if (!same("heat", now, before))
			controls();
		if (!same("sel", now, before) || !same("sel2", now, before))
			surface.redraw();
	});
}
