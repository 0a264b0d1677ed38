// SPDX-License-Identifier: MIT
/* Left of the ruler: buttons to zoom, for those without a wheel, and how long the selection is. */
import type { Page } from "./page";
import type { View } from "./timeline-view";
import { duration, el } from "./util";

export function makeCorner(page: Page, view: View): HTMLElement {
	const button = (text: string, label: string, run: () => void) =>
		el("button", { class: "tl-zoom", "aria-label": label, title: label, onclick: run }, text);
	const sel = el("button", {
		class: "tl-sel",
		"data-test": "selection",
		onclick: () => page.state.set({ sel: null, sel2: null }, "push"),
	});
	const show = () => {
		const range = page.state.get().sel;
		const time = range ? duration(range.to - range.from) : "";
		sel.classList.toggle("empty", !range);
		sel.disabled = !range;
		sel.textContent = range ? `${time} ✕` : "";
		sel.title = range ? `${time} are selected; click to clear the selection (Esc)` : "";
		sel.setAttribute("aria-label", range ? `Clear the selection of ${time}` : "No selection");
	};
	show();
	page.state.subscribe(show);
	return el("div", { class: "tl-corner" },
		button("−", "Zoom out (-)", () => view.glideZoom(2)),
		button("+", "Zoom in (+)", () => view.glideZoom(0.5)),
		button("↔", "Show all (0)", () => view.glide({ from: 0, to: view.duration }, "push")),
		el("span", { class: "grow" }), sel);
}
