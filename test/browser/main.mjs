// SPDX-License-Identifier: MIT
/* All tests of the page: node main.mjs BUILD_DIR [WORD...]. */
import "./first.mjs";
import "./timeline.mjs";
import "./numbers.mjs";
import "./panels.mjs";
import "./habits.mjs";
import "./hostile.mjs";
import "./foreign.mjs";
import { run } from "./harness.mjs";

process.exit(await run(process.argv.slice(3)));
