// SPDX-License-Identifier: MIT
/*
 * The engine inside of a page, outside of one: node engine.mjs THAW.wasm PLAIN_CAPTURE. Reads
 * requests, one a line; a line with the length before each answer, as query.c does.
 */
import { readFileSync, writeSync } from "node:fs";
import { createInterface } from "node:readline";

const [, , modulePath, capturePath] = process.argv;
const { instance } = await WebAssembly.instantiate(readFileSync(modulePath), {});
const engine = instance.exports;

function put(bytes) {
	const at = engine.thaw_alloc(bytes.length) >>> 0;
	new Uint8Array(engine.memory.buffer, at, bytes.length).set(bytes);
	return at;
}

function answer() {
	const at = engine.thaw_answer() >>> 0;
	return new Uint8Array(engine.memory.buffer, at, engine.thaw_answer_bytes() >>> 0);
}

function fail() {
	process.stderr.write(Buffer.from(answer()).toString());
	process.exit(1);
}

function write(bytes) {
	for (let at = 0; at < bytes.length; )
		at += writeSync(1, bytes, at);
}

const capture = readFileSync(capturePath);
const began = performance.now();
if (engine.thaw_open(put(capture), capture.length) < 0)
	fail();
for (let rc = 1; rc > 0; ) {
	rc = engine.thaw_step(100000);
	if (rc < 0)
		fail();
	if (!(engine.thaw_progress() >= 0 && engine.thaw_progress() <= 1))
		throw new Error(`progress ${engine.thaw_progress()}`);
}
if (process.env.THAW_TIMES)
	console.error(`loaded in ${(performance.now() - began).toFixed(0)} ms, ` +
		`${(engine.memory.buffer.byteLength / 1048576).toFixed(0)} MiB`);

for await (const line of createInterface({ input: process.stdin })) {
	const then = performance.now();
	engine.thaw_ask(put(Buffer.from(line + "\0")));
	if (process.env.THAW_TIMES)
		console.error(`${line.slice(0, 60)}: ${(performance.now() - then).toFixed(2)} ms`);
	const bytes = Buffer.from(answer());
	write(Buffer.from(`${bytes.length}\n`));
	write(bytes);
}
