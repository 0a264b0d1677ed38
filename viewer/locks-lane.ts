// SPDX-License-Identifier: MIT
/*
 * Who held a lock when, and who waited meanwhile: a lane each, over the stretch that the timeline
 * shows. Holders are shown only while somebody waits.
 */
import { makeSurface } from "./canvas";
import { cssColour } from "./flame-colour";
import { fitText } from "./flame-draw";
import type { Page } from "./page";
import { color, RUNNING } from "./palette";
import { pageTip } from "./timeline-tip";
import { count, duration, el, moments } from "./util";

export interface Side {
	thread: number | null;
	others: number;
	wait_ns: number;
	waits: number;
	ns: number;
	piece: { start: number[]; end: number[]; ns: number[] };
}

/* The answer to `lockline`. */
export interface LockLine {
	lock: { id: number; name: string; kind: string; held: boolean };
	from: number;
	to: number;
	wait_ns: number;
	waits: number;
	waiters_total: number;
	waiters: Side[];
	holders_total: number;
	holders: Side[];
	matrix: number[][];
}

const LANE = 16;
const HOLDERS = 5;
const WAITERS = 6;
const MUTEX = 11;

interface Lane {
	side: Side;
	holds: boolean;
	name: string;
}

export function makeLockLanes(page: Page): {
	root: HTMLElement;
	show(line: LockLine): void;
	say(text: string): void;
} {
	let line: LockLine | null = null;
	let lanes: Lane[] = [];
	let hidden = 0;

	const words = el("p", { class: "dim lanes-words", role: "status" });
	const box = el("div", { class: "lanes-box", "data-test": "lock-lanes" });
	const root = el("section", { class: "lanes",
		"aria-label": "Who held it and who waited, over time" },
		box, words);
	const tip = pageTip();
	const label = () => Math.min(110, box.clientWidth * 0.28);
	const surface = makeSurface(box, "Lanes of holders and waiters",
		(ctx, s) => draw(ctx, s.width));
	box.append(surface.canvas);

	function draw(ctx: CanvasRenderingContext2D, width: number): void {
		if (!line)
			return;
		const left = label();
		const scale = (width - left) / (line.to - line.from || 1);
		ctx.textBaseline = "middle";
		ctx.font = "11px system-ui, sans-serif";
		lanes.forEach((lane, i) => {
			const y = i * LANE;
			ctx.fillStyle = cssColour(lane.holds ? "--ink" : "--ink-2");
			ctx.fillText(fitText(ctx, `${lane.holds ? "held" : "waited"} ${lane.name}`,
				left - 8), 0, y + LANE / 2);
			ctx.fillStyle = cssColour("--bg-3");
			ctx.fillRect(left, y + 2, width - left, LANE - 4);
			ctx.fillStyle = lane.holds ? color(RUNNING) : color(MUTEX);
			const { start, end, ns } = lane.side.piece;
			for (let k = 0; k < start.length; k++) {
				const x = left +
					(Math.max(start[k]!, line!.from) - line!.from) * scale;
				const w = Math.max(1,
					(
					Math.min(end[k]!, line!.to) - Math.max(start[k]!,
					line!.from)) * scale);
				/* A piece that is only partly filled is drawn as high as its share. */
				const share = Math.max(0.25,
					Math.min(1, ns[k]! / (end[k]! - start[k]! || 1)));
				ctx.fillRect(x, y + 2 + (LANE - 4) * (1 - share), w,
					(LANE - 4) * share);
			}
		});
	}

	function pieceAt(lane: Lane, ts: number, slack: number): number {
		const { start, end } = lane.side.piece;
		return start.findIndex((s, k) => s - slack <= ts && ts <= end[k]! + slack);
	}

	function under(e: MouseEvent): { lane: Lane; i: number; at: number; ts: number } | null {
		const rect = box.getBoundingClientRect();
		const i = Math.floor((e.clientY - rect.top) / LANE);
		const lane = lanes[i];
		if (!line || !lane)
			return null;
		const per = (line.to - line.from) / (rect.width - label() || 1);
		const ts = line.from + (e.clientX - rect.left - label()) * per;
		if (ts < line.from)
			return null;
		return { lane, i, ts, at: pieceAt(lane, ts, 2 * per) };
	}

	box.addEventListener("pointermove", (e) => {
		const hit = under(e);
		box.classList.toggle("over", hit !== null && hit.at >= 0
			&& hit.lane.side.thread !== null);
		if (!hit || hit.at < 0) {
			tip.hide();
			return;
		}
		const { start, end, ns } = hit.lane.side.piece;
		const top = box.getBoundingClientRect().top + hit.i * LANE;
		tip.show(e.clientX, top, top + LANE,
			`${hit.lane.name} ${hit.lane.holds ? "held it while others waited" : "waited"}`,
			`${duration(ns[hit.at]!)}, ` +
			moments(page.info, { from: start[hit.at]!, to: end[hit.at]! }));
	});
	box.addEventListener("pointerleave", () => tip.hide());
	box.addEventListener("click", (e) => {
		const hit = under(e);
		if (hit && hit.at >= 0 && hit.lane.side.thread !== null)
			page.state.set({ focus: { thread: hit.lane.side.thread,
				ts: Math.round(hit.ts) } }, "push");
	});

	const nameOf = (s: Side) => (s.thread === null
		? (s.others ? `${count(s.others)} others` : "not known")
		: page.thread(s.thread)?.comm ?? "?");

	return {
		root,
		show(next) {
			line = next;
			const make = (holds: boolean) => (side: Side): Lane =>
				({ side, holds, name: nameOf(side) });
			lanes = [...next.holders.slice(0, HOLDERS).map(make(true)),
				 ...next.waiters.slice(0, WAITERS).map(make(false))];
			hidden = next.holders_total + next.waiters_total - lanes.length;
			box.style.height = `${lanes.length * LANE}px`;
			surface.canvas.setAttribute("aria-label", lanes.map((l) =>
				`${l.name} ${l.holds ? "held it" : "waited"} ${duration(l.side.ns)}`).join("; "));
			words.textContent = !lanes.length
				? `Nobody waited for it in what the timeline shows, ${moments(page.info, next, 1e6)}.`
				: `${moments(page.info, next, 1e6)}, as the timeline` +
				  (hidden > 0 ? `; ${count(hidden)} more threads` : "");
			surface.redraw();
		},
		say(text) {
			line = null;
			lanes = [];
			box.style.height = "0";
			words.textContent = text;
			surface.redraw();
		},
	};
}
