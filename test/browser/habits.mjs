// SPDX-License-Identifier: MIT
/* What people are used to: the address, back and forward, the keyboard, paper, the phone, the dark. */
import { assert, report, select, stallOfDisk, test } from "./harness.mjs";

/** What a person sees of the state: the numbers' scope, the details, the chosen tab. */
async function seen(page) {
	return await page.evaluate(() => ({
		tab: document.querySelector('[role="tab"][aria-selected="true"]')?.textContent,
		scope: [...document.querySelectorAll('[data-test="scope"]')].find((e) => e.checkVisibility())?.textContent,
		details: document.querySelector("aside")?.innerText,
	}));
}

test("the address shows the same view in another tab", {}, async (tab) => {
	await select(tab, 0.3, 0.5);
	await tab.tab("functions");
	const { box } = await tab.where();
	await tab.page.mouse.click(box.x + 0.4 * box.width, await tab.lane("worker-1"));
	await tab.at("detail-title").waitFor();
	await tab.calm();
	const other = await tab.context.newPage();
	await other.goto(tab.page.url());
	await tab.ready(other);
	await other.locator('[data-test="detail-title"]').waitFor();
	await other.waitForFunction(() => !document.querySelector('[aria-busy="true"]'));
	assert.deepEqual(await seen(other), await seen(tab.page));
});

test("back and forward", {}, async (tab) => {
	const first = await seen(tab.page);
	await select(tab, 0.3, 0.5);
	const second = await seen(tab.page);
	await tab.tab("threads");
	const third = await seen(tab.page);
	assert.notDeepEqual(second, first);
	assert.notDeepEqual(third, second);
	await tab.page.goBack();
	await tab.calm();
	assert.deepEqual(await seen(tab.page), second);
	await tab.page.goBack();
	await tab.calm();
	assert.deepEqual(await seen(tab.page), first);
	await tab.page.goForward();
	await tab.page.goForward();
	await tab.calm();
	assert.deepEqual(await seen(tab.page), third);
});

test("nonsense in the address does no harm", {}, async (tab) => {
	for (const hash of ["#sel=9-3", "#view=-5-x", "#focus=99999@1", "#tab=<img src=x onerror=pwned()>",
		"#threads=1.x", "#flame=%,%", "#lock=99999999&tab=locks", "#func=%00&tab=functions",
		"#sel=0-999999999999999", "#stall=77", "#heat=%3Cb%3E&tab=heatmap", "#constructor=1&__proto__=2"]) {
		await tab.page.goto(tab.address + hash);
		await tab.page.reload();
		await tab.ready();
		await tab.at("lead").waitFor();
	}
});

test("by keyboard alone: a stall, its holder, a selection, another tab, help", {}, async (tab) => {
	const { keyboard } = tab.page;
	const at = () => tab.page.evaluate(() => document.activeElement?.dataset.test ?? "");
	const walk = async (want) => {
		for (let i = 0; i < 200; i++) {
			if ((await at()) === want)
				return;
			await keyboard.press("Tab");
		}
		assert.fail(`Tab does not lead to ${want}`);
	};
	await walk(stallOfDisk().test);
	await keyboard.press("Enter");
	await tab.at("stall-holder").waitFor();
	await walk("stall-holder");
	await keyboard.press("Enter");
	await tab.until("focus", undefined);
	await tab.page.getByRole("complementary", { name: "Details" }).getByText("disk").first().waitFor();
	const tabs = tab.page.getByRole("tab");
	const chosen = await tabs.and(tab.page.locator('[aria-selected="true"]')).getAttribute("data-test");
	await walk(chosen);
	await keyboard.press("ArrowRight");
	await tab.until("tab", undefined);
	await walk("timeline");
	const before = (await tab.state()).focus;
	await keyboard.press("]");
	await tab.until("focus", before);
	await keyboard.press("?");
	await tab.at("help-dialog").waitFor();
	await tab.shot("help");
	await keyboard.press("Escape");
	await tab.at("help-dialog").waitFor({ state: "hidden" });
});

test("the focus is visible wherever it goes", {}, async (tab) => {
	await tab.calm();
	const unseen = [];
	for (let i = 0; i < 40; i++) {
		await tab.page.keyboard.press("Tab");
		const fault = await tab.page.evaluate(() => {
			const e = document.activeElement;
			if (!e || e === document.body)
				return null;
			const look = (x) => {
				const s = getComputedStyle(x);
				return [s.outlineStyle, s.outlineWidth, s.outlineColor, s.boxShadow, s.borderColor,
					s.backgroundColor].join();
			};
			const shown = (getComputedStyle(e).outlineStyle !== "none" &&
				parseFloat(getComputedStyle(e).outlineWidth) > 0);
			const on = look(e);
			e.blur();
			const off = look(e);
			e.focus({ focusVisible: true });
			return shown || on !== off ? null : e.outerHTML.slice(0, 120);
		});
		if (fault)
			unseen.push(fault);
	}
	assert.deepEqual(unseen, []);
});

/** Controls and pictures that a person who cannot see the page could not tell apart. */
function nameless() {
	const has = (e) => {
		const by = e.getAttribute("aria-labelledby");
		return Boolean(
			e.getAttribute("aria-label")?.trim() ||
			(by && by.split(" ").some((id) => document.getElementById(id)?.textContent.trim())) ||
			e.textContent.trim() || e.labels?.length || e.getAttribute("title")?.trim());
	};
	const all = document.querySelectorAll(
		"button, input, select, textarea, a[href], [role=img], [role=application], [role=grid], [role=tree], " +
		"[role=tab], [role=tabpanel], dialog, section, aside, canvas:not([aria-hidden=true])");
	return [...all].filter((e) => e.checkVisibility() && !has(e)).map((e) => e.outerHTML.slice(0, 120));
}

test("every control has a name", {}, async (tab) => {
	for (const button of await tab.page.getByRole("tab").all()) {
		await button.click();
		await tab.calm();
		assert.deepEqual(await tab.page.evaluate(nameless), []);
	}
	await tab.at(stallOfDisk().test).click();
	await tab.at("stall-holder").click();
	await tab.at("detail-title").waitFor();
	assert.deepEqual(await tab.page.evaluate(nameless), []);
	assert.equal(await tab.page.evaluate(() => document.documentElement.lang), "en");
	const ids = await tab.page.evaluate(() => [...document.querySelectorAll("[id]")].map((e) => e.id));
	assert.equal(new Set(ids).size, ids.length, "an id is there twice");
});

test("nothing moves by itself", {}, async (tab) => {
	await tab.calm();
	for (const button of await tab.page.getByRole("tab").all()) {
		await button.click();
		await tab.calm();
	}
	const shifts = await tab.page.evaluate(() => {
		const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0;
		return window.shifts.filter((s) => s.at > paint && !s.input);
	});
	assert.deepEqual(shifts, []);
});

test("copy a stack", { options: { permissions: ["clipboard-read", "clipboard-write"] }, hosts: ["view"] },
	async (tab) => {
		await tab.at(stallOfDisk().test).click();
		await tab.at("stall-holder").click();
		await tab.at("copy-stack").click();
		await tab.page.getByText("Copied").waitFor();
		const text = await tab.page.evaluate(() => navigator.clipboard.readText());
		assert.match(text, /flush_log/);
		assert.ok(text.split("\n").length > 5, text);
	});

test("copy a stack from a file", { hosts: ["html"] }, async (tab) => {
	await tab.at(stallOfDisk().test).click();
	await tab.at("stall-holder").click();
	await tab.page.evaluate(() => addEventListener("copy", () => {
		window.copied = String(getSelection()) ||
			document.activeElement.value?.slice(document.activeElement.selectionStart,
				document.activeElement.selectionEnd);
	}));
	await tab.context.grantPermissions(["clipboard-read", "clipboard-write"]).catch(() => {});
	await tab.at("copy-stack").click();
	await tab.page.getByText("Copied").waitFor();
	const text = await tab.page.evaluate(() => window.copied ?? navigator.clipboard.readText());
	assert.match(text, /flush_log/);
});

const PHONE = { viewport: { width: 375, height: 667 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };

test("on a phone nothing is wider than the screen", { options: PHONE }, async (tab) => {
	await tab.calm();
	await tab.shot("phone");
	for (const button of await tab.page.getByRole("tab").all()) {
		await button.tap();
		await tab.calm();
		const [wide, scale] = await tab.page.evaluate(() =>
			[document.documentElement.scrollWidth - innerWidth, visualViewport.scale]);
		assert.ok(wide <= 0, `${await button.innerText()}: ${wide} pixels too wide`);
		assert.equal(scale, 1);
	}
	await tab.at("stall-0").tap();
	await tab.at("stall-holder").tap();
	await tab.at("detail-title").waitFor();
	assert.ok(await tab.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
	const small = await tab.page.evaluate(() => [...document.querySelectorAll("p, h1, td, button, dd")]
		.filter((e) => e.checkVisibility() && e.textContent.trim() &&
			parseFloat(getComputedStyle(e).fontSize) < 10).map((e) => e.outerHTML.slice(0, 80)));
	assert.deepEqual(small, [], "too small to read");
	await tab.shot("phone-details");
});

/** How bright a colour of CSS is, 0 to 1. */
const bright = (colour) => {
	const [r, g, b] = colour.match(/[\d.]+/g).map(Number);
	return (0.299 * r + 0.587 * g + 0.114 * b) / 255;
};

for (const [scheme, dark] of [["light", false], ["dark", true]])
	test(`${scheme} where the reader wants it so`, { options: { colorScheme: scheme } }, async (tab) => {
		await tab.calm();
		await tab.shot(scheme);
		const [back, ink] = await tab.page.evaluate(() => {
			const s = getComputedStyle(document.body);
			const h = getComputedStyle(document.documentElement);
			const clear = /rgba\(0, 0, 0, 0\)|transparent/;
			return [clear.test(s.backgroundColor) ? h.backgroundColor : s.backgroundColor, s.color];
		});
		assert.equal(bright(back) < 0.5, dark, `the background is ${back}`);
		assert.ok(Math.abs(bright(back) - bright(ink)) > 0.5, `${ink} on ${back}`);
	});

test("on paper", {}, async (tab) => {
	const said = report("demo").finding.sentence;
	await tab.page.emulateMedia({ media: "print" });
	await tab.calm();
	assert.ok(await tab.at("lead").isVisible());
	assert.ok((await tab.at("lead").innerText()).replace(/\s+/g, " ").includes(said.replace(/\s+/g, " ")));
	await tab.shot("print");
	const wide = await tab.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
	assert.ok(wide <= 0, `${wide} pixels too wide`);
	const pdf = await tab.page.pdf({ format: "A4" });
	assert.ok(pdf.length > 10000, "an empty page");
});

test("find a thread or a function", {}, async (tab) => {
	const field = tab.page.getByRole("combobox").or(tab.page.getByRole("searchbox", { name: /find/i })).first();
	await field.click();
	await field.fill("checkp");
	const options = tab.page.getByRole("option");
	await options.filter({ hasText: "checkpointer" }).first().waitFor();
	await options.filter({ hasText: "checkpointer" }).first().click();
	await tab.calm();
	const state = await tab.state();
	assert.ok(state.threads || state.focus || state.func, JSON.stringify(state));
});
