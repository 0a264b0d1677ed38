// SPDX-License-Identifier: MIT
/*
 * What the tests of the page share: Debian's Chromium, the page on both of its hosts, and a watch over
 * what must never happen in it. node main.mjs BUILD_DIR [WORD...] runs the tests whose names hold a word.
 *
 * A test gets a tab of its own and fails, whatever it checked, if the page said an error on its
 * console, a request failed or went anywhere but to its own host, its policy was violated, or markup in
 * a name came to life (pwned). Waiting has limits, for a page that hangs; nothing is timed.
 */
import assert from "node:assert/strict";
import { execFileSync, spawn, spawnSync } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";

export { assert };
export const BUILD = path.resolve(process.argv[2] ?? "build");
export const WORK = path.join(BUILD, "browser");
export const SHOTS = path.join(WORK, "screenshots");
export const THAW = path.join(BUILD, "thaw");
const PATIENCE_MS = 30000;
const CHROMIUM = "/usr/bin/chromium";

const { chromium } = createRequire(path.join(WORK, "npm", "x.js"))("playwright-core");

/** Thrown by what cannot be tried here. */
export class Skip extends Error {}

export const capture = (name) => path.join(WORK, `${name}.thaw`);

/** What `thaw report --json` says of a capture and a range: what the page is compared with. */
export function report(name, ...args) {
	const text = execFileSync(THAW, ["report", capture(name), "--json", ...args], {
		maxBuffer: 1 << 30,
		stdio: ["ignore", "pipe", "ignore"],
	});
	return JSON.parse(text);
}

/** The first stall of the demo whose holder mostly waited for the disk; a busy machine has others too, and one
 * that is so busy that the holder mostly waited for a CPU may have no such one. */
export function stallOfDisk() {
	const { stalls } = report("demo");
	const index = stalls.findIndex((s) => s.reason === "disk");
	const queued = stalls.filter((s) => s.reason === "run_queue" && s.meanwhile.some((d) => d.reason === "disk"));
	if (index < 0 && queued.length)
		throw new Skip("in every stall of the demo the holder got no CPU for longer than it waited for the disk");
	assert.ok(index >= 0, "no stall of the demo is the disk's");
	return { index, test: `stall-${index}`, ...stalls[index] };
}

const servers = new Map();

/** `thaw view`, one a capture: its address, once it has said it. */
export function view(name) {
	if (servers.has(name))
		return servers.get(name).address;
	const child = spawn(THAW, ["view", "--no-open", capture(name)], {
		stdio: ["ignore", "pipe", "pipe"],
	});
	const address = new Promise((resolve, reject) => {
		let said = "";
		const listen = (data) => {
			said += data;
			const found = /https?:\/\/\S+/.exec(said);
			if (found)
				resolve(found[0]);
		};
		child.stdout.on("data", listen);
		child.stderr.on("data", listen);
		child.on("exit", (code) => reject(new Error(`thaw view: exit ${code}: ${said.trim()}`)));
	});
	servers.set(name, { child, address });
	return address;
}

/** `thaw export -f html`, one a capture: its address. */
export function html(name) {
	const file = path.join(WORK, `${name}.html`);
	const newer = (a, b) => fs.statSync(a).mtimeMs > fs.statSync(b).mtimeMs;
	if (!fs.existsSync(file) || !newer(file, capture(name)) || !newer(file, THAW)) {
		/* Several files of tests may want it at the same time. */
		const made = `${file}.${process.pid}`;
		const done = spawnSync(THAW, ["export", capture(name), "-f", "html", "-o", made], { encoding: "utf8" });
		if (/built without the engine/.test(done.stderr))
			throw new Skip("this thaw was built without the engine that a page needs");
		assert.equal(done.status, 0, done.stderr);
		fs.renameSync(made, file);
	}
	return pathToFileURL(file).href;
}

/** `thaw diff --html` of a capture and the plain user's: its address. */
export function diff(name) {
	const file = path.join(WORK, `${name}-diff-${process.pid}.html`);
	const done = spawnSync(THAW, ["diff", capture(name), capture("ctimer"), "--html", file], { encoding: "utf8" });
	assert.equal(done.status, 0, done.stderr);
	return pathToFileURL(file).href;
}

export const HOSTS = { html, view, diff };

let browser;

async function launch() {
	browser ??= await chromium.launch({
		executablePath: CHROMIUM,
		args: ["--no-sandbox", "--disable-dev-shm-usage",
			"--host-resolver-rules=MAP rebound.test 127.0.0.1"],
	});
	return browser;
}

/** A browser's window of its own, without the watch. */
export async function newContext() {
	const context = await (await launch()).newContext();
	context.setDefaultTimeout(PATIENCE_MS);
	return context;
}

/** Everything that may not happen, as it happens. */
function watch(context, home, faults) {
	const mine = (url) =>
		/^(data|blob|about):/.test(url) || url.split("#")[0] === home.split("#")[0] ||
		(home.startsWith("http") && new URL(url).origin === new URL(home).origin);

	context.on("console", (m) => {
		if (m.type() === "error" || m.type() === "warning")
			faults.push(`console: ${m.text()}`);
	});
	context.on("weberror", (e) => faults.push(`exception: ${e.error().stack ?? e.error()}`));
	context.on("request", (r) => {
		if (!mine(r.url()))
			faults.push(`a request to ${r.url()}`);
	});
	context.on("requestfailed", (r) => {
		// The page may well drop a question that nobody wants answered any more.
		if (r.failure()?.errorText !== "net::ERR_ABORTED")
			faults.push(`failed: ${r.url()}: ${r.failure()?.errorText}`);
	});
	context.on("response", (r) => {
		if (r.status() >= 400)
			faults.push(`answer ${r.status()}: ${r.url()}`);
	});
	context.on("dialog", (d) => {
		faults.push(`a dialog: ${d.message()}`);
		d.dismiss();
	});
}

/** Runs inside of the page before anything of its own. */
function inside() {
	window.faults = [];
	window.shifts = [];
	window.pwned = () => window.faults.push("markup in a name came to life");
	addEventListener("securitypolicyviolation", (e) =>
		window.faults.push(`policy: ${e.violatedDirective} ${e.blockedURI}`));
	new PerformanceObserver((list) => {
		for (const e of list.getEntries())
			window.shifts.push({ value: e.value, at: e.startTime, input: e.hadRecentInput,
				nodes: e.sources.map((s) => s.node?.id || s.node?.className || s.node?.nodeName) });
	}).observe({ type: "layout-shift", buffered: true });
}

/** A tab with the page of a capture, loaded; `hash` is what follows the address. */
export class Tab {
	static async open(host, name, options = {}) {
		const tab = new Tab();
		/* With an address, the page does not choose itself what it opens with. */
		const { hash = host === "diff" ? "" : "#tab=flame", wait = true, ...how } = options;
		tab.host = host;
		tab.name = name;
		tab.faults = [];
		tab.address = await HOSTS[host](name);
		tab.context = await (await launch()).newContext({
			viewport: { width: 1280, height: 720 },
			...how,
		});
		tab.context.setDefaultTimeout(PATIENCE_MS);
		await tab.context.addInitScript(inside);
		watch(tab.context, tab.address, tab.faults);
		tab.page = await tab.context.newPage();
		await tab.page.goto(tab.address + hash);
		if (wait)
			await tab.ready();
		return tab;
	}

	/** Until the first exact lanes are drawn. */
	async ready(page = this.page) {
		await page.waitForFunction(() => performance.getEntriesByName("thaw-first-lanes").length > 0);
	}

	async close() {
		for (const page of this.context.pages())
			this.faults.push(...(await page.evaluate(() => window.faults ?? []).catch(() => [])));
		await this.context.close();
		assert.deepEqual(this.faults, [], "what may not happen in the page");
	}

	async shot(name) {
		fs.mkdirSync(SHOTS, { recursive: true });
		await this.page.screenshot({ path: path.join(SHOTS, `${name}-${this.host}.png`) });
	}

	/** By the attribute that the page has for tests. */
	at(name) {
		return this.page.locator(`[data-test="${name}"]`);
	}

	/** The state in the address. */
	async state() {
		const hash = new URL(this.page.url()).hash.slice(1);
		return Object.fromEntries(hash.split("&").filter(Boolean).map((part) => {
			const [key, ...value] = part.split("=");
			return [key, decodeURIComponent(value.join("="))];
		}));
	}

	/** Until the address has (or, with null, has no longer) a field, and maybe another value than before. */
	async until(key, not) {
		await this.page.waitForFunction(([k, old]) => {
			const m = new RegExp(`[#&]${k}=([^&]*)`).exec(location.hash);
			return old === null ? !m : m && decodeURIComponent(m[1]) !== old;
		}, [key, not]);
		return (await this.state())[key];
	}

	async tab(id) {
		await this.at(`tab-${id}`).click();
		await this.calm();
	}

	/** Until no panel waits for an answer and the lanes are exact. */
	async calm() {
		await this.page.waitForFunction(() =>
			!document.querySelector('[aria-busy="true"]') &&
			(document.querySelector("#page.timeless") ||
			 document.querySelector('[data-test="timeline"]')?.dataset.settled === "true"));
	}

	/** A table by its name: [{head: text}] of the rows that are there. */
	async table(label) {
		const grid = this.page.getByRole("grid", { name: label, exact: true });
		await grid.waitFor();
		return await grid.evaluate((e) => {
			const heads = [...e.querySelectorAll("thead th")].map((h) => h.textContent.trim());
			return [...e.querySelectorAll("tbody tr")].map((tr) =>
				Object.fromEntries([...tr.children].map((td, i) => [heads[i], td.textContent.trim()])));
		});
	}

	/** What the timeline shows, and where a time and a thread's lane are on the screen. */
	async where() {
		const state = await this.state();
		const duration = await this.duration();
		const [from, to] = (state.view ?? `0-${duration}`).split("-").map(Number);
		const box = await this.at("timeline").boundingBox();
		return {
			from, to, box,
			x: (ts) => box.x + ((ts - from) / (to - from)) * box.width,
			time: (x) => from + ((x - box.x) / box.width) * (to - from),
		};
	}

	async duration() {
		return (this.whole ??= report(this.name).capture.window_ns);
	}

	/** The middle of a thread's lane. */
	async lane(comm) {
		const name = this.page.locator(".tl-label.thread").filter({ hasText: comm }).first();
		const box = await name.boundingBox();
		return box.y + box.height / 2;
	}
}

const UNITS = { ns: 1, us: 1e3, ms: 1e6, s: 1e9, m: 60e9, h: 3600e9 };

/**
 * Whether a time as people read it ("10.4ms", "1m40s") is these nanoseconds, as far as its digits
 * go.
 */
export function isDuration(text, ns) {
	const parts = [...text.matchAll(/(\d+)(?:\.(\d+))?(ns|us|ms|s|m|h)/g)];
	const last = parts.at(-1);
	if (!last)
		return false;
	const told = parts.reduce((sum, [, a, b, unit]) => sum + Number(`${a}.${b ?? 0}`) * UNITS[unit], 0);
	const grain = UNITS[last[3]] / 10 ** (last[2]?.length ?? 0);
	return Math.abs(told - ns) <= 0.51 * grain;
}

/** The same for a share ("41%", "3.0%"). */
export function isPercent(text, part, whole) {
	const m = /^([<>]?)(\d+)(?:\.(\d+))?%$/.exec(text);
	const share = whole ? (100 * part) / whole : 0;
	if (!m)
		return false;
	if (m[1])
		return m[1] === "<" ? share < Number(`${m[2]}.${m[3] ?? 0}`) : share > Number(`${m[2]}.${m[3] ?? 0}`);
	return Math.abs(Number(`${m[2]}.${m[3] ?? 0}`) - share) <= 0.51 / 10 ** (m[3]?.length ?? 0);
}

/** The same for a number ("12", "34.3k", "1.2M"). */
export function isCount(text, n) {
	const m = /^([\d.,]+)([kMG]?)$/.exec(text);
	if (!m)
		return false;
	const unit = { "": 1, k: 1e3, M: 1e6, G: 1e9 }[m[2]];
	const digits = m[1].split(".")[1]?.length ?? 0;
	return Math.abs(Number(m[1].replace(/,/g, "")) * unit - n) <= (m[2] ? 0.51 * unit : 0.5) / 10 ** digits;
}

/** Shift and drag over a share of the timeline. */
export async function select(tab, from, to) {
	const { box, time } = await tab.where();
	const y = box.y + 60;
	const [a, b] = [box.x + from * box.width, box.x + to * box.width];
	await tab.page.keyboard.down("Shift");
	await tab.page.mouse.move(a, y);
	await tab.page.mouse.down();
	await tab.page.mouse.move((a + b) / 2, y, { steps: 3 });
	await tab.page.mouse.move(b, y);
	await tab.page.mouse.up();
	await tab.page.keyboard.up("Shift");
	const sel = (await tab.until("sel", undefined)).split("-").map(Number);
	await tab.calm();
	return { from: sel[0], to: sel[1], wanted: [time(a), time(b)], slack: (2 * time(box.x + 1)) };
}

const tests = [];

/** A test of a capture's page; on both hosts unless it says otherwise. */
export function test(name, options, fn) {
	tests.push({ name, hosts: ["html", "view"], capture: "demo", ...options, fn });
}

/** A test that opens what it needs by itself. */
export function testAlone(name, fn) {
	tests.push({ name, hosts: [null], fn });
}

async function attempt({ fn, capture: name, options }, host) {
	if (!host)
		return await fn();
	const tab = await Tab.open(host, name, options);
	let failed = true;
	try {
		await fn(tab);
		failed = false;
	} finally {
		if (failed)
			await tab.shot(`failed-${name}`).catch(() => {});
		await tab.close().catch((e) => {
			if (!failed)
				throw e;
			console.log(`  besides: ${String(e.message).slice(0, 1000)}`);
		});
	}
}

/** A line a test and host; the exit status. --list only says which there are. */
export async function run(words) {
	let failed = 0;
	const hosts = process.env.HOST?.split(" "); /* only these, while one works on something */
	for (const t of tests)
		for (const host of t.hosts) {
			if (hosts && host && !hosts.includes(host))
				continue;
			const name = host ? `${t.name} (${host})` : t.name;
			if (words.includes("--list")) {
				console.log(`ok browser ${name}`);
				continue;
			}
			if (words.length && !words.some((w) => name.includes(w)))
				continue;
			if (host && !fs.existsSync(capture(t.capture))) {
				console.log(`skip browser ${name}: recording the demo needs root and BTF`);
				continue;
			}
			const began = Date.now();
			try {
				await attempt(t, host);
				console.log(`ok browser ${name} [${((Date.now() - began) / 1000).toFixed(1)} s]`);
			} catch (e) {
				if (e instanceof Skip) {
					console.log(`skip browser ${name}: ${e.message}`);
					continue;
				}
				failed++;
				console.log(`FAIL browser ${name}: ${String(e.message).split("\n")[0]}`);
				console.log(String(e.stack).split("\n").map((l) => `    ${l}`).join("\n"));
			}
		}
	await browser?.close();
	for (const { child } of servers.values())
		child.kill("SIGTERM");
	return failed ? 1 : 0;
}
