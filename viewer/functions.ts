// SPDX-License-Identifier: MIT
/*
 * Functions by the time that was spent in them (self) and in all that they called (total). A click
 * on one shows who called it and what it called, and from there one can go on.
 */
import { flameTree, nodeKey, type FlameReply } from "./flame-data";
import { makeFlameTree } from "./flame-tree";
import { Latest } from "./ask";
import type { Page } from "./page";
import { choice, idleToggle, kindArgs, makePanel, scopeArgs } from "./panel";
import { same, type State } from "./state";
import { barCell, makeTable } from "./table";
import { count, duration, el, percent, plural } from "./util";
import { nothingWords } from "./words";

interface Func {
	name: string;
	module: string;
	file: string | null;
	line: number;
	kernel: boolean;
	self: number;
	total: number;
}

interface FunctionsReply {
	unit: "samples" | "ns";
	total: number;
	functions_total: number;
	functions: Func[];
}

interface FunctionReply {
	unit: "samples" | "ns";
	self: number;
	value: number; /* with all that it called */
	total: number; /* of all functions */
	callers: FlameReply;
	callees: FlameReply;
}

type Kind = State["flame"]["kind"];

function place(f: Func): string {
	const file = (f.file ?? "").replace(/^.*\//, "");
	return file && f.line ? `${file}:${f.line}` : file;
}

function keyOf(f: { name: string; module: string }): string {
	return `${f.module}!${f.name}`;
}

function parseKey(key: string): { module: string; name: string } {
	const at = key.indexOf("!");
	return { module: key.slice(0, Math.max(0, at)), name: key.slice(at + 1) };
}

export function mountFunctions(root: HTMLElement, page: Page): void {
	let answer: FunctionsReply | null = null;
	let most = 1;

	const amount = (v: number) => (answer?.unit === "ns" ? duration(v) : count(v));
	const words = (v: number) => (answer?.unit === "ns" ? duration(v) : plural(v, "sample"));
	const share = (v: number) => percent(v, answer?.total ?? 0);

	const kind = choice<Kind>("What is counted", [
		["cpu", "On CPU", "Samples of running code"],
		["wait", "Waiting", "Time that threads waited in it"],
		["both", "Both", "Running and waiting on one scale of time"],
	], (value) => {
		const { flame } = page.state.get();
		page.state.set({ flame: { ...flame, kind: value, zoom: "" } }, "push");
	});
	const filter: HTMLInputElement = el("input", {
		type: "search",
		class: "search",
		placeholder: "Only names with …",
		"aria-label": "Show only functions whose name or module has this in it",
		spellcheck: "false",
		autocomplete: "off",
		oninput: () => fill(),
	});

	const table = makeTable<Func>({
		label: "Functions",
		sort: "self",
		key: keyOf,
		columns: [
			{ id: "self", head: "Self", title: "In the function itself", number: true,
			  value: (f) => f.self,
			  cell: (f) => barCell(share(f.self), f.self / most, amount(f.self)) },
			{ id: "total", head: "Total", title: "In it and in all that it called",
				number: true,
			  value: (f) => f.total,
			  cell: (f) => barCell(share(f.total), f.total / most, amount(f.total)) },
			{ id: "name", head: "Function", wide: true, value: (f) => f.name,
			  cell: (f) => el("span", { class: f.kernel ? "func kernel" : "func",
				title: f.name }, f.name) },
			{ id: "module", head: "Module", optional: true, value: (f) => f.module },
			{ id: "place", head: "Source", optional: true, value: place,
			  cell: (f) => el("span", { title: f.file ?? "" }, place(f)) },
		],
		pick: (f) => page.state.set({ func: keyOf(f) }, "push"),
	});
	const side = el("section", { class: "side", "aria-label": "Callers and callees" });
	const note = el("p", { class: "note" });
	const main = el("div", { class: "main" }, table.root, note);
	const split = el("div", { class: "split" }, main, side);

	function fill(): void {
		if (!answer)
			return;
		const text = filter.value.trim().toLowerCase();
		const rows = text ? answer.functions.filter((f) =>
			f.name.toLowerCase().includes(text)
				|| f.module.toLowerCase().includes(text))
			: answer.functions;
		table.rows(rows);
		table.picked(page.state.get().func || null);
		const left = answer.functions_total - answer.functions.length;
		note.textContent = !rows.length
			? `No function has "${filter.value.trim()}" in its name.`
			: left > 0 ? `${count(left)} more have less than any of these.` : "";
	}

	/* ---- callers and callees ---- */
	function trees(func: string, reply: FunctionReply): void {
		const { name, module } = parseKey(func);
		const part = (title: string, none: string, one: FlameReply) => {
			const tree = flameTree(one);
			const go = (node: number) =>
				page.state.set({ func: nodeKey(tree, node) }, "push");
			const list = tree.n > 1 ? makeFlameTree(tree, amount, () => {}, go)
				: el("p", { class: "dim" }, none);
			return el("section", {}, el("h3", {}, title), list);
		};
		side.replaceChildren(
			el("h2", {}, name, el("span", { class: "dim" }, module && ` ${module}`)),
			el("p", {}, `Self ${share(reply.self)}, ${words(reply.self)}; with all that it ` +
				`called ${share(reply.value)}, ${words(reply.value)}.`),
			part("Called by", "Nothing called it: stacks begin here.", reply.callers),
			part("Calls", "It called nothing that was seen.", reply.callees),
			el("p", { class: "dim" }, "A double click or Enter goes on to that function."));
		side.hidden = false;
	}

	const detail = new Latest<State, FunctionReply>(
		(state) => page.askJson<FunctionReply>("function", {
			...scopeArgs(page, state),
			...parseKey(state.func),
			...kindArgs(page, state),
		}),
		(reply, state) => trees(state.func, reply),
		(error) => side.replaceChildren(el("p", { class: "sentence" }, error.message)),
	);

	function askDetail(): void {
		const state = page.state.get();
		table.picked(state.func || null);
		if (state.func && !root.hidden)
			detail.want(state);
		else
			side.hidden = true;
	}

	const panel = makePanel<FunctionsReply>(root, page, {
		changed: (now, before) => now.flame.kind !== before.flame.kind
			|| now.flame.idle !== before.flame.idle,
		ask: (state) => page.askJson<FunctionsReply>("functions", {
			...scopeArgs(page, state),
			...kindArgs(page, state),
		}),
		show(reply, state) {
			answer = reply;
			if (!reply.functions.length) {
				panel.say(nothingWords(page, state, state.flame.kind));
				return;
			}
			most = reply.functions.reduce((m, f) => Math.max(m, f.self), 1);
			if (!panel.body.contains(split))
				panel.body.replaceChildren(split);
			fill();
			askDetail();
		},
	});
	panel.tools.append(idleToggle(page), kind.root, filter);
	kind.set(page.state.get().flame.kind);
	side.hidden = true;
	page.state.subscribe((now, before) => {
		kind.set(now.flame.kind);
		if (!same("func", now, before))
			askDetail();
	});
}
