// SPDX-License-Identifier: MIT
/*
 * The page's frame: which part stands where, and the tabs. Sizes are style.css's; nothing here
 * moves when an answer arrives.
 */
import type { Page } from "./page";
import { same } from "./state";
import { tabsOf } from "./tabs";
import { byId, clamp, el } from "./util";

/** Fired at a tab's root each time that it becomes visible. */
export const SHOWN = "thaw:shown";

/** The tab that is shown: that of the address, or the first. */
export function currentTab(page: Page): string {
	const want = page.state.get().tab;
	const tabs = tabsOf(page);
	return tabs.some((t) => t.id === want) ? want : tabs[0]?.id ?? "";
}

export function mountTabs(root: HTMLElement, page: Page): void {
	const tabs = tabsOf(page);
	const bar = el("div", { class: "tabbar", role: "tablist", "aria-label": "Views of the selection" });
	const roots = new Map<string, HTMLElement>();
	const buttons = new Map<string, HTMLButtonElement>();
	const mounted = new Set<string>();

	for (const tab of tabs) {
		const button = el("button", {
			class: "tab",
			role: "tab",
			id: `tab-${tab.id}`,
			"aria-controls": `panel-${tab.id}`,
			"data-test": `tab-${tab.id}`,
			onclick: () => page.state.set({ tab: tab.id }, "push"),
		}, tab.title);
		const panel = el("div", {
			class: "panel",
			role: "tabpanel",
			id: `panel-${tab.id}`,
			"aria-labelledby": `tab-${tab.id}`,
			tabindex: 0,
			hidden: true,
		});
		bar.append(button);
		buttons.set(tab.id, button);
		roots.set(tab.id, panel);
	}
	bar.addEventListener("keydown", (e) => {
		const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
		if (!step)
			return;
		const at = tabs.findIndex((t) => t.id === currentTab(page));
		const next = tabs[(at + step + tabs.length) % tabs.length];
		page.state.set({ tab: next.id }, "push");
		buttons.get(next.id)?.focus();
		e.preventDefault();
		e.stopPropagation();
	});
	root.replaceChildren(bar, ...roots.values());

	const show = () => {
		const id = currentTab(page);
		for (const tab of tabs) {
			const panel = roots.get(tab.id)!;
			const on = tab.id === id;
			panel.hidden = !on;
			buttons.get(tab.id)!.setAttribute("aria-selected", String(on));
			buttons.get(tab.id)!.tabIndex = on ? 0 : -1;
			if (!on)
				continue;
			if (!mounted.has(id)) {
				mounted.add(id);
				tab.mount(panel, page);
			}
			panel.dispatchEvent(new Event(SHOWN));
		}
	};
	show();
	page.state.subscribe((now, before) => {
		if (!same("tab", now, before))
			show();
	});
}

const SPLIT_MIN = 15; /* percent of the window */
const SPLIT_MAX = 70;
const SPLIT_STEP = 4;

/** The line between the timeline and the tabs, to be dragged or moved by the arrow keys. */
export function mountSplit(root: HTMLElement): void {
	let share = 42;
	const put = (percent: number) => {
		share = clamp(percent, SPLIT_MIN, SPLIT_MAX);
		byId("page").style.setProperty("--tabs", `${share}%`);
		root.setAttribute("aria-valuenow", String(Math.round(share)));
	};
	const attributes = {
		role: "separator",
		tabindex: "0",
		"aria-orientation": "horizontal",
		"aria-label": "Height of the panels below the timeline",
		"aria-valuemin": String(SPLIT_MIN),
		"aria-valuemax": String(SPLIT_MAX),
	};
	Object.entries(attributes).forEach(([key, value]) => root.setAttribute(key, value));
	put(share);
	root.addEventListener("pointerdown", (e) => root.setPointerCapture(e.pointerId));
	root.addEventListener("pointermove", (e) => {
		if (root.hasPointerCapture(e.pointerId))
			put((100 * (innerHeight - e.clientY)) / innerHeight);
	});
	root.addEventListener("keydown", (e) => {
		const step = e.key === "ArrowUp" ? SPLIT_STEP : e.key === "ArrowDown" ? -SPLIT_STEP : 0;
		if (!step)
			return;
		put(share + step);
		e.preventDefault();
	});
}

/** The sentence that stands instead of the page: still loading, or nothing to show. */
export function showMessage(title: string, text: string, progress?: number): void {
	const bar = progress === undefined ? null
		: el("progress", { max: 1, value: progress, "aria-label": "Loading" });
	byId("message").replaceChildren(el("h1", {}, title), el("p", {}, text), bar ?? "");
	byId("message").hidden = false;
	byId("page").hidden = true;
}

export function showPage(): void {
	byId("message").hidden = true;
	byId("page").hidden = false;
}

const TOAST_MS = 6000;
let toastTimer = 0;

/** What went wrong while the page is in use: said once, without taking the page away. */
export function toast(text: string): void {
	const root = byId("toast");
	root.textContent = text;
	root.hidden = false;
	clearTimeout(toastTimer);
	toastTimer = setTimeout(() => (root.hidden = true), TOAST_MS);
}
