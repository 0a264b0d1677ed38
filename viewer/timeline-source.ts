// SPDX-License-Identifier: MIT
/*
 * The answers that lanes are drawn from. A frame never waits: it takes the best of what is there
 * and wants() what it would rather have. One question is on its way at a time; it asks for more
 * than is in sight on all sides, so that dragging rarely shows an edge.
 */
import { Latest } from "./ask";
import type { Page, Range } from "./page";
import { Lanes, type LanesQuery } from "./timeline-lanes";

const KEEP = 4;
const MARGIN = 0.35; /* of the view, on each side */
const NEAR = 0.08; /* ask anew when less of it is left */
const COLUMNS_MAX = 8192;

export interface Wanted {
	ids: number[]; /* in sight */
	around: number[]; /* and those above and below, in their order, with the ones in sight */
	view: Range;
	width: number; /* device pixels of the view */
	height: number; /* of a lane */
}

export class Source {
	/* The latest first. */
	private answers: Lanes[] = [];
	private asked: { key: string; failed: boolean } = { key: "", failed: false };
	private latest: Latest<{ query: LanesQuery; height: number }, ArrayBuffer>;

	constructor(
		private page: Page,
		private name: "lanes" | "cpus",
		private changed: () => void,
		failed: (error: Error) => void,
	) {
		this.latest = new Latest(
			({ query }) => this.page.ask(this.name, {
				from: query.from,
				to: query.to,
				cols: query.columns,
				threads: this.name === "lanes" ? query.ids : null,
			}),
			(answer, { query, height }) => {
				this.keep(new Lanes(answer, query, height));
				this.changed();
			},
			(error) => {
				this.asked.failed = true;
				failed(error);
			},
		);
	}

	/** Whether what is in sight is drawn from an exact answer. */
	settled(wanted: Wanted): boolean {
		return this.answers.some((a) => this.exact(a, wanted, 0));
	}

	wants(wanted: Wanted): void {
		if (!wanted.ids.length || wanted.width < 1 || this.answers.some((a) => this.exact(a, wanted, NEAR)))
			return;
		const query = this.query(wanted);
		const key = [query.from, query.to, query.columns, query.ids.join(), wanted.height].join("/");
		if (key === this.asked.key)
			return;
		this.asked = { key, failed: false };
		this.latest.want({ query, height: wanted.height });
	}

	/** Answers that show something of a lane in the view, the one to draw on top last. */
	layers(id: number, wanted: Wanted): Lanes[] {
		const exact = this.answers.find((a) => a.has(id) && this.covers(a, wanted, 0) && this.fits(a, wanted));
		if (exact)
			return [exact];
		return this.answers
			.filter((a) => a.has(id) && a.query.from < wanted.view.to && a.query.to > wanted.view.from)
			.sort((a, b) => b.perColumn - a.perColumn);
	}

	/** To be called before lanes are drawn. */
	prepare(wanted: Wanted): void {
		for (const a of this.answers)
			a.prepare(wanted.ids);
	}

	repaint(): void {
		for (const a of this.answers)
			a.repaint();
	}

	private query(wanted: Wanted): LanesQuery {
		const { view, width } = wanted;
		const per = (view.to - view.from) / width;
		const end = this.page.info.duration_ns;
		const margin = Math.min(Math.ceil(width * MARGIN), Math.floor((COLUMNS_MAX - width) / 2));
		/* Columns start at multiples of their width, wherever the view starts. */
		const first = Math.max(0, Math.floor(view.from / per) - margin);
		const last = Math.max(first + 1, Math.min(Math.ceil(end / per), Math.ceil(view.to / per) + margin));
		return {
			ids: wanted.around,
			from: Math.round(first * per),
			to: Math.round(last * per),
			columns: last - first,
		};
	}

	private fits(a: Lanes, { view, width }: Wanted): boolean {
		return Math.abs((a.perColumn * width) / (view.to - view.from) - 1) * width < 0.5;
	}

	private covers(a: Lanes, { view }: Wanted, spare: number): boolean {
		const room = (view.to - view.from) * spare;
		return a.query.from <= Math.max(0, view.from - room) + a.perColumn &&
			a.query.to >= Math.min(this.page.info.duration_ns, view.to + room) - a.perColumn;
	}

	private exact(a: Lanes, wanted: Wanted, spare: number): boolean {
		return this.fits(a, wanted) && this.covers(a, wanted, spare) && wanted.ids.every((id) => a.has(id));
	}

	private keep(lanes: Lanes): void {
		/* The answer with the longest time stays: it has something to show everywhere. */
		const list = [lanes, ...this.answers];
		if (list.length > KEEP) {
			const span = (a: Lanes) => a.query.to - a.query.from;
			const longest = list.reduce((a, b) => (span(b) > span(a) ? b : a));
			const drop = list[KEEP] === longest ? KEEP - 1 : KEEP;
			list.splice(drop, 1)[0].release();
		}
		this.answers = list;
	}
}
