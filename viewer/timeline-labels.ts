// SPDX-License-Identifier: MIT
/*
 * The names left of the lanes: real elements, because they are buttons and can be searched and
 * copied, but only for the rows in sight. They are reused while one scrolls.
 */
import type { Page } from "./page";
import type { Row, Rows } from "./timeline-rows";
import { el, plural } from "./util";

export interface LabelActions {
	toggle(key: string): void;
	only(threads: number[], add: boolean): void;
}

interface Slot {
	root: HTMLElement;
	key: string;
}

function keyOf(row: Row, rows: Rows, only: Set<number> | null): string {
	switch (row.kind) {
	case "cpus":
		return `cpus/${rows.isOpen("cpus")}`;
	case "cpu":
		return `cpu/${row.cpu}`;
	case "process":
		return [row.process.key, rows.isOpen(row.process.key),
			row.process.threads.every((t) => only?.has(t.index))].join("/");
	case "thread":
		return `t${row.thread.index}/${only?.has(row.thread.index)}`;
	}
}

export class Labels {
	private slots: Slot[] = [];

	constructor(
		private root: HTMLElement,
		private page: Page,
		private rows: Rows,
		private actions: LabelActions,
	) {}

	update(visible: Row[], top: number): void {
		const { threads, focus, stall } = this.page.state.get();
		const culprit = stall === null ? null : this.page.info.stalls[stall]?.culprit;
		const only = threads && new Set(threads);
		while (this.slots.length < visible.length) {
			const slot = { root: el("div", { class: "tl-label" }), key: "" };
			this.slots.push(slot);
			this.root.append(slot.root);
		}
		this.slots.forEach((slot, i) => {
			const row = visible[i];
			slot.root.hidden = !row;
			if (!row)
				return;
			const key = keyOf(row, this.rows, only);
			if (key !== slot.key) {
				slot.key = key;
				this.fill(slot.root, row, only);
			}
			slot.root.style.transform = `translateY(${row.y - top}px)`;
			slot.root.style.height = `${row.h}px`;
			slot.root.classList.toggle("current",
				row.kind === "thread" && row.thread.index === focus?.thread);
			slot.root.classList.toggle("culprit",
				row.kind === "thread" && row.thread.index === culprit);
		});
	}

	private fill(root: HTMLElement, row: Row, only: Set<number> | null): void {
		root.className = `tl-label ${row.kind}`;
		switch (row.kind) {
		case "cpu":
			root.replaceChildren(el("span", { class: "tl-name" }, `CPU ${row.cpu}`));
			break;
		case "cpus":
			root.replaceChildren(this.caret("cpus", "CPUs"), el("span", { class: "tl-name" }, "CPUs"),
				el("span", { class: "tl-note" }, String(row.cpus)));
			break;
		case "process": {
			const { process } = row;
			const name = process.name || "?";
			root.replaceChildren(this.caret(process.key, name),
				this.filter(name, process.threads.map((t) => t.index), only),
				el("span", { class: "tl-note" },
					`${process.pid ? `${process.pid} · ` : ""}${plural(process.threads.length, "thread")}`));
			break;
		}
		case "thread":
			root.replaceChildren(this.filter(row.thread.comm || "?", [row.thread.index], only),
				el("span", { class: "tl-note" }, String(row.thread.tid)));
			break;
		}
	}

	private caret(key: string, name: string): HTMLElement {
		const open = this.rows.isOpen(key);
		return el("button", {
			class: "tl-caret",
			"aria-expanded": String(open),
			"aria-label": `${open ? "Close" : "Open"} ${name}`,
			onclick: () => this.actions.toggle(key),
		}, open ? "▾" : "▸");
	}

	private filter(name: string, threads: number[], only: Set<number> | null): HTMLElement {
		const on = threads.every((t) => only?.has(t));
		return el("button", {
			class: "tl-name",
			"aria-pressed": String(on),
			title: on ? "Show all threads again" : `Only ${name} (with Ctrl: this one too)`,
			onclick: (e) => this.actions.only(threads, (e as MouseEvent).ctrlKey || (e as MouseEvent).metaKey),
		}, name);
	}
}
