// SPDX-License-Identifier: MIT
/* What a newcomer sees and finds, without being told where to look. */
import { assert, report, stallOfDisk, test } from "./harness.mjs";

const words = (text) => text.replace(/\s+/g, " ").trim();

test("the first screen says what the report says", {}, async (tab) => {
	const said = report("demo").finding.sentence;
	assert.ok(words(await tab.at("lead").innerText()).includes(words(said)), `it does not say: ${said}`);
	const box = await tab.at("lead").boundingBox();
	assert.ok(box.y >= 0 && box.y + box.height <= 720, "the sentence is not on the first screen");
	const lanes = await tab.at("timeline").boundingBox();
	assert.ok(lanes.y < 400 && lanes.height > 100, "the timeline is not on the first screen");
	await tab.calm();
	await tab.shot("first");
});

test("from the stall to its lock, its holder and the disk in three clicks", {}, async (tab) => {
	const truth = stallOfDisk();
	const lock = report("demo").locks[truth.lock].name;
	const details = tab.page.getByRole("complementary", { name: "Details" });

	await tab.at(truth.test).click();
	await details.getByText(lock).first().waitFor();
	await tab.shot("stall");
	await tab.at("stall-holder").click();
	await details.getByText("disk").first().waitFor();
	assert.match(await details.innerText(), new RegExp(truth.comm));
	assert.match(await details.innerText(), /flush_log/);
	await tab.calm();
	await tab.shot("holder");
	await details.getByText("flush_log").first().click();
});

test("every stall of the report has its button", {}, async (tab) => {
	const truth = report("demo", "--top", "1000").stalls;
	const list = tab.at("stalls").getByRole("button");
	assert.equal(await list.count(), truth.length);
	for (const [i, s] of truth.entries()) {
		const text = words(await list.nth(i).innerText());
		assert.ok(text.includes(s.comm), `stall ${i}: ${text}`);
	}
});
