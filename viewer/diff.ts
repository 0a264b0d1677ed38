// SPDX-License-Identifier: MIT
/*
 * Two ranges compared: by how many points of the whole a part has grown or shrunk. Blue is less,
 * red is more, and what has not changed is the background's grey, so the scale reads without telling
 * red from green; words and numbers say the same.
 */
import type { FlameTree } from "./flame-data";
import type { Page, Range } from "./page";
import { isDark } from "./palette";
import type { State } from "./state";
import { el, isOfTwo, moments } from "./util";

type Rgb = readonly [number, number, number];

const LIGHT: readonly Rgb[] = [[33, 102, 172], [225, 228, 232], [190, 55, 30]];
const DARK: readonly Rgb[] = [[67, 147, 212], [58, 64, 73], [226, 92, 62]];

/* A change of this much of the whole has the full colour. */
const FULL = 0.25;

/* -1..1, the same for any sign: the root makes small changes visible without exaggerating. */
function strength(delta: number): number {
	const s = Math.min(1, Math.sqrt(Math.abs(delta) / FULL));
	return delta < 0 ? -s : s;
}

export function diffColour(delta: number): string {
	const [less, none, more] = (isDark() ? DARK : LIGHT) as [Rgb, Rgb, Rgb];
	const s = strength(delta);
	const end = s < 0 ? less : more;
	const mix = [0, 1, 2].map((i) => Math.round(none[i]! + (end[i]! - none[i]!) * Math.abs(s)));
	return "#" + mix.map((v) => v.toString(16).padStart(2, "0")).join("");
}

export function diffOf(tree: FlameTree, node: number): number {
	const one = tree.total > 0 ? tree.value[node]! / tree.total : 0;
	const two = tree.total2 > 0 ? tree.value2[node]! / tree.total2 : 0;
	return two - one;
}

function points(share: number): string {
	const p = Math.abs(share) * 100;
	return p >= 9.95 ? p.toFixed(0) : p >= 0.095 ? p.toFixed(1) : p.toFixed(2);
}

/* "12% in the first range, 30% in the second: 18 points more" */
export function diffWords(tree: FlameTree, node: number): string {
	const one = tree.total > 0 ? tree.value[node]! / tree.total : 0;
	const two = tree.total2 > 0 ? tree.value2[node]! / tree.total2 : 0;
	const delta = two - one;
	const change = Math.abs(delta) < 0.00005 ? "no change"
		: !one ? "only in the second"
		: !two ? "only in the first"
		: `${points(delta)} points ${delta > 0 ? "more" : "less"}`;
	return `${points(one)}% in the first range, ${points(two)}% in the second: ${change}`;
}

/* What is compared with what, and what the colours mean. */
export function diffLegend(page: Page, state: State, clear: () => void): HTMLElement {
	const scale = el("span", { class: "diff-scale", role: "img",
		"aria-label": "Blue: a smaller share in the second range. Red: a larger one." });
	for (const delta of [-0.25, -0.12, -0.04, -0.01, 0, 0.01, 0.04, 0.12, 0.25]) {
		const step = el("span");
		step.style.background = diffColour(delta);
		scale.append(step);
	}
	const first = state.sel ?? { from: 0, to: page.info.duration_ns };
	/* A capture by its name, as long as the range is that of thaw diff. */
	const words = (range: Range, which: 0 | 1) => {
		const side = page.info.compared?.sides[which];
		return side && isOfTwo(page.info) && side.from === range.from && side.from + side.ns === range.to
			? side.name : moments(page.info, range);
	};
	return el("div", { class: "diff-legend", "data-test": "diff-legend" },
		el("span", {}, `first ${words(first, 0)}`),
		el("span", {}, state.sel2 ? `second ${words(state.sel2, 1)}` : ""),
		el("span", { class: "diff-key" }, "less in the second ", scale, " more"),
		el("button", { class: "link", onclick: clear }, "end comparison"));
}
