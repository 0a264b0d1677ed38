// SPDX-License-Identifier: MIT
/*
 * The engine inside of an exported page: WebAssembly in a worker, so that the page never stands
 * still while it loads or counts.
 *
 * workerMain() is what runs there. It gets there as text, so it must not use anything from outside
 * of itself. It is told, in this order: the engine and the capture in pieces (both gzip), the end of
 * them, then questions; each question gets one reply with its number. Loading goes on between
 * questions, in steps: `open` says how far it is.
 */
import { AskError, type Host } from "./ask";

/* Newer than the types that come with the compiler. */
declare class DecompressionStream {
	constructor(format: "gzip");
	readonly readable: ReadableStream<Uint8Array>;
	readonly writable: WritableStream<Uint8Array>;
}

export type ToWorker =
	| { kind: "engine" | "capture"; bytes: ArrayBuffer }
	| { kind: "end" }
	| { kind: "ask"; id: number; query: string };

export interface FromWorker {
	id: number; /* -1: it cannot go on at all */
	bytes?: ArrayBuffer;
	error?: string;
}

function workerMain(): void {
	/* viewer/host/engine.c. A negative number: the answer says why. */
	interface Engine {
		memory: WebAssembly.Memory;
		thaw_alloc(bytes: number): number;
		thaw_open(capture: number, bytes: number): number;
		thaw_step(events: number): number; /* 1: more to do */
		thaw_ask(request: number): number;
		thaw_answer(): number;
		thaw_answer_bytes(): number;
	}
	const STEP = 200000; /* events between two looks for messages */
	const parts: Record<string, Uint8Array[]> = { engine: [], capture: [] };
	const waiting: { id: number; query: string }[] = [];
	const mail = new MessageChannel();
	const scope = self as unknown as {
		onmessage: ((e: MessageEvent<ToWorker>) => void) | null;
		postMessage(message: FromWorker, transfer: Transferable[]): void;
	};
	let engine: Engine | null = null;
	let more = true;

	async function unpack(list: Uint8Array[]): Promise<Uint8Array> {
		const packed = new Blob(list as BlobPart[]).stream();
		const plain = packed.pipeThrough(new DecompressionStream("gzip"));
		return new Uint8Array(await new Response(plain).arrayBuffer());
	}
	/* Memory may move with every call: never keep a view of it. */
	function put(bytes: Uint8Array): number {
		const at = engine!.thaw_alloc(bytes.length) >>> 0;
		new Uint8Array(engine!.memory.buffer).set(bytes, at);
		return at;
	}
	function answer(): ArrayBuffer {
		const at = engine!.thaw_answer() >>> 0;
		return engine!.memory.buffer.slice(at, at + (engine!.thaw_answer_bytes() >>> 0));
	}
	function check(rc: number): number {
		if (rc < 0)
			throw new Error((JSON.parse(new TextDecoder().decode(answer())) as { error: string }).error);
		return rc;
	}
	function fail(e: unknown): void {
		/* The engine traps when memory runs out, and must not be called again. */
		const error = e instanceof WebAssembly.RuntimeError
			? "There is not enough memory for this recording inside of a page; thaw view can show it."
			: e instanceof Error ? e.message : String(e);
		scope.postMessage({ id: -1, error }, []);
		close();
	}
	function step(): void {
		try {
			if (more)
				more = check(engine!.thaw_step(STEP)) > 0;
			/* Answer what a person watches before what may take long. */
			const quick = waiting.findIndex((w) => /^(lanes|cpus|at|cpu_at)\?/.test(w.query));
			for (const { id, query } of waiting.splice(Math.max(0, quick), 1)) {
				engine!.thaw_ask(put(new TextEncoder().encode(query + "\0")));
				const bytes = answer();
				scope.postMessage({ id, bytes }, [bytes]);
			}
			if (more || waiting.length)
				mail.port2.postMessage(null);
		} catch (e) {
			fail(e);
		}
	}
	async function load(): Promise<void> {
		const module = await unpack(parts.engine);
		const instance = await WebAssembly.instantiate(module, {});
		engine = instance.instance.exports as unknown as Engine;
		const capture = await unpack(parts.capture);
		parts.engine = parts.capture = [];
		check(engine.thaw_open(put(capture), capture.length));
		mail.port1.onmessage = step;
		mail.port2.postMessage(null);
	}
	scope.onmessage = ({ data }) => {
		if (data.kind === "end") {
			load().catch(fail);
		} else if (data.kind === "ask") {
			waiting.push(data);
			if (engine && !more && waiting.length === 1)
				mail.port2.postMessage(null);
		} else {
			parts[data.kind].push(new Uint8Array(data.bytes));
		}
	};
}

function blocks(name: string): HTMLElement[] {
	return [...document.querySelectorAll<HTMLElement>(`script[data-thaw="${name}"]`)];
}

/** Whether this page has its capture inside. */
export function hasCapture(): boolean {
	return blocks("capture").length > 0;
}

function decode(block: HTMLElement): ArrayBuffer {
	const text = atob(block.textContent ?? "");
	const bytes = new Uint8Array(text.length);
	for (let i = 0; i < text.length; i++)
		bytes[i] = text.charCodeAt(i);
	block.remove(); /* it is not needed twice */
	return bytes.buffer;
}

export class FileHost implements Host {
	private worker: Worker;
	private open = new Map<number, { done(bytes: ArrayBuffer): void; failed(e: Error): void }>();
	private next = 0;
	private broken: AskError | null = null;

	constructor() {
		if (typeof DecompressionStream === "undefined" || typeof WebAssembly === "undefined")
			throw new AskError("This browser is too old for this page: it needs WebAssembly and " +
				"DecompressionStream. thaw report says the same in words.");
		const url = URL.createObjectURL(new Blob([`(${workerMain.toString()})()`], { type: "text/javascript" }));
		this.worker = new Worker(url);
		this.worker.onmessage = (e: MessageEvent<FromWorker>) => this.receive(e.data);
		this.worker.onerror = (e) => this.receive({ id: -1, error: e.message || "The engine did not start." });
		for (const kind of ["engine", "capture"] as const)
			for (const block of blocks(kind)) {
				const bytes = decode(block);
				this.post({ kind, bytes }, [bytes]);
			}
		this.post({ kind: "end" });
	}

	ask(query: string): Promise<ArrayBuffer> {
		if (this.broken)
			return Promise.reject(this.broken);
		const id = this.next++;
		return new Promise((done, failed) => {
			this.open.set(id, { done, failed });
			this.post({ kind: "ask", id, query });
		});
	}

	private post(message: ToWorker, transfer: Transferable[] = []): void {
		this.worker.postMessage(message, transfer);
	}

	private receive(reply: FromWorker): void {
		if (reply.id < 0) {
			this.broken = new AskError(reply.error ?? "The engine has failed.");
			this.open.forEach((o) => o.failed(this.broken!));
			this.open.clear();
			return;
		}
		this.open.get(reply.id)?.done(reply.bytes!);
		this.open.delete(reply.id);
	}
}
