// SPDX-License-Identifier: MIT
/*
 * Questions to the engine. The page has one way to ask and two hosts that answer with the same
 * bytes: a worker that runs the engine inside of an exported file, or `thaw view` by HTTP.
 */
export type Args = Record<string, string | number | boolean | readonly number[] | null | undefined>;

export interface Host {
	/** `query` is NAME?key=value&.. */
	ask(query: string): Promise<ArrayBuffer>;
}

/** What the engine said instead of an answer. */
export class AskError extends Error {}

function argText(key: string, value: string | number | true | readonly number[]): string {
	if (value === true)
		return "1";
	/* Times are whole; only a share is not. */
	if (typeof value === "number")
		return String(key === "min" ? value : Math.round(value));
	return typeof value === "string" ? value : value.join(",");
}

export function makeQuery(name: string, args: Args = {}): string {
	const parts: string[] = [];
	for (const [key, value] of Object.entries(args)) {
		if (value === null || value === undefined || value === false)
			continue;
		const text = encodeURIComponent(argText(key, value)).replace(/%2C/g, ",");
		parts.push(`${encodeURIComponent(key)}=${text}`);
	}
	return parts.length ? `${name}?${parts.join("&")}` : name;
}

/* Marks that turn the direction of text: a name with one would be read as another name. */
const TURNING = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
/* The same in JSON, which has them as numbers; nearly no capture has any. */
const MAYBE_TURNING = /\\u(061c|20[0-9a-f]{2})/i;

function withoutTurning(_key: string, value: unknown): unknown {
	return typeof value === "string" ? value.replace(TURNING, "\ufffd") : value;
}

/* What begins like an error is one: no binary answer has this text at its start. */
function errorIn(bytes: ArrayBuffer): string | null {
	const start = new Uint8Array(bytes, 0, Math.min(bytes.byteLength, 16));
	if (!/^\{\s*"error"/.test(String.fromCharCode(...start)))
		return null;
	return String((JSON.parse(new TextDecoder().decode(bytes)) as { error: unknown }).error);
}

export class Asker {
	constructor(private host: Host) {}

	async ask(name: string, args?: Args): Promise<ArrayBuffer> {
		const bytes = await this.host.ask(makeQuery(name, args));
		const error = errorIn(bytes);
		if (error !== null)
			throw new AskError(error);
		return bytes;
	}

	async askJson<T>(name: string, args?: Args): Promise<T> {
		const text = new TextDecoder().decode(await this.ask(name, args));
		return JSON.parse(text, MAYBE_TURNING.test(text) ? withoutTurning : undefined) as T;
	}
}

/** `thaw view`: the token is in the page's own address or in a meta element. */
export class HttpHost implements Host {
	constructor(private token: string) {}

	async ask(query: string): Promise<ArrayBuffer> {
		let answer: Response;
		try {
			answer = await fetch(`/q/${query}`, {
				headers: { "X-Thaw-Token": this.token },
				credentials: "omit",
				cache: "no-store",
			});
		} catch {
			throw new AskError("thaw view does not answer: it has ended. Start it again.");
		}
		const bytes = await answer.arrayBuffer();
		if (!answer.ok)
			throw new AskError(errorIn(bytes) ?? `thaw view answered with ${answer.status}.`);
		return bytes;
	}
}

/**
 * Asks one thing at a time and forgets what has been overtaken: while a question is on its way
 * only the latest of those that came after it waits. `done` gets every answer that arrives, so
 * that a person who keeps moving sees something; look at the arguments to tell which.
 */
export class Latest<A, R> {
	private busy = false;
	private next: { args: A } | null = null;

	constructor(
		private run: (args: A) => Promise<R>,
		private done: (answer: R, args: A) => void,
		private failed: (error: Error, args: A) => void,
	) {}

	want(args: A): void {
		this.next = { args };
		if (!this.busy)
			void this.loop();
	}

	idle(): boolean {
		return !this.busy;
	}

	private async loop(): Promise<void> {
		this.busy = true;
		while (this.next) {
			const { args } = this.next;
			this.next = null;
			try {
				this.done(await this.run(args), args);
			} catch (e) {
				this.failed(e instanceof Error ? e : new Error(String(e)), args);
			}
		}
		this.busy = false;
	}
}
