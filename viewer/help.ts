// SPDX-License-Identifier: MIT
/*
 * The overlay that lists the keys and what the mouse does. A dialog of the browser: it keeps the
 * focus inside, and Escape closes it.
 */
import type { Key } from "./keys";
import { el } from "./util";

const MOUSE: [string, string][] = [
	["wheel", "zoom around the pointer"],
	["shift + wheel", "move through time"],
	["alt + wheel", "scroll the lanes"],
	["drag", "move"],
	["shift + drag", "select a range: everything below follows it"],
	["drag the ruler", "the same"],
	["shift + ctrl + drag", "select a second range to compare with"],
	["click", "what the thread did there, and why"],
	["double click", "zoom to that interval"],
	["click a name", "only this thread; with ctrl, this one too"],
	["two fingers", "zoom"],
];

function rows(list: [Node[], string][]): HTMLElement {
	const dl = el("dl", { class: "keys" });
	for (const [what, words] of list)
		dl.append(el("dt", {}, ...what), el("dd", {}, words));
	return dl;
}

function keyRow(key: Key): [Node[], string] {
	return [key.shown.map((s) => el("kbd", {}, s)), key.words];
}

export function makeHelp(table: Key[]): () => void {
	const close = el("button", { class: "button", "aria-label": "Close" }, "Close");
	const dialog = el("dialog", { class: "help", "aria-label": "Help", "data-test": "help-dialog" },
		el("header", {}, el("h2", {}, "How to look around"), close),
		el("div", { class: "help-columns" },
			el("section", {}, el("h3", {}, "Keys"), rows(table.map(keyRow))),
			el("section", {}, el("h3", {}, "Mouse and fingers"),
				rows(MOUSE.map(([what, words]) => [[document.createTextNode(what)], words])),
				el("h3", {}, "What you see"),
				el("p", {}, "Each lane is a thread, each colour what it did: green is running, yellow " +
					"wants a CPU, warm colours wait for a lock. Where a pixel holds more than one " +
					"interval, it is divided in the true proportions. The address of this page " +
					"holds the view: copy it, and it shows the same."))));
	close.addEventListener("click", () => dialog.close());
	dialog.addEventListener("click", (e) => {
		if (e.target === dialog)
			dialog.close();
	});
	document.body.append(dialog);
	return () => (dialog.open ? dialog.close() : dialog.showModal());
}
