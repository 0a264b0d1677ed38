// SPDX-License-Identifier: MIT
/*
 * What speedscope makes of a file: node speedscope.mjs NPM FILE OUT [CHROMIUM]. Checks the file against
 * speedscope's schema; then, if there is a Chromium, has speedscope import it and export what it holds
 * in memory to OUT. Prints the page's title. Fails with what is wrong.
 */
import fs from "node:fs";
import http from "node:http";
import { createRequire } from "node:module";
import path from "node:path";

const [npm, file, out, browser] = process.argv.slice(2);
const require = createRequire(path.join(npm, "x.js"));
const release = path.join(npm, "speedscope", "dist", "release");
const PATIENCE_MS = 60000;

function validate() {
	const Ajv = require("ajv").default;
	const schema = JSON.parse(fs.readFileSync(path.join(release, "file-format-schema.json"), "utf8"));
	const check = new Ajv({ strict: false }).compile(schema);

	if (!check(JSON.parse(fs.readFileSync(file, "utf8"))))
		throw new Error(`not as the schema says: ${JSON.stringify(check.errors.slice(0, 3))}`);
}

/** Speedscope and the file, and nothing else. */
function serve() {
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

async function imported() {
	const { chromium } = require("playwright-core");
	const server = await serve();
	const home = `http://127.0.0.1:${server.address().port}`;
	const program = await chromium.launch({
		executablePath: browser,
		args: ["--no-sandbox", "--disable-dev-shm-usage"],
	});
	try {
		const page = await program.newPage();
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
		await program.close();
		server.close();
	}
}

validate();
console.log(browser ? await imported() : "");
