// SPDX-License-Identifier: MIT
/* A canvas that is as sharp as the screen, and drawn at most once a frame. */
import { onScheme } from "./palette";
import { el } from "./util";

/* The --font of style.css. */
export const CANVAS_FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', " +
	"'Liberation Sans', sans-serif";

export interface Surface {
	canvas: HTMLCanvasElement;
	/* In CSS pixels; 0 while it is not visible. */
	width: number;
	height: number;
	redraw(): void;
	/* At once, for printing, which waits for no frame. */
	paint(): void;
}

type Draw = (ctx: CanvasRenderingContext2D, surface: Surface) => void;

/* Fills `box`, which has a size of its own, and follows it. */
export function makeSurface(box: HTMLElement, label: string, draw: Draw): Surface {
	const canvas = el("canvas", { role: "img", "aria-label": label });
	const ctx = canvas.getContext("2d")!;
	let waiting = false;

	const surface: Surface = {
		canvas,
		width: 0,
		height: 0,
		redraw() {
			if (waiting)
				return;
			waiting = true;
			requestAnimationFrame(() => {
				waiting = false;
				paint();
			});
		},
		paint: () => paint(),
	};
	const paint = () => {
		const ratio = devicePixelRatio || 1;
		surface.width = box.clientWidth;
		surface.height = box.clientHeight;
		if (!surface.width || !surface.height)
			return;
		const w = Math.round(surface.width * ratio);
		const h = Math.round(surface.height * ratio);
		if (canvas.width !== w || canvas.height !== h) {
			canvas.width = w;
			canvas.height = h;
			canvas.style.width = `${surface.width}px`;
			canvas.style.height = `${surface.height}px`;
		}
		ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
		ctx.clearRect(0, 0, surface.width, surface.height);
		draw(ctx, surface);
	};

	/* Drawn at once: waiting for the next frame would show the old picture stretched. */
	new ResizeObserver(paint).observe(box);
	onScheme(paint);
	return surface;
}
