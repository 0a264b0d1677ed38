// SPDX-License-Identifier: MIT
/*
 * The flame graph as a list: a tree that screen readers know how to read and that everybody can
 * search with the browser, heaviest child first. Branches are made when they are opened.
 *
 * Keys are those of every tree: up and down move, right opens, left closes or goes to the caller.
 * Where there is somewhere to go from a call, Enter and a double click go there.
 */
import { children, nodeModule, nodeName, type FlameTree } from "./flame-data";
import { diffWords } from "./diff";
import { el, percent } from "./util";

const MOST = 100;

export function makeFlameTree(tree: FlameTree, amount: (value: number) => string,
			      pick: (node: number) => void,
			      go?: (node: number) => void): HTMLElement {
	const root = el("div", { class: "call-tree", role: "tree",
		"aria-label": "Calls as a tree" });
	const size = (node: number) => tree.size[node]!;

	function item(node: number, level: number, parts: { at: number; of: number }): HTMLElement {
		const kids = children(tree, node);
		const share = el("span", { class: "call-share" }, percent(size(node), 1));
		const row = el("div", {
			class: "call",
			role: "treeitem",
			tabindex: -1,
			"aria-level": level,
			"aria-posinset": parts.at + 1,
			"aria-setsize": parts.of,
			"aria-expanded": kids.length ? "false" : null,
			"data-node": node,
		},
		el("span", { class: "call-open", "aria-hidden": "true" }, kids.length ? "▸" : ""),
		share,
		el("span", { class: "call-amount" }, tree.isDiff ? "" : amount(tree.value[node]!)),
		el("span", { class: tree.kernel[node] ? "call-name kernel" : "call-name" },
			nodeName(tree, node)),
		tree.inlined[node] ? el("span", { class: "tag" }, "inlined") : null,
		el("span", { class: "call-module" },
			tree.isDiff ? diffWords(tree, node) : nodeModule(tree, node)));
		row.style.paddingLeft = `${4 + level * 14}px`;
		return row;
	}

	function branch(node: number, level: number): HTMLElement[] {
		const kids = children(tree, node).sort((a, b) => size(b) - size(a));
		const rows = kids.slice(0, MOST)
			.map((kid, at) =>
				item(kid, level, { at, of: Math.min(kids.length, MOST) }));
		if (kids.length > MOST) {
			const rest = kids.slice(MOST).reduce((sum, kid) => sum + size(kid), 0);
			const more = el("div", { class: "call dim" },
				`${kids.length - MOST} more, ${percent(rest, 1)} in all`);
			more.style.paddingLeft = `${18 + level * 14}px`;
			rows.push(more);
		}
		return rows;
	}

	function level(row: HTMLElement): number {
		return Number(row.getAttribute("aria-level") ?? 0);
	}

	function open(row: HTMLElement): void {
		if (row.getAttribute("aria-expanded") !== "false")
			return;
		row.setAttribute("aria-expanded", "true");
		row.querySelector(".call-open")!.textContent = "▾";
		row.after(...branch(Number(row.dataset.node), level(row) + 1));
	}

	function close(row: HTMLElement): void {
		row.setAttribute("aria-expanded", "false");
		row.querySelector(".call-open")!.textContent = "▸";
		let next = row.nextElementSibling as HTMLElement | null;
		while (next && (level(next) > level(row) || !next.hasAttribute("aria-level"))) {
			const gone = next;
			next = next.nextElementSibling as HTMLElement | null;
			gone.remove();
		}
	}

	function move(to: Element | null | undefined): void {
		if (!(to instanceof HTMLElement) || !to.dataset.node)
			return;
		root.querySelector('[tabindex="0"]')?.setAttribute("tabindex", "-1");
		to.tabIndex = 0;
		to.focus();
	}

	root.addEventListener("click", (e) => {
		const row = (e.target as HTMLElement).closest<HTMLElement>(".call[data-node]");
		if (!row)
			return;
		if (row.getAttribute("aria-expanded") === "true")
			close(row);
		else
			open(row);
		move(row);
		pick(Number(row.dataset.node));
	});
	root.addEventListener("dblclick", (e) => {
		const row = (e.target as HTMLElement).closest<HTMLElement>(".call[data-node]");
		if (row)
			go?.(Number(row.dataset.node));
	});
	root.addEventListener("keydown", (e) => {
		const row = (e.target as HTMLElement).closest<HTMLElement>(".call[data-node]");
		if (!row)
			return;
		const expanded = row.getAttribute("aria-expanded");
		if (e.key === "ArrowDown") {
			move(row.nextElementSibling);
		} else if (e.key === "ArrowUp") {
			move(row.previousElementSibling);
		} else if (e.key === "ArrowRight") {
			if (expanded === "false")
				open(row);
			else
				move(row.nextElementSibling);
		} else if (e.key === "ArrowLeft") {
			if (expanded === "true") {
				close(row);
			} else {
				let up = row.previousElementSibling as HTMLElement | null;
				while (up && level(up) >= level(row))
					up = up.previousElementSibling as HTMLElement | null;
				move(up);
			}
		} else if (e.key === "Home") {
			move(root.firstElementChild);
		} else if (e.key === "Enter" && go) {
			go(Number(row.dataset.node));
		} else if (e.key === "Enter" || e.key === " ") {
			row.click();
		} else {
			return;
		}
		e.preventDefault();
		e.stopPropagation();
	});

	root.append(...branch(0, 1));
	/* The way down the heaviest branch is what most look for. */
	let row = root.firstElementChild as HTMLElement | null;
	for (let i = 0; row && i < 6; i++) {
		open(row);
		const kid = row.nextElementSibling as HTMLElement | null;
		if (!kid || level(kid) <= level(row))
			break;
		row = kid;
	}
	if (root.firstElementChild instanceof HTMLElement)
		root.firstElementChild.tabIndex = 0;
	return root;
}
