// SPDX-License-Identifier: MIT
/*
 * A table that can be sorted and walked. Only the first rows are put into the document; a button at
 * the end shows more, so that ten thousand threads do not hold up the page.
 *
 * Keys: the arrows, Home, End, PageUp and PageDown move from row to row, Enter or Space picks.
 */
import { count, el } from "./util";

const PART = 200;

export interface Column<T> {
	id: string;
	head: string;
	title?: string;
	/* Numbers are set to the right, and sort from the largest first. */
	number?: boolean;
	/* How wide it may grow; the others take what they need. */
	wide?: boolean;
	/* Left out where there is little space. */
	optional?: boolean;
	value(row: T): number | string;
	/* The cell's content; the value itself where this is left out. */
	cell?(row: T): Node | string;
}

export interface TableParts<T> {
	label: string;
	columns: Column<T>[];
	sort: string;
	up?: boolean;
	/* Tells rows apart over updates, so that the picked one stays picked. */
	key(row: T): string;
	pick?(row: T): void;
}

export interface Table<T> {
	root: HTMLElement;
	rows(rows: readonly T[]): void;
	picked(key: string | null): void;
}

function classes<T>(c: Column<T>): string {
	return [c.number && "number", c.wide && "wide", c.optional
		&& "optional"].filter(Boolean).join(" ");
}

export function makeTable<T>(parts: TableParts<T>): Table<T> {
	let all: readonly T[] = [];
	let sorted: T[] = [];
	let sort = parts.sort;
	let up = parts.up ?? false;
	let shown = PART;
	let current: string | null = null;

	const body = el("tbody");
	const heads = parts.columns.map((c) => {
		const button = el("button", { class: "sort", onclick: () => sortBy(c) }, c.head);
		return el("th", {
			scope: "col",
			class: classes(c),
			title: c.title,
		}, button);
	});
	const more = el("button", { class: "more link", onclick: () => {
		const at = shown;
		shown += 5 * PART;
		fill();
		(body.children[at] as HTMLElement | undefined)?.focus();
	} });
	const table = el("table", { class: "table", role: "grid", "aria-label": parts.label },
		el("thead", {}, el("tr", {}, ...heads)), body);
	const root = el("div", { class: "table-box" }, table, more);

	function sortBy(c: Column<T>): void {
		up = sort === c.id ? !up : !c.number;
		sort = c.id;
		shown = PART;
		order();
		fill();
	}

	function order(): void {
		const column = parts.columns.find((c) => c.id === sort)!;
		const sign = up ? 1 : -1;
		sorted = [...all].sort((a, b) => {
			const x = column.value(a);
			const y = column.value(b);
			if (typeof x === "number" && typeof y === "number")
				return sign * (x - y);
			return sign * String(x).localeCompare(String(y), undefined,
				{ numeric: true });
		});
		heads.forEach((th, i) => {
			const on = parts.columns[i]!.id === sort;
			th.setAttribute("aria-sort", on ? (up ? "ascending" : "descending")
				: "none");
		});
	}

	function line(row: T): HTMLTableRowElement {
		const key = parts.key(row);
		const tr = el("tr", { "data-key": key, "aria-selected": key === current ? "true"
			: null });
		for (const c of parts.columns) {
			const content = c.cell ? c.cell(row) : String(c.value(row));
			tr.append(el("td", { class: classes(c) }, content));
		}
		if (parts.pick) {
			tr.classList.add("pickable");
			tr.tabIndex = -1;
			tr.addEventListener("click", () => pick(row, tr));
		}
		return tr;
	}

	function pick(row: T, tr: HTMLElement): void {
		/* Text that a person is marking in order to copy it is no click. */
		if (getSelection()?.toString() && tr.contains(getSelection()!.anchorNode))
			return;
		mark(parts.key(row));
		parts.pick?.(row);
	}

	function fill(): void {
		const active = body.contains(document.activeElement)
			? (document.activeElement as HTMLElement).dataset.key : undefined;
		body.replaceChildren(...sorted.slice(0, shown).map(line));
		const rest = sorted.length - shown;
		more.hidden = rest <= 0;
		more.textContent = `${count(Math.max(0, rest))} more`;
		mark(current);
		if (active !== undefined)
			find(active)?.focus();
	}

	function find(key: string): HTMLElement | undefined {
		return ([...body.children] as HTMLElement[]).find((tr) => tr.dataset.key === key);
	}

	function mark(key: string | null): void {
		current = key;
		let entry: HTMLElement | undefined;
		for (const tr of body.children as HTMLCollectionOf<HTMLElement>) {
			const on = key !== null && tr.dataset.key === key;
			if (on) {
				tr.setAttribute("aria-selected", "true");
				entry = tr;
			} else {
				tr.removeAttribute("aria-selected");
			}
			if (parts.pick)
				tr.tabIndex = -1;
		}
		entry ??= body.firstElementChild as HTMLElement | undefined;
		if (entry && parts.pick)
			entry.tabIndex = 0;
	}

	body.addEventListener("keydown", (e) => {
		const tr = (e.target as HTMLElement).closest("tr");
		if (!tr || e.target !== tr)
			return;
		const rows = [...body.children] as HTMLElement[];
		const at = rows.indexOf(tr);
		const to = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + 10, PageUp: at - 10,
			     Home: 0, End: rows.length - 1 }[e.key];
		if (to !== undefined)
			rows[Math.max(0, Math.min(rows.length - 1, to))]?.focus();
		else if (e.key === "Enter" || e.key === " ")
			tr.click();
		else
			return;
		e.preventDefault();
		e.stopPropagation();
	});

	return {
		root,
		rows(rows) {
			all = rows;
			shown = PART;
			order();
			fill();
		},
		picked: mark,
	};
}

/* A number with its share of the largest as a bar behind it, and more words on pointing at it. */
export function barCell(text: string, share: number, title?: string): HTMLElement {
	const bar = el("span", { class: "bar" });
	bar.style.width = `${Math.max(0, Math.min(1, share)) * 100}%`;
	return el("span", { class: "bar-cell", title }, bar,
		el("span", { class: "bar-text" }, text));
}
