// How long it takes to open the page and unlock it over a slow line, in Chromium that has nothing of it yet:
//     node opening.mjs ADDRESS PASSPHRASE MBIT ROUNDS
// ADDRESS is what `copal serve --open-slots --web` listens on. Prints, as JSON, the seconds and kB after which the passphrase
// can be typed, the repository is open, and its snapshots are listed; of each the least. The passphrase is typed at once.
import { connect, createServer } from "node:net";
import { chromium } from "playwright-core";

const [address, passphrase, speed, rounds] = process.argv.slice(2);
const { hostname, port } = new URL(address);
const LATENCY = 25;

/** A line that all connections share: what the server says comes at so many megabits a second. */
let [free, passed] = [0, 0];
const line = createServer((near) => {
  const far = connect(Number(port), hostname);
  far.on("data", (bytes) => {
    free = Math.max(free, performance.now()) + (bytes.length * 8) / (Number(speed) * 1000);
    far.pause();
    setTimeout(() => far.resume(), free - performance.now());
    setTimeout(() => ((passed += bytes.length), near.write(bytes)), free - performance.now() + LATENCY);
  });
  near.on("data", (bytes) => setTimeout(() => far.write(bytes), LATENCY));
  for (const [from, to] of [[near, far], [far, near]]) from.on("close", () => to.destroy()).on("error", () => to.destroy());
});
await new Promise((done) => line.listen(0, "127.0.0.1", done));

const browser = await chromium.launch({ executablePath: process.env.COPAL_CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu", "--disable-quic"] });
const all = [];
for (let round = 0; round < Number(rounds); round++) {
  const context = await browser.newContext();
  const page = await context.newPage();
  const [begun, before] = [performance.now(), passed];
  const told = [];
  const note = () => told.push((performance.now() - begun) / 1000, (passed - before) / 1000);
  void page.goto(`http://127.0.0.1:${line.address().port}/`);
  await page.getByRole("textbox", { name: "Passphrase" }).fill(passphrase);
  note();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Back up" }).waitFor();
  note();
  await page.getByRole("link", { name: "Restore" }).click();
  await page.locator(".two").first().waitFor();
  note();
  all.push(told);
  await context.close();
}
const [typed, typedKb, open, openKb, listed, listedKb] = [0, 1, 2, 3, 4, 5].map((at) => Math.min(...all.map((told) => told[at])));
console.log(JSON.stringify({ typed, typedKb, open, openKb, listed, listedKb }));
await browser.close();
line.close();
