// SPDX-License-Identifier: MIT
/*
 * What speedscope makes of files: node speedscope.mjs NPM CHROMIUM. Each line of its input is ["FILE", "OUT"]. Checks the
 * file against speedscope's schema; then has speedscope import it, in a browser that knows of no file before, and export
 * what it holds in memory to OUT. Answers each with a line: {"title": the page's}, or {"wrong": what is}.
 */
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";

const [npm, browser] = process.argv.slice(2);
const require = createRequire(path.join(npm, "x.js"));
const release = path.join(npm, "speedscope", "dist", "release");
const PATIENCE_MS = 60000;

const Ajv = require("ajv").default;
const schema = JSON.parse(fs.readFileSync(path.join(release, "file-format-schema.json"), "utf8"));
const check = new Ajv({ strict: false }).compile(schema);

function validate(file) {
	if (!check(JSON.parse(fs.readFileSync(file, "utf8"))))
		throw new Error(`not as the schema says: ${JSON.stringify(check.errors.slice(0, 3))}`);
}

/** Speedscope and the file, and nothing else. */
function serve(file) {
	const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
	const server = http.createServer((request, answer) => {
		const name = path.basename(request.url.split(/[?#]/)[0]) || "index.html";
		const from = name === "profile.json" ? file : path.join(release, name);
		if (!fs.existsSync(from))
			return answer.writeHead(404).end();
		answer.writeHead(200, { "content-type": types[path.extname(from)] ?? "application/json" });
		fs.createReadStream(from).pipe(answer);
	});
	return new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(server)));
}

async function imported(program, file, out) {
	const server = await serve(file);
	const home = `http://127.0.0.1:${server.address().port}`;
	const context = await program.newContext();
	try {
		const page = await context.newPage();
		page.setDefaultTimeout(PATIENCE_MS);
		await page.goto(`${home}/index.html#profileURL=${encodeURIComponent(`${home}/profile.json`)}`);
		await page.waitForFunction(() => document.querySelector("canvas") &&
			document.body.innerText.includes("Sandwich"));
		const [saved] = await Promise.all([
			page.waitForEvent("download"),
			page.keyboard.press("Control+s"),
		]);
		await saved.saveAs(out);
		return await page.title();
	} finally {
		await context.close();
		server.close();
	}
}

async function answer(program, [file, out]) {
	try {
		validate(file);
		return { title: await imported(program, file, out) };
	} catch (wrong) {
		return { wrong: String(wrong) };
	}
}

const { chromium } = require("playwright-core");
const program = await chromium.launch({
	executablePath: browser,
	args: ["--no-sandbox", "--disable-dev-shm-usage"],
});
try {
	for await (const line of readline.createInterface({ input: process.stdin }))
		console.log(JSON.stringify(await answer(program, JSON.parse(line))));
} finally {
	await program.close();
}
