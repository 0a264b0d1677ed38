// SPDX-License-Identifier: MIT
/* What a foreign web page, open in the same browser, gets from `thaw view`: nothing. */
import http from "node:http";
import { assert, newContext, testAlone, view } from "./harness.mjs";

/** A page of somebody else's, on another port of the same machine: another origin. */
async function stranger() {
	const server = http.createServer((request, answer) =>
		answer.writeHead(200, { "content-type": "text/html" }).end("<title>stranger</title>"));
	await new Promise((r) => server.listen(0, "127.0.0.1", r));
	return { server, address: `http://127.0.0.1:${server.address().port}/` };
}

/** Goes to an address that must answer with an error and nothing of the recording. */
async function refused(page, url) {
	try {
		const answer = await page.goto(url);
		assert.ok(answer.status() >= 400, `${url}: ${answer.status()}`);
		assert.ok(!(await answer.text()).includes("commit_lock"));
	} catch (e) {
		// What Chromium says of an error without a word.
		assert.match(e.message, /ERR_HTTP_RESPONSE_CODE_FAILURE/);
	}
}

async function asStranger(fn) {
	const { server, address } = await stranger();
	const context = await newContext();
	try {
		const page = await context.newPage();
		await page.goto(address);
		await fn(page, new URL(await view("demo")));
	} finally {
		await context.close();
		server.close();
	}
}

const tokenOf = (home) => home.pathname.replaceAll("/", "");

/** As a question of the page's own; its token goes with it in a header. */
const question = (home, name) => `${home.origin}/q/${name}`;

testAlone("a foreign page reads no answer, even with the right address", () =>
	asStranger(async (page, home) => {
		const got = await page.evaluate(async ([urls, token]) => {
			const out = [];
			const headers = { "X-Thaw-Token": token };
			for (const url of urls)
				for (const how of [{}, { headers }, { headers, credentials: "include" },
					{ mode: "no-cors" }, { method: "POST", headers }])
					try {
						const r = await fetch(url, how);
						out.push(r.type === "opaque" ? "" : `${url}: ${(await r.text()).slice(0, 80)}`);
					} catch {
						out.push("");
					}
			return out;
		}, [[home.href, question(home, "open"), home.origin], tokenOf(home)]);
		assert.equal(got.length, 15);
		assert.deepEqual(got.filter(Boolean), []);
	}));

testAlone("a foreign page cannot show it in a frame", () =>
	asStranger(async (page, home) => {
		await page.evaluate(async (url) => {
			for (const tag of ["iframe", "object", "embed"]) {
				const e = document.createElement(tag);
				e[tag === "object" ? "data" : "src"] = url;
				document.body.append(e);
				await Promise.race([
					new Promise((r) => (e.onload = e.onerror = r)),
					new Promise((r) => setTimeout(r, 2000)),
				]);
			}
		}, home.href);
		for (const frame of page.frames().slice(1)) {
			const text = await frame.content().catch(() => "");
			assert.ok(!/thaw/i.test(text), `a frame shows ${text.slice(0, 200)}`);
		}
	}));

testAlone("a foreign page runs no script or image of it, and gets no socket", () =>
	asStranger(async (page, home) => {
		const got = await page.evaluate(async ([address, open]) => {
			const loaded = (tag, url) =>
				new Promise((r) => {
					const e = document.createElement(tag);
					e.onload = () => r(true);
					e.onerror = () => r(false);
					e.src = url;
					document.body.append(e);
				});
			const socket = new Promise((r) => {
				const s = new WebSocket(address.replace(/^http/, "ws"));
				s.onopen = () => r(true);
				s.onerror = () => r(false);
			});
			return [await loaded("img", address), await loaded("script", open), await socket];
		}, [home.href, question(home, "open")]);
		assert.deepEqual(got, [false, false, false]);
	}));

testAlone("another name for this machine gets nothing (DNS rebinding)", async () => {
	const home = new URL(await view("demo"));
	const context = await newContext();
	try {
		const page = await context.newPage();
		for (const url of [home.href, question(home, "open")]) {
			const rebound = new URL(url);
			rebound.hostname = "rebound.test"; /* which the browser takes to 127.0.0.1 */
			await refused(page, rebound.href);
		}
	} finally {
		await context.close();
	}
});

testAlone("without the token, or with another, there is nothing", async () => {
	const home = new URL(await view("demo"));
	const token = tokenOf(home);
	assert.match(token, /^[0-9a-f]{32,}$/);
	const other = token.replace(/./g, (c) => (c === "a" ? "b" : "a"));
	const context = await newContext();
	try {
		const page = await context.newPage();
		for (const wrong of [home.href.replace(token, other), home.href.replace(token, ""), home.origin,
			question(home, "open")])
			await refused(page, wrong);
		const asked = (headers) => context.request.get(question(home, "open"), { headers });
		assert.equal((await asked({ "X-Thaw-Token": token })).status(), 200, "even the right one is refused");
		for (const wrong of [other, token.slice(1), token + "0", ""])
			assert.ok((await asked({ "X-Thaw-Token": wrong })).status() >= 400);
	} finally {
		await context.close();
	}
});
