// SPDX-License-Identifier: MIT
/*
 * The tabs below the timeline, in their order: one row each. A tab is mounted when it is first
 * shown and stays; while it is hidden its root has the attribute `hidden`, and what it would draw
 * may wait for `shown`.
 */
import { mountChart } from "./chart";
import { mountFlame } from "./flame";
import { mountFunctions } from "./functions";
import { mountHeatmap } from "./heatmap";
import { mountLocks } from "./locks";
import type { Page } from "./page";
import { mountThreads } from "./threads";
import { mountWaits } from "./waits";
import { timeless } from "./words";

export interface Tab {
	id: string; /* in the address */
	title: string;
	timed?: boolean; /* useless where no times were recorded */
	mount(root: HTMLElement, page: Page): void;
}

const TABS: Tab[] = [
	{ id: "flame", title: "Flame graph", mount: mountFlame },
	{ id: "functions", title: "Functions", mount: mountFunctions },
	{ id: "waits", title: "Waits", mount: mountWaits },
	{ id: "locks", title: "Locks", mount: mountLocks },
	{ id: "threads", title: "Threads", mount: mountThreads },
	{ id: "heatmap", title: "Heatmap", timed: true, mount: mountHeatmap },
	{ id: "chart", title: "Chart", timed: true, mount: mountChart },
];

export function tabsOf(page: Page): Tab[] {
	return TABS.filter((tab) => !tab.timed || !timeless(page));
}
