// SPDX-License-Identifier: MIT
/*
 * What colour a node of a flame graph has. Running code: by its module, a calm tone that the same
 * module has in every capture; the kernel is grey. Waiting: by the reason, as in the timeline, and
 * grey where several meet. A comparison: by how much it has changed.
 */
import { diffColour, diffOf } from "./diff";
import type { FlameTree } from "./flame-data";
import { nodeModule } from "./flame-data";
import type { FlameColours } from "./flame-draw";
import { color, inkOn, isDark, RUNNING } from "./palette";

/* Tones that no wait reason has, all of about the same lightness. */
const HUES = [88, 196, 36, 266, 150, 320, 60, 226, 172, 16, 112, 290];

function hash(text: string): number {
	let h = 2166136261;
	for (let i = 0; i < text.length; i++)
		h = Math.imul(h ^ text.charCodeAt(i), 16777619);
	return h >>> 0;
}

function hslToHex(h: number, s: number, l: number): string {
	const a = s * Math.min(l, 1 - l);
	const part = (n: number) => {
		const k = (n + h / 30) % 12;
		const v = l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1));
		return Math.round(255 * v).toString(16).padStart(2, "0");
	};
	return `#${part(0)}${part(8)}${part(4)}`;
}

export function moduleColour(module: string, kernel: boolean): string {
	const dark = isDark();
	if (kernel)
		return dark ? "#3d454f" : "#ccd3db";
	if (!module)
		return dark ? "#4a4f57" : "#dfe2e6";
	const h = hash(module);
	const hue = HUES[h % HUES.length]!;
	const sat = 0.30 + ((h >>> 8) % 3) * 0.05;
	return hslToHex(hue, dark ? sat * 0.75 : sat + 0.12, dark ? 0.33 : 0.80);
}

/* Where threads waited for several reasons, or both ran and waited. */
export function mixedColour(): string {
	return isDark() ? "#4a525d" : "#d0d6dd";
}

/* A CSS variable of style.css, as a canvas needs it. */
export function cssColour(name: string): string {
	return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export function flameColours(tree: FlameTree): FlameColours {
	const dark = isDark();
	const inks = new Map<string, string>();
	const fills = new Map<string, string>();

	const byModule = (node: number) => {
		const module = nodeModule(tree, node);
		const key = tree.kernel[node] ? "[k]" : module;
		let fill = fills.get(key);
		if (!fill)
			fills.set(key, (fill = moduleColour(module, tree.kernel[node] === 1)));
		return fill;
	};
	const fill = (node: number) => {
		if (node === 0)
			return dark ? "#2a3038" : "#e9ecf0";
		if (tree.isDiff)
			return diffColour(diffOf(tree, node));
		const reason = tree.reason[node]!;
		if (reason < 0)
			return tree.hasReasons ? mixedColour() : byModule(node);
		return reason === RUNNING ? byModule(node) : color(reason);
	};
	return {
		fill,
		text(node) {
			const back = fill(node);
			let ink = inks.get(back);
			if (!ink)
				inks.set(back, (ink = inkOn(back)));
			return ink;
		},
		small: dark ? "#343b45" : "#d5dae0",
		focus: cssColour("--focus"),
		hover: cssColour("--ink"),
		mark: dark ? "#ff7ad9" : "#b0007c",
	};
}
