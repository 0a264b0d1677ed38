// SPDX-License-Identifier: MIT
/*
 * The flame graph tab: which stacks the time of the selection went to. On CPU it counts samples,
 * waiting it sums up time, and both puts the two on one scale. With a second range it shows what
 * has changed between the two.
 */
import { diffLegend, diffWords } from "./diff";
import { FlameCanvas } from "./flame-canvas";
import { flameColours, mixedColour, moduleColour } from "./flame-colour";
import {
	flameTree, nodeAt, nodeKey, nodeModule, nodeName, pathOf, placeOf, type FlameReply, type FlameTree,
} from "./flame-data";
import { matcher, search, type Matches } from "./flame-search";
import { makeFlameTree } from "./flame-tree";
import type { Page } from "./page";
import { color, RUNNING } from "./palette";
import { choice, idleToggle, kindArgs, makePanel, scopeArgs, toggle } from "./panel";
import { copyButton } from "./stack";
import { same, type Flame, type State } from "./state";
import { pageTip } from "./timeline-tip";
import { count, duration, el, percent, plural } from "./util";
import { nothingWords } from "./words";

const LEGEND = 5;

function asksAnew(now: State, before: State): boolean {
	const a = now.flame;
	const b = before.flame;
	return a.kind !== b.kind || a.invert !== b.invert || a.by !== b.by || a.idle !== b.idle ||
		!same("sel2", now, before);
}

/* The modules or reasons that most of the graph's own time is in, with their colours. */
function legendOf(tree: FlameTree, page: Page): [string, string, number][] {
	const sums = new Map<string, { colour: string; sum: number }>();
	for (let i = 1; i < tree.n; i++) {
		const self = tree.self[i]!;
		if (!self)
			continue;
		const reason = tree.reason[i]!;
		const waits = tree.hasReasons && reason >= 0 && reason !== RUNNING;
		const kernel = tree.kernel[i] === 1;
		const name = waits ? page.reason(reason)?.label ?? "not known"
			: kernel ? "kernel" : nodeModule(tree, i) || "no module";
		const known = sums.get(name);
		if (known)
			known.sum += self;
		else
			sums.set(name, {
				colour: waits ? color(reason)
					: moduleColour(nodeModule(tree, i), kernel),
				sum: self,
			});
	}
	return [...sums].map(([name, { colour, sum }]): [string, string, number] =>
		[name, colour, sum])
		.sort((a, b) => b[2] - a[2]);
}

export function mountFlame(root: HTMLElement, page: Page): void {
	let tree: FlameTree | null = null;
	let asTree = false;
	let matches: Matches | null = null;

	const set = (patch: Partial<Flame>, how: "push" | "replace" = "push") =>
		page.state.set({ flame: { ...page.state.get().flame, ...patch } }, how);

	/* ---- controls ---- */
	const kind = choice<Flame["kind"]>("What is counted", [
		["cpu", "On CPU", "Samples of running code"],
		["wait", "Waiting", "Time that threads waited, by where and why"],
		["both", "Both", "Running and waiting on one scale of time"],
	], (value) => set({ kind: value, zoom: "" }));
	const invert = toggle("Inverted", "Begin with where the time was spent; callers are below",
		() => set({ invert: !page.state.get().flame.invert, zoom: "" }));
	const by = toggle("By thread", "A tower for each thread",
		() => set({ by: page.state.get().flame.by ? "" : "thread", zoom: "" }));
	const list = toggle("As list", "The same as a tree to open and to read aloud", () => {
		asTree = !asTree;
		list.set(asTree);
		show();
	});
	const field: HTMLInputElement = el("input", {
		type: "search",
		class: "search",
		placeholder: "Search, or /regex/",
		"aria-label": "Search the flame graph",
		"data-test": "flame-search",
		spellcheck: "false",
		autocomplete: "off",
		oninput: () => set({ search: field.value }, "replace"),
	});
	field.addEventListener("keydown", (e) => {
		if (e.key !== "Escape" || !field.value)
			return;
		field.value = "";
		set({ search: "" }, "replace");
		e.stopPropagation();
	});

	/* ---- parts ---- */
	const crumbs = el("nav", { class: "crumbs", "aria-label": "Where the graph is zoomed to" });
	const found = el("span", { class: "found", role: "status", "data-test": "flame-found" });
	const line = el("div", { class: "flame-line" }, crumbs, found);
	const compare = el("div", { class: "flame-compare" });
	const status = el("div", { class: "flame-words", id: "flame-status",
		"aria-live": "polite" });
	const legend = el("div", { class: "swatches", "aria-label": "Colours" });
	const copy = copyButton(() => stackOf(current()), { class: "button" });
	const more = el("button", {
		class: "button",
		title: "Callers and callees of this function",
		onclick: () => {
			const node = current();
			if (tree && node > 0)
				page.state.set({ tab: "functions",
					func: nodeKey(tree, node) }, "push");
		},
	}, "Callers");
	const foot = el("div", { class: "flame-foot" }, status, more, copy, legend);
	const tip = pageTip();
	const graph = new FlameCanvas({
		zoom: (node) => tree && set({ zoom: placeOf(tree, node) }),
		point(node, at) {
			describe(node);
			if (tree && at && node > 0)
				tip.show(at.x, at.top, at.bottom, nodeName(tree, node),
					numbersOf(tree, node));
			else
				tip.hide();
		},
		copy: () => copy.click(),
		escape: () => set(page.state.get().flame.search ? { search: "" } : { zoom: "" }),
	});
	const stage = el("div", { class: "flame-stage" });
	let described = -1;

	function current(): number {
		const node = graph.current();
		return node > 0 ? node : described > 0 ? described : tree ? zoomed() : 0;
	}

	function zoomed(): number {
		return tree ? nodeAt(tree, page.state.get().flame.zoom) : 0;
	}

	function amount(value: number): string {
		return tree?.unit === "ns" ? duration(value) : plural(value, "sample");
	}

	function stackOf(node: number): string {
		if (!tree || node <= 0)
			return "";
		const t = tree;
		const path = pathOf(t, node);
		if (!page.state.get().flame.invert)
			path.reverse();
		return path.map((i) => {
			const module = nodeModule(t, i);
			return nodeName(t, i) + (module ? ` (${module})` : "") +
				(t.inlined[i] ? " [inlined]" : "") + "\n";
		}).join("");
	}

	function numbersOf(t: FlameTree, node: number): string {
		if (t.isDiff)
			return diffWords(t, node);
		return `${percent(t.value[node]!, t.total)}, ${amount(t.value[node]!)}` +
			(t.self[node] ? `; itself ${percent(t.self[node]!, t.total)}` : "");
	}

	function describe(node: number): void {
		described = node;
		copy.disabled = more.disabled = current() <= 0;
		if (!tree || node < 0) {
			status.replaceChildren(el("span", { class: "dim" }, hint()));
			return;
		}
		const t = tree;
		const module = nodeModule(t, node);
		const kinds = [t.kernel[node] ? "kernel" : module, t.inlined[node] ? "inlined" : ""]
			.filter(Boolean).join(", ");
		status.replaceChildren(
			el("b", {}, node === 0 ? "all" : nodeName(t, node)),
			el("span", { class: "dim" }, kinds && ` ${kinds}`),
			el("span", {}, `  ${numbersOf(t, node)}`));
	}

	function hint(): string {
		return asTree ? "Right opens a call, left closes it."
			: page.state.get().flame.invert
			? "On top is what the time was spent in; below it, who called that."
			: "Each box is a call, as wide as its share; below it is what it called.";
	}

	/* ---- showing ---- */
	function showCrumbs(): void {
		if (!tree)
			return;
		const t = tree;
		const node = zoomed();
		const path = [0, ...pathOf(t, node)];
		crumbs.replaceChildren(...path.map((i) => el("button", {
			class: "crumb",
			"aria-current": i === node ? "true" : null,
			onclick: () => set({ zoom: placeOf(t, i) }),
		}, i === 0 ? `all: ${amount(t.total)}${t.isDiff ? ` and ${amount(t.total2)}` : ""}`
			: nodeName(t, i))));
		crumbs.scrollLeft = crumbs.scrollWidth;
	}

	function showSearch(): void {
		const text = page.state.get().flame.search;
		if (field.value !== text)
			field.value = text;
		field.removeAttribute("aria-invalid");
		matches = null;
		found.textContent = "";
		try {
			const match = matcher(text);
			if (match && tree) {
				matches = search(tree, match);
				found.textContent = matches.count
					? `${percent(matches.share, 1)} in ${count(matches.count)} ` +
					  (matches.count === 1 ? "place" : "places")
					: "no function has this in its name";
			}
		} catch (e) {
			field.setAttribute("aria-invalid", "true");
			found.textContent = "this is not a regular expression";
		}
		graph.mark(matches);
	}

	function showLegend(): void {
		if (!tree || tree.isDiff) {
			legend.replaceChildren();
			return;
		}
		const all = legendOf(tree, page);
		const own = tree.self.reduce((sum, v) => sum + v, 0);
		const one = (name: string, colour: string, title: string) => {
			const key = el("i", { class: "swatch" });
			key.style.background = colour;
			return el("span", { class: "swatch-one", title }, key, name);
		};
		legend.replaceChildren(...all.slice(0, LEGEND).map(([name, colour, sum]) =>
			one(name, colour, `${name}: ${percent(sum, own)}`)));
		if (tree.reason.some((r, i) => i > 0 && r < 0) && tree.hasReasons)
			legend.append(one("several", mixedColour(), "Several of these together"));
		if (tree.inlined.includes(1))
			legend.append(el("span", { class: "swatch-one",
				title: "Inlined: it has no frame of its own on the stack" },
			el("i", { class: "inlined-key" }), "inlined"));
	}

	function show(): void {
		if (!tree || tree.total + tree.total2 <= 0) {
			panel.say(nothingWords(page, page.state.get(),
				page.state.get().flame.kind));
			return;
		}
		const state = page.state.get();
		compare.replaceChildren();
		if (tree.isDiff)
			compare.append(diffLegend(page, state,
				() => page.state.set({ sel2: null }, "push")));
		stage.replaceChildren(asTree ? makeFlameTree(tree, amount, describe) : graph.box);
		if (!panel.body.contains(stage))
			panel.body.replaceChildren(line, compare, stage, foot);
		showCrumbs();
		showSearch();
		showLegend();
		describe(-1);
	}

	function controls(): void {
		const f = page.state.get().flame;
		kind.set(f.kind);
		invert.set(f.invert);
		by.set(f.by === "thread");
		list.set(asTree);
		if (document.activeElement !== field)
			field.value = f.search;
	}

	const panel = makePanel<FlameReply>(root, page, {
		changed: asksAnew,
		ask: (state) => page.askJson<FlameReply>("flame", {
			...scopeArgs(page, state),
			...kindArgs(page, state),
			invert: state.flame.invert,
			by: state.flame.by || null,
			from2: state.sel2?.from,
			to2: state.sel2?.to,
		}),
		show(reply) {
			tree = flameTree(reply);
			graph.set(tree, flameColours, zoomed());
			show();
		},
	});
	panel.tools.append(idleToggle(page), kind.root, invert.root, by.root, list.root, field);
	panel.body.classList.add("flame");
	controls();
	page.state.subscribe((now, before) => {
		if (same("flame", now, before))
			return;
		controls();
		if (asksAnew(now, before) || !tree)
			return;
		if (now.flame.zoom !== before.flame.zoom) {
			graph.zoomTo(zoomed());
			showCrumbs();
		}
		if (now.flame.search !== before.flame.search)
			showSearch();
	});
}
