// SPDX-License-Identifier: MIT
/*
 * Finding a thread or a function by its name while one types. Enter goes there: to the thread's lane
 * in the timeline, or to the function's callers and callees.
 */
import { Latest } from "./ask";
import type { Page } from "./page";
import { scope } from "./state";
import { count, el, plural } from "./util";
import { timeless } from "./words";

interface Found {
	threads: { index: number; pid: number; tid: number; comm: string }[];
	threads_total: number;
	functions: { name: string; module: string; kernel: boolean; samples: number }[];
	functions_total: number;
}

const MOST = 30;

export function mountFind(root: HTMLElement, page: Page): void {
	let go: (() => void)[] = [];
	let at = 0;

	const field = el("input", {
		type: "search",
		class: "search",
		role: "combobox",
		"aria-expanded": "false",
		"aria-controls": "find-list",
		"aria-autocomplete": "list",
		"aria-label": "Find a thread or a function",
		placeholder: "Find thread or function  /",
		spellcheck: "false",
		autocomplete: "off",
		"data-test": "find-field",
	});
	const list = el("div", { class: "find-list", id: "find-list", role: "listbox",
		"aria-label": "Found" });
	const state = el("div", { class: "find-state dim", role: "status" });
	const popup = el("div", { class: "find-popup", "data-test": "find", hidden: true }, list,
		state);
	root.classList.add("find");
	root.append(field, popup);

	function show(on: boolean): void {
		popup.hidden = !on;
		field.setAttribute("aria-expanded", String(on));
	}

	function option(kind: string, name: string, more: string, run: () => void): HTMLElement {
		const id = `find-${go.length}`;
		go.push(run);
		return el("div", { class: "find-one", role: "option", id,
			"data-at": go.length - 1 },
			el("span", { class: "find-kind" }, kind),
			el("span", { class: "find-name" }, name),
			el("span", { class: "dim" }, more));
	}

	function mark(next: number): void {
		at = Math.max(0, Math.min(go.length - 1, next));
		for (const one of list.querySelectorAll<HTMLElement>(".find-one")) {
			const on = Number(one.dataset.at) === at;
			one.setAttribute("aria-selected", String(on));
			if (on) {
				one.scrollIntoView({ block: "nearest" });
				field.setAttribute("aria-activedescendant", one.id);
			}
		}
		if (!go.length)
			field.removeAttribute("aria-activedescendant");
	}

	/* Goes to the middle of the thread's life within the range. */
	function goThread(index: number): void {
		if (timeless(page)) {
			page.state.set({ threads: [index] }, "push");
			return;
		}
		const s = page.state.get();
		const t = page.thread(index);
		const range = s.view ?? scope(s, page.info.duration_ns);
		const from = Math.max(range.from, t?.start ?? 0);
		const to = Math.min(range.to, t?.end ?? page.info.duration_ns);
		const ts = from < to ? (from + to) / 2 : ((t?.start ?? 0) + (t?.end ?? 0)) / 2;
		page.state.set({ focus: { thread: index, ts: Math.round(ts) } }, "push");
	}

	function fill(found: Found): void {
		go = [];
		const rows = found.threads.map((t) => option("thread", t.comm, `${t.tid}`,
			() => goThread(t.index)));
		/* Names that begin with the text come first: they were more likely meant. */
		const text = field.value.trim().toLowerCase();
		const first = (f: { name: string }) =>
			(f.name.toLowerCase().startsWith(text) ? 0 : 1);
		for (const f of found.functions.sort((a, b) => first(a) - first(b)))
			rows.push(option("function", f.name,
				[f.kernel ? "kernel" : f.module,
				 f.samples ? plural(f.samples, "sample") : "no samples"].join(", "),
				() => page.state.set(
					{ tab: "functions", func: `${f.module}!${f.name}` },
					"push")));
		list.replaceChildren(...rows);
		const left = found.threads_total + found.functions_total - rows.length;
		state.textContent = !rows.length ? "Nothing has this in its name."
			: left > 0 ? `and ${count(left)} more` : "";
		mark(0);
		show(true);
	}

	const latest = new Latest<string, Found>(
		(text) => page.askJson<Found>("find", { text, max: MOST }),
		(found, text) => {
			if (text === field.value.trim())
				fill(found);
		},
		(error) => (state.textContent = error.message),
	);

	field.addEventListener("input", () => {
		const text = field.value.trim();
		if (text)
			latest.want(text);
		else
			show(false);
	});
	field.addEventListener("focus", () => {
		field.select();
		if (field.value.trim() && go.length)
			show(true);
	});
	root.addEventListener("focusout", (e) => {
		if (!root.contains(e.relatedTarget as Node | null))
			show(false);
	});
	field.addEventListener("keydown", (e) => {
		const step = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[e.key];
		e.stopPropagation();
		if (step !== undefined) {
			mark(at + step);
			e.preventDefault();
		} else if (e.key === "Enter") {
			e.preventDefault();
			run(at);
		} else if (e.key === "Escape") {
			e.preventDefault();
			if (popup.hidden)
				field.blur();
			show(false);
		}
	});
	function run(index: number): void {
		const chosen = popup.hidden ? undefined : go[index];
		if (!chosen)
			return;
		field.blur();
		show(false);
		chosen();
	}
	/* Before the field loses the focus, which hides the list. */
	list.addEventListener("pointerdown", (e) => e.preventDefault());
	list.addEventListener("click", (e) => {
		const one = (e.target as HTMLElement).closest<HTMLElement>(".find-one");
		if (one)
			run(Number(one.dataset.at));
	});
}
