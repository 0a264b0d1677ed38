// SPDX-License-Identifier: MIT
/*
 * Measures pages in Chromium: node page.mjs SPEC.json, which page.py writes; prints JSON. The spec says
 * where Chromium, playwright-core, thaw and speedscope are, and which captures to open.
 *
 * Frames are not held back to the screen's rate: the time between two of them is what one costs. In
 * each frame of the script one turn of the wheel zooms or pans, so that every one has to be drawn.
 */
import { spawn } from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const spec = JSON.parse(fs.readFileSync(process.argv[2], "utf8"));
const { chromium } = createRequire(path.join(spec.npm, "x.js"))("playwright-core");
const here = path.dirname(fileURLToPath(import.meta.url));
const PATIENCE_MS = 180000;

const percentile = (list, p) => [...list].sort((a, b) => a - b)[Math.floor(p * (list.length - 1))];
const say = (words) => process.stderr.write(`${words}\n`);

async function tab(browser) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
	context.setDefaultTimeout(PATIENCE_MS);
	await context.addInitScript(instrument);
	return await context.newPage();
}

/* Runs in every page before its own code: sums up the time spent in callbacks of a frame. */
function instrument() {
	const real = window.requestAnimationFrame.bind(window);
	window.bench = { work: 0, frame: real };
	window.requestAnimationFrame = (fn) =>
		real((now) => {
			const began = performance.now();
			try {
				fn(now);
			} finally {
				window.bench.work += performance.now() - began;
			}
		});
}

/* The fixed script: into the middle, to the right, out, to the left, `turns` each; `times` over. */
async function wheel({ selector, zoom, pan, turns, times }) {
	const box = document.querySelector(selector).getBoundingClientRect();
	const at60 = { clientX: box.left + 0.6 * box.width, clientY: box.top + 0.5 * box.height };
	const target = document.elementFromPoint(at60.clientX, at60.clientY);
	const turn = (how) =>
		target.dispatchEvent(new WheelEvent("wheel", {
			...at60, bubbles: true, cancelable: true, ...how,
		}));
	const steps = [];
	for (let i = 0; i < times; i++)
		for (const how of [zoom.in, pan.right, zoom.out, pan.left])
			for (let k = 0; k < turns; k++)
				steps.push(how);
	const at = [], work = [];
	await new Promise((done) => {
		const step = (now) => {
			at.push(now);
			work.push(window.bench.work);
			window.bench.work = 0;
			if (at.length > steps.length)
				return done();
			turn(steps[at.length - 1]);
			window.bench.frame(step);
		};
		window.bench.frame(step);
	});
	return { frames: at.slice(1).map((t, i) => t - at[i]), work: work.slice(1) };
}

const THAW = {
	selector: '[data-test="timeline"]',
	zoom: { in: { deltaY: -60 }, out: { deltaY: 60 } },
	pan: { right: { deltaX: 40 }, left: { deltaX: -40 } },
};
const SPEEDSCOPE = {
	selector: "canvas",
	zoom: { in: { deltaY: -20, ctrlKey: true }, out: { deltaY: 20, ctrlKey: true } },
	pan: { right: { deltaX: 40 }, left: { deltaX: -40 } },
};

/** From the start of loading (and from `began`, a point of wall time) to the first exact lanes. */
async function firstLanes(page, address, began) {
	await page.goto(address);
	await page.waitForFunction(() => performance.getEntriesByName("thaw-first-lanes").length);
	const [origin, mark] = await page.evaluate(() =>
		[performance.timeOrigin, performance.getEntriesByName("thaw-first-lanes")[0].startTime]);
	return origin + mark - began;
}

/* Runs in the page: from a change of the address to the frame that shows the answer. */
async function untilShown(hash) {
	const body = document.querySelector('[role="tabpanel"]:not([hidden]) .panel-body');
	const answered = new Promise((done) =>
		new MutationObserver(() => body.hasAttribute("aria-busy") || done())
			.observe(body, { attributes: true, attributeFilter: ["aria-busy"] }));
	const began = performance.now();
	location.hash = hash;
	await answered;
	await new Promise((done) => window.bench.frame(done));
	return performance.now() - began;
}

/** Selects ranges, the widest last, and waits for each one's flame graph. */
async function ranges(page, duration) {
	const took = [];
	await page.evaluate(() => (location.hash = "#tab=flame"));
	await page.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
	for (const share of [0.01, 0.03, 0.1, 0.3, 0.6, 1])
		for (const place of [0.1, 0.5, 0.8]) {
			const from = Math.floor(Math.min(place, 1 - share) * duration);
			const to = Math.floor(from + share * duration) - took.length; /* none twice */
			took.push(await page.evaluate(untilShown, `#tab=flame&sel=${from}-${to}`));
		}
	return took;
}

/** Once in short, so that all code has run, then to be measured. */
async function frames(page, how, times = spec.times) {
	await page.evaluate(wheel, { ...how, turns: 5, times: 1 });
	return await page.evaluate(wheel, { ...how, turns: 30, times });
}

/* An answer to `lanes` (src/query): lanes of runs, a run with its classes. Each is a rectangle. */
function pieces(answer) {
	const words = new Uint32Array(answer.buffer, answer.byteOffset, answer.length >> 2);
	let n = 0;
	for (let at = 0; at < words.length;)
		for (let runs = words[at++]; runs; runs--) {
			n += words[at + 2];
			at += 3 + words[at + 2];
		}
	return n;
}

/*
 * How many rectangles are in sight when the answers are drawn that the script asks for: an answer has
 * lanes above and below those in sight, and time before and after.
 */
async function counted(page, how) {
	const answers = [];
	const listen = (r) => /\/lanes\?/.test(r.url()) &&
		answers.push(r.body().then((b) => [new URL(r.url()).searchParams, b], () => null));
	page.on("response", listen);
	await page.evaluate(wheel, { ...how, turns: 30, times: 1 });
	await page.waitForLoadState("networkidle");
	page.off("response", listen);
	const [columns, lanes] = await page.evaluate(() =>
		[document.querySelector('[data-test="timeline"]').width,
			document.querySelectorAll(".tl-label.thread:not([hidden])").length]);
	return (await Promise.all(answers)).filter(Boolean).map(([asked, body]) =>
		Math.round(pieces(Buffer.from(body)) * Math.min(1, columns / Number(asked.get("cols"))) *
			Math.min(1, lanes / asked.get("threads").split(",").length)));
}

function server(file) {
	const began = Date.now();
	const child = spawn(spec.thaw, ["view", "--no-open", file], { stdio: ["ignore", "pipe", "pipe"] });
	return new Promise((resolve, reject) => {
		let said = "";
		const listen = (data) => {
			said += data;
			const found = /https?:\/\/\S+/.exec(said);
			if (found)
				resolve({ child, began, address: found[0] });
		};
		child.stdout.on("data", listen);
		child.stderr.on("data", listen);
		child.on("exit", (code) => reject(new Error(`thaw view: exit ${code}: ${said.trim()}`)));
	});
}

/** thaw's page by `thaw view`: from the command's start on. */
async function measureView(browser, capture) {
	const first = [];
	let out;
	for (let i = 0; i < spec.rounds; i++) {
		const { child, began, address } = await server(capture.file);
		const page = await tab(browser);
		try {
			first.push(await firstLanes(page, address, began));
			if (i === spec.rounds - 1)
				out = {
					...(await frames(page, THAW)),
					ranges: await ranges(page, capture.duration),
					counted: await counted(page, THAW),
				};
		} finally {
			await page.context().close();
			child.kill("SIGTERM");
		}
	}
	return { first, ...out };
}

/** The exported file: from the start of its loading on. */
async function measureHtml(browser, capture) {
	const first = [];
	let out;
	for (let i = 0; i < spec.rounds; i++) {
		const page = await tab(browser);
		first.push(await firstLanes(page, pathToFileURL(capture.html).href, Date.now()));
		if (i === spec.rounds - 1)
			out = { ...(await frames(page, THAW)), ranges: await ranges(page, capture.duration) };
		await page.context().close();
	}
	return { first, ...out };
}

/** Speedscope's folder and the samples, by a server that serves nothing else. */
function serveSpeedscope(files) {
	const serve = http.createServer((request, answer) => {
		const name = decodeURIComponent(request.url.split(/[?#]/)[0].slice(1)) || "index.html";
		const file = files.get(name) ?? path.join(spec.speedscope, path.basename(name));
		const type = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
		if (!fs.existsSync(file))
			return answer.writeHead(404).end();
		answer.writeHead(200, { "content-type": type[path.extname(file)] ?? "text/plain" });
		fs.createReadStream(file).pipe(answer);
	});
	return new Promise((resolve) => serve.listen(0, "127.0.0.1", () => resolve(serve)));
}

/** Loaded is when it offers its views and has drawn once more. */
async function measureSpeedscope(browser, capture) {
	const serve = await serveSpeedscope(new Map([["samples", capture.collapsed]]));
	const home = `http://127.0.0.1:${serve.address().port}`;
	const first = [];
	let out;
	for (let i = 0; i < spec.rounds; i++) {
		const page = await tab(browser);
		await page.goto(`${home}/index.html#profileURL=${encodeURIComponent(`${home}/samples`)}`);
		first.push(await page.evaluate(async () => {
			const drawn = () => document.body.innerText.includes("Sandwich") &&
				document.querySelector("canvas");
			while (!drawn())
				await new Promise((r) => setTimeout(r));
			await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)));
			return performance.now();
		}));
		if (i === spec.rounds - 1)
			out = await frames(page, SPEEDSCOPE, 1); /* its frames take long */
		await page.context().close();
	}
	serve.close();
	return { first, ...out };
}

async function measureBaseline(browser, rectangles) {
	const page = await tab(browser);
	await page.goto(pathToFileURL(path.join(here, "baseline.html")).href);
	await page.evaluate((n) => frames(n, 20), rectangles);
	const out = await page.evaluate(([n, count]) => frames(n, count), [rectangles, 120 * spec.times]);
	await page.context().close();
	return { frames: out };
}

const browser = await chromium.launch({
	executablePath: spec.chromium,
	args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-frame-rate-limit",
		"--disable-gpu-vsync", "--enable-unsafe-swiftshader", "--ignore-gpu-blocklist"],
});
const results = [];
for (const capture of spec.captures) {
	const r = { name: capture.name };
	r.view = await measureView(browser, capture);
	say(`${capture.name}: view, first lanes after ${r.view.first.map(Math.round)} ms`);
	r.html = await measureHtml(browser, capture);
	say(`${capture.name}: html, first lanes after ${r.html.first.map(Math.round)} ms`);
	r.rectangles = percentile(r.view.counted, 0.95);
	r.baseline = await measureBaseline(browser, r.rectangles);
	r.speedscope = await measureSpeedscope(browser, capture);
	say(`${capture.name}: speedscope, loaded after ${r.speedscope.first.map(Math.round)} ms`);
	results.push(r);
}
await browser.close();
console.log(JSON.stringify({ version: browser.version(), results }));
