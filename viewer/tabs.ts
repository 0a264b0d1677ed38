// SPDX-License-Identifier: MIT
/*
 * The tabs below the timeline, in their order: one row each. A tab is mounted when it is first
 * shown and stays; while it is hidden its root has the attribute `hidden`, and what it would draw
 * may wait for `shown`.
 */
import type { Page } from "./page";

export interface Tab {
	id: string; /* in the address */
	title: string;
	mount(root: HTMLElement, page: Page): void;
}

export const TABS: Tab[] = [];
