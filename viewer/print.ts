// SPDX-License-Identifier: MIT
/*
 * On paper the page has no controls, and so it must say itself what it is about: this puts a head
 * with the recording, the range and the threads in front of it, for the time of printing.
 */
import { recorded, whenAndWhere } from "./lead";
import type { Page } from "./page";
import { scopeWords, threadWords } from "./panel";
import { scope } from "./state";
import { el, plural } from "./util";

/* A page of A4 between its margins, in CSS pixels. */
const PAPER = 690;

export function mountPrint(root: HTMLElement, page: Page): void {
	const { info } = page;
	const scopeLine = el("p");
	const head = el("header", { class: "print-head" },
		el("h1", {}, recorded(info)),
		el("p", {}, `${whenAndWhere(page)}` +
			(info.compared ? "." : (info.capture.kernel ? `, Linux ${info.capture.kernel}` : "") +
			(info.capture.cpus ? `, ${plural(info.capture.cpus, "CPU")}` : "") +
			`, recorded by thaw's ${info.capture.engine} engine.`)),
		scopeLine);
	root.prepend(head);
	addEventListener("beforeprint", () => {
		const wide = root.querySelector("#timeline")?.clientWidth ?? PAPER;
		root.style.setProperty("--paper-zoom", String(Math.min(1, PAPER / wide)));
		const state = page.state.get();
		scopeLine.textContent = "Below: " + scopeWords(page, scope(state, info.duration_ns),
			threadWords(page, state.threads)) + ".";
	});
}
