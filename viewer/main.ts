// SPDX-License-Identifier: MIT
/*
 * Where the page starts: find out who answers questions, ask `open` until all is loaded, put the
 * parts in their places.
 */
import { Asker, HttpHost, type Host } from "./ask";
import { mountTabs, showMessage, showPage } from "./layout";
import type { Info, Page } from "./page";
import { Store } from "./state";
import { byId } from "./util";

const POLL_MS = 100;

function findHost(): Host {
	const token = document.querySelector('meta[name="thaw-token"]')?.getAttribute("content");
	return new HttpHost(token ?? "");
}

async function open(asker: Asker): Promise<Info> {
	for (;;) {
		const info = await asker.askJson<Info>("open");
		if (info.progress >= 1)
			return info;
		showMessage("thaw", "Reading the recording.", info.progress);
		await new Promise((r) => setTimeout(r, POLL_MS));
	}
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

async function start(): Promise<void> {
	const asker = new Asker(findHost());
	const info = await open(asker);
	const page = makePage(asker, info);
	showPage();
	mountTabs(byId("tabs"), page);
}

start().catch((e: unknown) => {
	showMessage("This recording cannot be shown", e instanceof Error ? e.message : String(e));
});
