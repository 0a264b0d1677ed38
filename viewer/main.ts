// SPDX-License-Identifier: MIT
/*
 * Where the page starts: find out who answers questions, ask `open` until all is loaded, put the
 * parts in their places.
 */
import { Asker, HttpHost, type Host } from "./ask";
import { mountDetails } from "./details";
import { mountFind } from "./find";
import { Focus } from "./focus";
import { makeHelp } from "./help";
import { attachKeys } from "./keys";
import { keyTable } from "./keys-table";
import { mountSplit, mountTabs, showMessage, showPage, toast } from "./layout";
import { mountLead, mountTop, recorded } from "./lead";
import type { Compared, Info, Page, Range } from "./page";
import { mountPrint } from "./print";
import { Store } from "./state";
import { Timeline } from "./timeline";
import { makeCorner } from "./timeline-corner";
import { View } from "./timeline-view";
import { byId } from "./util";
import { timeless } from "./words";
import { FileHost, hasCapture } from "./worker";

/* Pauses between questions about progress, shorter near the end so that the page opens at once. */
const POLL_MS = 100;
const POLL_SOON_MS = 20;

function findHost(): Host {
	if (hasCapture())
		return new FileHost();
	const token = document.querySelector('meta[name="thaw-token"]')?.getAttribute("content");
	return new HttpHost(token ?? "");
}

async function open(asker: Asker): Promise<Info> {
	for (;;) {
		const info = await asker.askJson<Info>("open");
		if (info.progress >= 1)
			return info;
		showMessage("thaw", "Reading the recording.", info.progress);
		await new Promise((r) => setTimeout(r, info.progress < 0.8 ? POLL_MS : POLL_SOON_MS));
	}
}

/* The comparison that a page of two captures carries. */
function compared(): Compared | undefined {
	const meta = document.querySelector<HTMLMetaElement>('meta[name="thaw-compared"]');
	return meta ? JSON.parse(meta.content) as Compared : undefined;
}

function makePage(asker: Asker, info: Info): Page {
	const threads = new Map(info.threads.map((t) => [t.index, t]));
	const reasons = new Map(info.reasons.map((r) => [r.id, r]));
	return {
		ask: (name, args) => asker.ask(name, args),
		askJson: (name, args) => asker.askJson(name, args),
		info,
		state: new Store(),
		thread: (index) => threads.get(index),
		reason: (id) => reasons.get(id),
	};
}

/** Says something to those who cannot see the page. */
function say(text: string): void {
	byId("announce").textContent = text;
}

/* The first look is at what the first sentence is about, unless the address says otherwise. */
function openAbout(page: Page): void {
	const { about, compared } = page.info;
	if (location.hash.length > 1 || compared || about.kind === "cpu")
		return;
	const { flame } = page.state.get();
	const some = about.threads.length > 0 && about.threads.length < page.info.threads.length;
	page.state.set({ flame: { ...flame, kind: about.kind }, lock: about.lock, threads: some ? about.threads : null });
}

function show(page: Page): void {
	const { state, info } = page;
	const view = new View(page);
	const focus = new Focus(page);
	const pick = (range: Range, stall: number | null) => {
		state.set({ stall, focus: null, sel: range }, "push");
		view.show(range, "replace", 0.25);
	};
	const pickRange = (range: Range) => pick(range, null);
	const pickStall = (index: number) => {
		const { start, ns } = info.stalls[index];
		/* The page opened with the victims: the culprit is not among them. */
		if (state.get().threads?.join() === info.about.threads.join())
			state.set({ threads: null });
		pick({ from: start, to: start + ns }, index);
	};
	const failed = (error: Error) => toast(error.message);
	showPage();
	openAbout(page);
	byId("page").classList.toggle("timeless", timeless(page));
	const timeline = new Timeline(byId("timeline"), makeCorner(page, view), page, view, focus, pickStall, failed);
	const keys = keyTable({ page, view, focus, timeline, help: () => help() })
		.filter((key) => !key.timed || !timeless(page));
	const help = makeHelp(keys);
	attachKeys(keys);
	mountTop(byId("top"), page, help);
	mountFind(byId("find"), page);
	mountLead(byId("lead"), page, { pickStall, pickRange });
	mountDetails(byId("details"), page, { focus, view, pickStall, say });
	mountTabs(byId("tabs"), page);
	mountSplit(byId("split"));
	mountPrint(byId("page"), page);
	document.title = info.compared ? recorded(info) : `thaw: ${recorded(info)}`;
}

async function start(): Promise<void> {
	const asker = new Asker(findHost());
	const info = await open(asker);
	if (!info.threads.length)
		return showMessage("Nothing to show", "This recording has no threads in it: " +
			"nothing of what was recorded ran, or it ended before anything was written.");
	show(makePage(asker, { ...info, compared: compared() }));
}

start().catch((e: unknown) => {
	showMessage("This recording cannot be shown", e instanceof Error ? e.message : String(e));
});
