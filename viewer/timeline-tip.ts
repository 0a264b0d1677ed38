// SPDX-License-Identifier: MIT
/*
 * The tooltip of the timeline and the tabs. It hangs below the lane, not at the pointer's tip, so
 * that it moves in one direction only; it changes its words in place, and it never covers the lane
 * that it is about.
 */
import { byId, clamp, el } from "./util";

const OFFSET = 14;

export class Tip {
	private title = el("div", { class: "tip-title" });
	private text = el("div", { class: "tip-text" });
	private root = el("div", { class: "tip", role: "tooltip", "data-test": "tooltip", hidden: true },
		this.title, this.text);

	constructor(parent: HTMLElement) {
		parent.append(this.root);
	}

	/** x: the pointer; top and bottom: of the lane. All in the window. */
	show(x: number, top: number, bottom: number, title: string, text: string): void {
		if (this.title.textContent !== title)
			this.title.textContent = title;
		if (this.text.textContent !== text)
			this.text.textContent = text;
		this.root.hidden = false;
		const { width, height } = this.root.getBoundingClientRect();
		const below = bottom + 6 + height <= innerHeight;
		const left = x + OFFSET + width <= innerWidth ? x + OFFSET : x - OFFSET - width;
		this.root.style.left = `${Math.round(clamp(left, 4, Math.max(4, innerWidth - width - 4)))}px`;
		this.root.style.top = `${Math.round(below ? bottom + 6 : top - 6 - height)}px`;
	}

	hide(): void {
		this.root.hidden = true;
	}
}

let shared: Tip | null = null;

/** One for all parts of the page: the pointer is in one place. */
export function pageTip(): Tip {
	return (shared ??= new Tip(byId("overlay")));
}
