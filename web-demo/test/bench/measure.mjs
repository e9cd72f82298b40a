// What a tab takes for a backup, in Chromium, uploads answered in the page:
//     node measure.mjs GOLDEN-SESSION BASE-FILE speed MB ROUNDS
//     node measure.mjs GOLDEN-SESSION FOLDER folder ROUNDS
//     node measure.mjs GOLDEN-SESSION BASE-FILE memory GB
// With "halved" behind it every thread has half of a processor at most, as with more processors that are half as fast.
// Prints, as JSON, seconds and processor seconds by thread with one worker and with two; or the most memory of the tab. The
// workers' threads have ended by then: what they took is in `spent`.
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { watch } from "../memory.mjs";
import { halved, processes, processors, spent, withTab } from "./tab.mjs";

const isHalved = process.argv.at(-1) === "halved";
const [golden, chosen, what, ...numbers] = process.argv.slice(2, isHalved ? -1 : undefined);
const given = Object.fromEntries([...readFileSync(golden, "utf8").matchAll(/^given (\w+) ([0-9a-f]+)$/gm)].map(([, name, digits]) => [name, digits]));
const FILE = 16 << 20;

await withTab(async (browser, page) => {
  const isFolder = what === "folder";
  await page.setInputFiles(isFolder ? "#folder" : "#file", resolve(chosen), { timeout: 0 });
  const run = (workers, source) => page.evaluate((order) => window.measure(order), { workers, given, source });
  if (what === "memory") {
    const files = Math.ceil((Number(numbers[0]) * 1e9) / FILE);
    const id = await renderer(browser, page);
    const before = watch(id)();
    const watched = watch(id);
    const outcome = await run(2, { files, bytes: FILE });
    console.log(JSON.stringify({ ...outcome, before, most: watched() }));
  } else {
    const source = isFolder ? "folder" : { files: Math.ceil((Number(numbers[0]) * 1e6) / FILE), bytes: FILE };
    const rounds = Number(numbers.at(-1));
    const best = {};
    const whole = isHalved ? await halved(browser) : () => {};
    for (let round = 0; round < rounds; round++) {
      for (const workers of [1, 2]) {
        const before = await processors(browser);
        const outcome = await run(workers, source);
        const threads = spent(before, await processors(browser));
        if (!best[workers] || outcome.seconds < best[workers].seconds) best[workers] = { ...outcome, threads };
      }
    }
    whole();
    console.log(JSON.stringify({ one: best[1], two: best[2], ratio: best[1].seconds / best[2].seconds }));
  }
});

/** The page's process: the one that is busy when the page is. The maker's is another one. */
async function renderer(browser, page) {
  const before = new Map((await processes(browser)).map(({ id, cpuTime }) => [id, cpuTime]));
  await page.evaluate(() => {
    for (const begun = performance.now(); performance.now() - begun < 500; );
  });
  const busy = ({ id, type, cpuTime }) => (type === "renderer" ? cpuTime - (before.get(id) ?? 0) : 0);
  return (await processes(browser)).reduce((best, one) => (busy(one) > busy(best) ? one : best)).id;
}
