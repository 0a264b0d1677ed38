// SPDX-License-Identifier: MIT
/*
 * How each thread spent the selected range: a bar of running, wanting a CPU and waiting by reason,
 * in the colours of the timeline, and the numbers. A click makes everything be about one thread,
 * with Ctrl or Shift about several.
 */
import type { Page } from "./page";
import { chip, className, color, hatched, LOST, RUNNING, stackOrder } from "./palette";
import { makePanel, scopeArgs } from "./panel";
import { makeTable, type Column } from "./table";
import { count, duration, el, percent } from "./util";
import { timeless, unseen, unseenWords } from "./words";

interface ThreadTime {
	index: number;
	running_ns: number | null;
	runnable_ns: number | null;
	waiting_ns: number | null;
	lost_ns: number | null;
	unseen_ns: number | null; /* of engines that see no switches: whether it ran or waited */
	waits: Record<string, number>;
	samples: number;
}

interface Row extends ThreadTime {
	comm: string;
	tid: number;
	pid: number;
	process: string;
	alive: number;
	parts: [number, number][];
	mostly: string;
}

/* [class, ns] in the order of the timeline's columns. */
function partsOf(page: Page, t: ThreadTime): [number, number][] {
	const ids = new Map(page.info.reasons.map((r) => [r.name, r.id]));
	const parts: [number, number][] = [[RUNNING, t.running_ns ?? 0],
		[LOST, (t.lost_ns ?? 0) + (t.unseen_ns ?? 0)]];
	for (const [name, ns] of Object.entries(t.waits))
		parts.push([ids.get(name) ?? 0, ns]);
	return parts.filter(([, ns]) => ns > 0).sort((a, b) => stackOrder(a[0]) - stackOrder(b[0]));
}

function barOf(row: Row, nameOf: (cls: number) => string): HTMLElement {
	const words = row.parts.map(([cls, ns]) =>
		`${nameOf(cls)} ${percent(ns, row.alive)}`).join(", ");
	const bar = el("span", { class: "parts", role: "img", "aria-label": words, title: words });
	for (const [cls, ns] of row.parts) {
		const part = el("i", { class: hatched(cls) ? "hatched" : "" });
		part.style.width = `${(100 * ns) / (row.alive || 1)}%`;
		part.style.background = color(cls);
		bar.append(part);
	}
	return bar;
}

export function mountThreads(root: HTMLElement, page: Page): void {
	/* Engines that see no switches know nothing of the rest: it is not lost. */
	const nameOf = (cls: number) =>
		(cls === LOST && unseen(page, "switches") ? "not seen" : className(page, cls));
	const share = (ns: number | null, row: Row) => (ns === null ? "–" : percent(ns, row.alive));
	const several = page.info.threads.some((t) => t.pid !== page.info.threads[0]?.pid);
	let extend = false;
	const timed: Column<Row>[] = [
		{ id: "alive", head: "Time", number: true, optional: true,
			title: "How long it lived in this range",
		  value: (r) => r.alive, cell: (r) => duration(r.alive) },
		{ id: "bar", head: "How it was spent", wide: true, value: (r) => r.mostly,
		  cell: (r) => barOf(r, nameOf) },
		{ id: "running", head: "Running", number: true,
			value: (r) => (r.running_ns ?? 0) / (r.alive || 1),
		  cell: (r) => share(r.running_ns, r) },
		{ id: "runnable", head: "Runnable", number: true, optional: true,
			title: "Could run, but had no CPU",
		  value: (r) => (r.runnable_ns ?? 0) / (r.alive || 1),
			cell: (r) => share(r.runnable_ns, r) },
		{ id: "waiting", head: "Waiting", number: true,
		  value: (r) => (r.waiting_ns ?? 0) / (r.alive || 1),
			cell: (r) => share(r.waiting_ns, r) },
		{ id: "mostly", head: "Mostly waits for", optional: true,
			value: (r) => r.mostly },
	];
	const counted: Column<Row>[] = [
		{ id: "samples", head: "Samples", number: true, value: (r) => r.samples,
			cell: (r) => count(r.samples) },
		{ id: "share", head: "Of all", number: true, value: (r) => r.samples,
			cell: (r) => percent(r.samples, page.info.samples) },
	];

	const table = makeTable<Row>({
		label: "Threads",
		sort: "interest",
		up: true,
		key: (r) => String(r.index),
		columns: [
			{ id: "interest", head: "#", number: true, optional: true,
				title: "Most interesting first",
			  value: (r) => rank.get(r.index) ?? 0,
				cell: (r) => String((rank.get(r.index) ?? 0) + 1) },
			{ id: "comm", head: "Thread", value: (r) => r.comm,
			  cell: (r) => el("span",
				{ class: "thread-name",
				title: `${r.comm} (${r.tid}) of ${r.process} (${r.pid})` },
				r.comm, several && el("span", { class: "dim" }, ` ${r.process}`)) },
			{ id: "tid", head: "tid", number: true, optional: true,
				value: (r) => r.tid },
			...(timeless(page) ? counted : timed),
		],
		pick(row) {
			const now = page.state.get().threads;
			let next: number[] | null = [row.index];
			if (extend && now)
				next = now.includes(row.index) ? now.filter((i) => i !== row.index)
					: [...now, row.index];
			else if (now?.length === 1 && now[0] === row.index)
				next = null;
			page.state.set({ threads: next?.length ? next : null }, "push");
		},
	});
	const remember = (e: MouseEvent | KeyboardEvent) => {
		extend = e.ctrlKey || e.metaKey || e.shiftKey;
	};
	table.root.addEventListener("click", remember, true);
	table.root.addEventListener("keydown", remember, true);

	const rank = new Map(page.info.threads.map((t, i) => [t.index, i]));
	const legend = el("div", { class: "swatches wide", "aria-label": "Colours" });
	const note = el("p", { class: "note" });

	function mark(): void {
		const on = page.state.get().threads;
		for (const tr of table.root.querySelectorAll<HTMLElement>("tr[data-key]"))
			tr.classList.toggle("in", !on || on.includes(Number(tr.dataset.key)));
		table.root.classList.toggle("some", on !== null);
	}

	const panel = makePanel<{ threads: ThreadTime[] }>(root, page, {
		/* All threads, always: this is where they are chosen. */
		ask: (state) => page.askJson("threads",
			{ ...scopeArgs(page, state), threads: null }),
		show(answer) {
			const rows = answer.threads.map((t): Row => {
				const info = page.thread(t.index);
				const parts = partsOf(page, t);
				const alive = parts.reduce((ns, part) => ns + part[1], 0);
				const most = parts.filter(([cls]) => cls !== RUNNING
					&& cls !== LOST)
					.sort((a, b) => b[1] - a[1])[0];
				return {
					...t,
					comm: info?.comm ?? "?",
					tid: info?.tid ?? 0,
					pid: info?.pid ?? 0,
					process: info?.process ?? "",
					alive,
					parts,
					mostly: most ? className(page, most[0]) : "",
				};
			}).filter((row) => row.alive > 0 || (timeless(page) && row.samples > 0));
			if (!rows.length) {
				panel.say("No thread lived in this range.");
				return;
			}
			table.rows(rows);
			const sums = new Map<number, number>();
			for (const row of rows)
				for (const [cls, ns] of row.parts)
					sums.set(cls, (sums.get(cls) ?? 0) + ns);
			const all = [...sums.values()].reduce((a, b) => a + b, 0);
			legend.replaceChildren(...[...sums].sort((a, b) => b[1] - a[1]).slice(0, 9)
				.map(([cls, ns]) => el("span", { class: "swatch-one" }, chip(cls),
					`${nameOf(cls)} ${percent(ns, all)}`)));
			note.textContent = unseenWords(page, ["times", "switches"].find((what) =>
				unseen(page, what)) ?? "run_queue");
			note.hidden = !note.textContent;
			if (!panel.body.contains(table.root))
				panel.body.replaceChildren(legend, note, table.root);
			mark();
		},
	});
	page.state.subscribe(mark);
}
