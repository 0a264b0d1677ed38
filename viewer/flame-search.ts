// SPDX-License-Identifier: MIT
/*
 * Searching a flame graph: which nodes match, and how much of the whole lies in them. What is
 * typed is text; between slashes (/^mutex_/) it is a regular expression.
 *
 * The share counts every stack once: a match inside of another match adds nothing.
 */
import { FlameTree } from "./flame-data";

export interface Matcher {
	(text: string): boolean;
}

export interface Matches {
	/* 1 for each node that matches, in the tree's order. */
	hit: Uint8Array;
	count: number;
	share: number;
	value: number;
}

/* null: there is nothing to search for. Throws a SyntaxError on a broken expression. */
export function matcher(typed: string): Matcher | null {
	const text = typed.trim();
	if (!text)
		return null;
	const expression = /^\/(.+)\/(i?)$/.exec(text);
	if (expression) {
		const re = new RegExp(expression[1]!, expression[2]);
		return (s) => re.test(s);
	}
	const lower = text.toLowerCase();
	return (s) => s.toLowerCase().includes(lower);
}

export function search(tree: FlameTree, match: Matcher): Matches {
	const names = tree.names.map((s) => match(s));
	const modules = tree.modules.map((s) => match(s));
	const result: Matches = { hit: new Uint8Array(tree.n), count: 0, share: 0, value: 0 };
	let coveredTo = 0;

	for (let i = 1; i < tree.n; i++) {
		if (!names[tree.name[i]!] && !modules[tree.module[i]!])
			continue;
		result.hit[i] = 1;
		result.count++;
		if (i < coveredTo)
			continue;
		coveredTo = tree.end[i]!;
		result.share += tree.size[i]!;
		result.value += tree.value[i]!;
	}
	return result;
}
