// SPDX-License-Identifier: MIT
/*
 * The keys, in one table: what each does and the words by which help.ts explains it. A key belongs
 * to the page unless a person types into a field, or a button or tab has its own use for it.
 */
import { typing } from "./util";

export interface Key {
	keys: string[]; /* as KeyboardEvent.key says; letters in lower case */
	shown: string[];
	words: string;
	timed?: boolean; /* useless where no times were recorded */
	run(): void;
}

export function attachKeys(table: Key[]): void {
	const by = new Map<string, Key>();
	for (const key of table)
		for (const name of key.keys)
			by.set(name, key);
	addEventListener("keydown", (e) => {
		/* Many keyboards have brackets behind AltGr, which may look like Ctrl and Alt. */
		const plain = e.getModifierState("AltGraph") || !(e.ctrlKey || e.altKey);
		if (e.defaultPrevented || e.metaKey || !plain)
			return;
		/* Escape closes a dialog: that is the browser's business. */
		if (document.querySelector("dialog[open]"))
			return;
		if (typing(e)) {
			if (e.key === "Escape")
				(e.target as HTMLElement).blur();
			return;
		}
		const own = e.target instanceof HTMLElement && e.target.closest("button, a, summary, [role=tab]");
		if (own && (e.key === "Enter" || e.key === " "))
			return;
		const key = by.get(e.key.length === 1 ? e.key.toLowerCase() : e.key);
		if (!key)
			return;
		e.preventDefault();
		key.run();
	});
}
