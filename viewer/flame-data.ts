// SPDX-License-Identifier: MIT
/*
 * A flame graph's tree as the engine sends it, made ready to be drawn, walked and searched.
 *
 * Nodes stand in preorder and node 0 is the root, so a node's subtree is the range of indices up to
 * the next node that is not deeper, and each row (all nodes of one depth) is sorted by where its
 * nodes start. Sizes are shares of the root (0..1): of the first range alone, or the mean of the
 * shares in both ranges of a comparison, so that what has gone and what is new can both be seen.
 */

export interface FlameReply {
	unit: "samples" | "ns";
	total: number;
	total2?: number;
	/* Nodes of a smaller share are summed up as "(small)", so many of them. */
	min: number;
	folded: number;
	names: string[];
	modules: string[];
	node: {
		parent: number[];
		name: number[];
		module: number[];
		value: number[];
		self: number[];
		value2?: number[];
		inlined: number[];
		kernel: number[];
		reason?: number[];
	};
}

export interface FlameTree {
	n: number;
	unit: "samples" | "ns";
	total: number;
	total2: number;
	isDiff: boolean;
	/* Whether reason says anything: why all in a node waited, 100 running, -1 several. */
	hasReasons: boolean;
	names: string[];
	modules: string[];
	parent: Int32Array;
	name: Int32Array;
	module: Int32Array;
	value: Float64Array;
	value2: Float64Array;
	self: Float64Array;
	inlined: Uint8Array;
	kernel: Uint8Array;
	reason: Int16Array;
	depth: Int32Array;
	/* One past the last node of the subtree. */
	end: Int32Array;
	start: Float64Array;
	size: Float64Array;
	rows: Int32Array[];
}

function share(value: number, total: number): number {
	return total > 0 ? value / total : 0;
}

export function flameTree(reply: FlameReply): FlameTree {
	const node = reply.node;
	const n = node.parent.length;
	const isDiff = node.value2 !== undefined;
	const tree: FlameTree = {
		n,
		unit: reply.unit,
		total: reply.total,
		total2: reply.total2 ?? 0,
		isDiff,
		hasReasons: node.reason !== undefined,
		names: reply.names,
		modules: reply.modules,
		parent: Int32Array.from(node.parent),
		name: Int32Array.from(node.name),
		module: Int32Array.from(node.module),
		value: Float64Array.from(node.value),
		value2: node.value2 ? Float64Array.from(node.value2) : new Float64Array(n),
		self: Float64Array.from(node.self),
		inlined: Uint8Array.from(node.inlined),
		kernel: Uint8Array.from(node.kernel),
		reason: node.reason ? Int16Array.from(node.reason) : new Int16Array(n).fill(-1),
		depth: new Int32Array(n),
		end: new Int32Array(n),
		start: new Float64Array(n),
		size: new Float64Array(n),
		rows: [],
	};
	const next = new Float64Array(n);
	const perRow: number[][] = [];

	for (let i = 0; i < n; i++) {
		const up = tree.parent[i]!;
		const one = share(tree.value[i]!, tree.total);
		tree.size[i] = isDiff ? (one + share(tree.value2[i]!, tree.total2)) / 2 : one;
		tree.end[i] = i + 1;
		if (up >= 0 && up < i) {
			tree.depth[i] = tree.depth[up]! + 1;
			tree.start[i] = next[up]!;
			next[up]! += tree.size[i]!;
		}
		next[i] = tree.start[i]!;
		(perRow[tree.depth[i]!] ??= []).push(i);
	}
	for (let i = n - 1; i > 0; i--) {
		const up = tree.parent[i]!;
		if (tree.end[i]! > tree.end[up]!)
			tree.end[up] = tree.end[i]!;
	}
	tree.rows = perRow.map((row) => Int32Array.from(row));
	return tree;
}

export function nodeName(tree: FlameTree, node: number): string {
	return tree.names[tree.name[node]!] ?? "?";
}

export function nodeModule(tree: FlameTree, node: number): string {
	return tree.modules[tree.module[node]!] ?? "";
}

/* As the state names functions. */
export function nodeKey(tree: FlameTree, node: number): string {
	return `${nodeModule(tree, node)}!${nodeName(tree, node)}`;
}

export function children(tree: FlameTree, node: number): number[] {
	const found: number[] = [];
	for (let i = node + 1; i < tree.end[node]!; i = tree.end[i]!)
		found.push(i);
	return found;
}

/* From the root (left out) down to the node. */
export function pathOf(tree: FlameTree, node: number): number[] {
	const path: number[] = [];
	for (let i = node; i > 0; i = tree.parent[i]!)
		path.unshift(i);
	return path;
}

/*
 * A place in the tree in words that outlive the tree: the next one, of another range, has other
 * indices. Names may hold any character, hence the escapes.
 */
export function placeOf(tree: FlameTree, node: number): string {
	return pathOf(tree, node)
		.map((i) => nodeName(tree, i).replace(/[\\;]/g, "\\$&"))
		.join(";");
}

/* The node of a place, or the deepest of its callers that this tree has. */
export function nodeAt(tree: FlameTree, place: string): number {
	if (!place)
		return 0;
	const names = place.match(/(?:\\.|[^\\;])+/g) ?? [];
	let node = 0;
	for (const escaped of names) {
		const name = escaped.replace(/\\(.)/g, "$1");
		const child = children(tree, node).find((i) => nodeName(tree, i) === name);
		if (child === undefined)
			break;
		node = child;
	}
	return node;
}

/* The nodes of one row that the stretch a..b of the whole touches: first and one past the last. */
export function rowRange(tree: FlameTree, row: Int32Array, a: number, b: number): [number, number] {
	let low = 0;
	let high = row.length;
	while (low < high) {
		const mid = (low + high) >> 1;
		if (tree.start[row[mid]!]! + tree.size[row[mid]!]! <= a)
			low = mid + 1;
		else
			high = mid;
	}
	let last = low;
	high = row.length;
	while (last < high) {
		const mid = (last + high) >> 1;
		if (tree.start[row[mid]!]! < b)
			last = mid + 1;
		else
			high = mid;
	}
	return [low, last];
}

/* The node that lies over x (0..1 of the whole) in a row, or -1. */
export function nodeUnder(tree: FlameTree, depth: number, x: number): number {
	const row = tree.rows[depth];
	if (!row)
		return -1;
	const [first, last] = rowRange(tree, row, x, x + 1e-12);
	if (first >= last)
		return -1;
	const node = row[first]!;
	return tree.start[node]! <= x ? node : -1;
}
