// SPDX-License-Identifier: MIT
/*
 * Stacks for people: short (which functions tell something, as report/frames.c picks them), long (a
 * list with files and lines), and as text to copy. Frames come leaf first, as in JSON.
 */
import FRAMES from "../src/report/frames.def";
import type { Frame } from "./page";
import { copyText, el } from "./util";

const KERNEL = /^\[/;

function patterns(row: string): (name: string) => boolean {
	const whole = new Set<string>();
	const starts: string[] = [];
	for (const m of FRAMES.matchAll(new RegExp(`^${row}\\("([^"]+)"\\)`, "gm"))) {
		const pattern = m[1]!;
		if (pattern.endsWith("*"))
			starts.push(pattern.slice(0, -1));
		else
			whole.add(pattern);
	}
	return (name) => whole.has(name) || starts.some((s) => name.startsWith(s));
}

const isPlain = patterns("PLAIN");
const isIdle = patterns("IDLE");

function isKernel(frame: Frame): boolean {
	return KERNEL.test(frame.module);
}

/* The frames that tell something, root first; of the kernel only the outermost under user code. */
export function telling(frames: readonly Frame[]): Frame[] {
	const user = frames.some((f) => !isKernel(f));
	let kernel = frames.filter((f) => isKernel(f) && !isPlain(f.name)
		&& !(user && isIdle(f.name)));
	if (user)
		kernel = kernel.slice(-1);
	const picked = [...kernel, ...frames.filter((f) => !isKernel(f) && !isPlain(f.name))];
	if (!picked.length)
		return frames.slice(0, 1);
	return picked.reverse();
}

/* "worker_main > serve > commit", the last `most` of it. */
export function pathWords(frames: readonly Frame[], most = 6): string {
	const names = telling(frames).map((f) => f.name);
	const cut = names.length > most;
	return (cut ? "… > " : "") + (cut ? names.slice(-most) : names).join(" > ");
}

function place(frame: Frame): string {
	if (!frame.file)
		return "";
	const file = frame.file.replace(/^.*\//, "");
	return frame.line ? `${file}:${frame.line}` : file;
}

function origin(f: Frame): string {
	const file = f.file ? `${f.file}${f.line ? `:${f.line}` : ""}` : "";
	return [f.module, file].filter(Boolean).join("  ");
}

function tags(f: Frame): string {
	return (f.inlined ? " (inlined)" : "") + (f.guessed ? " (guessed)" : "");
}

function stackText(frames: readonly Frame[]): string {
	return frames.map((f) => `${f.name}${tags(f)}  ${origin(f)}`.trimEnd() + "\n").join("");
}

export function copyButton(text: () => string, props: { class: string; "data-test"?: string }):
	HTMLButtonElement {
	const button = el("button", props, "Copy");
	button.addEventListener("click", () => {
		void copyText(text()).then((done) => {
			button.textContent = done ? "Copied" : "Not allowed";
			setTimeout(() => (button.textContent = "Copy"), 1500);
		});
	});
	return button;
}

/* The whole stack, leaf first; what is on every stack is dim. `id` is for tests. */
export function stackBox(title: string, frames: readonly Frame[], id = "stack", open = true):
	HTMLElement {
	const list = el("ol", { class: "stack" });
	for (const f of frames) {
		const kinds = [
			isKernel(f) && "kernel",
			f.inlined && "inlined",
			f.guessed && "guessed",
			isPlain(f.name) && "plain",
		];
		const words = [f.name, origin(f), f.inlined ? "inlined" : "",
			f.guessed ? "a guess: found by searching the stack" : ""];
		list.append(el("li", {
			class: kinds.filter(Boolean).join(" ") || null,
			title: words.filter(Boolean).join("\n"),
		},
		el("span", { class: "fn" }, f.name || "?"),
		f.guessed ? el("span", { class: "tag" }, "guessed") : null,
		el("span", { class: "dim" }, place(f) || f.module)));
	}
	if (!frames.length)
		return el("p", { class: "dim" }, `${title}: no stack was recorded.`);
	return el("details", { class: "stackbox", open }, el("summary", {}, title),
		copyButton(() => stackText(frames), { class: "link small", "data-test": `copy-${id}` }),
		list);
}
