// SPDX-License-Identifier: MIT
/* All tests of the page: node main.mjs BUILD_DIR [WORD...], or those of one file: --file NAME. */
import fs from "node:fs";
import { run } from "./harness.mjs";

const [how, ...rest] = process.argv.slice(3);
const here = new URL(".", import.meta.url);
const files = how === "--file" ? [`${rest.shift()}.mjs`] :
	fs.readdirSync(here).filter((f) => f.endsWith(".mjs") && !/^(main|harness)/.test(f)).sort();

for (const file of files)
	await import(new URL(file, here));
process.exit(await run(how === "--file" || !how ? rest : [how, ...rest]));
