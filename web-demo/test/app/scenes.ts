/** Every state of the page that a person may see, and how one comes to it. */

import type { Page } from "playwright-core";

export interface Scene {
  name: string;
  core: string;
  /** The language of the browser; English where it is none. */
  locale?: string;
  /** The screen that the address names. */
  screen?: "backup" | "restore" | "status" | "devices" | "settings";
  steps?: (page: Page) => Promise<void>;
  /** What stands on the page once the state is there. */
  shows: string;
}

const click = (name: string) => async (page: Page) => page.getByRole("button", { name, exact: true }).click();
const backUp = click("Back up now Pictures");
const pick = click("Choose a folder");
const start = async (page: Page) => { await pick(page); await click("Start backup")(page); };
const openFirst = async (page: Page) => page.getByRole("row").filter({ hasText: "Pictures" }).first().locator(".two").first().click();
const openVersions = async (page: Page) => {
  await openFirst(page);
  await page.getByText("README.txt").waitFor();
  await page.getByRole("row").filter({ hasText: "README.txt" }).locator("[data-tick]").click();
  await click("Versions")(page);
};
const openKept = click("What is kept");
const openNumbers = async (page: Page) => { await openKept(page); await click("Change the rules…")(page); };
const openMore = async (page: Page) => { await openNumbers(page); await page.getByText("More: tags").click(); };
const look = click("Show what would go");
const openShare = async (page: Page) => {
  await openFirst(page);
  await page.getByText("README.txt").waitFor();
  await page.getByRole("button", { name: /^Share…/ }).click();
  await page.getByText("Whoever has the link").waitFor();
};
const openSearch = click("Search all snapshots");
const tickSome = async (page: Page) => { for (const row of [0, 1, 4]) await page.locator(`[data-row='${row}'] [data-tick]`).click(); };
/** A phone shows the tray as one line until it is opened. */
const openTray = async (page: Page) => {
  await page.locator(".tray").waitFor();
  const line = page.locator(".tray-line");
  if (await line.isVisible()) await line.click();
};
/** Ends once the page, which was locked, was loaded anew. */
export const loadedAnew = async (page: Page) => page.locator("[data-loaded=anew]").waitFor({ state: "attached" });
const type = (words: string) => async (page: Page) => page.locator("#secret").fill(words);

const showKeys = click("Show them");
/** Types a passphrase where one is asked for again. */
const confirm = async (page: Page) => {
  await page.getByLabel("Confirm with your passphrase").fill("correct horse");
  await click("Continue")(page);
};
const addPassphrase = async (page: Page) => {
  await showKeys(page);
  await click("Add a passphrase")(page);
  await confirm(page);
};
const addDevice = async (page: Page) => {
  await click("Add a device")(page);
  await confirm(page);
  await page.getByLabel("Name", { exact: true }).fill("Ben's phone");
  await click("Make the link")(page);
};

export const SCENES: Scene[] = [
  { name: "starting", core: "starting", shows: "Starting" },
  { name: "unsupported", core: "unsupported", shows: "cannot run Copal" },
  { name: "unreachable", core: "unreachable", shows: "does not answer" },
  { name: "unreachable-language", core: "unreachable", steps: click("Deutsch"), shows: "Der Sicherungsserver antwortet nicht" },
  { name: "no-core", core: "no-core", locale: "de-DE", steps: async (page) => page.locator("html[lang=de]").waitFor(), shows: "Der Sicherungsserver antwortet nicht" },
  { name: "other-owner", core: "other-owner", shows: "Copal could not start" },
  { name: "no-repository", core: "no-repository", shows: "no repository" },

  { name: "unlock", core: "unlock", shows: "Unlock your backups" },
  { name: "unlock-empty", core: "unlock", steps: click("Unlock"), shows: "Enter the passphrase" },
  { name: "unlock-opening", core: "unlock-opening", steps: async (page) => { await type("correct horse")(page); await click("Unlock")(page); }, shows: "Unlocking" },
  { name: "unlock-wrong", core: "unlock-wrong", steps: async (page) => { await type("correct horse")(page); await click("Unlock")(page); }, shows: "not the passphrase" },
  { name: "unlock-offline", core: "unlock-offline", steps: async (page) => { await type("correct horse")(page); await click("Unlock")(page); }, shows: "does not answer" },
  { name: "unlock-recovery", core: "unlock", steps: async (page) => page.getByRole("radio", { name: "Recovery code" }).check(), shows: "shown once" },
  { name: "unlock-enrollment", core: "unlock", steps: async (page) => page.getByRole("radio", { name: "Enrollment" }).check(), shows: "copal client add" },
  { name: "unlock-closed", core: "unlock-closed", steps: async (page) => page.getByRole("radio", { name: "Passphrase" }).check(), shows: "key slots closed" },
  { name: "unlock-language", core: "unlock", steps: async (page) => { await page.getByRole("radio", { name: "Recovery code" }).check(); await click("Deutsch")(page); }, shows: "Sicherungen entsperren" },
  { name: "locked-idle", core: "idle", steps: loadedAnew, shows: "nobody was here" },
  { name: "join", core: "join", shows: "Back up from this browser" },
  { name: "join-used", core: "join-used", steps: click("Join"), shows: "joined with this enrollment already" },
  { name: "join-expired", core: "join-expired", steps: click("Join"), shows: "This enrollment has expired" },
  { name: "join-full", core: "join-full", shows: "full device" },
  { name: "join-full-wrong", core: "join-full", steps: async (page) => { await type("correct horse")(page); await click("Join")(page); }, shows: "not the passphrase" },
  { name: "device-revoked", core: "device-revoked", shows: "revoked" },
  { name: "full-revoked", core: "full-revoked", steps: async (page) => { await type("correct horse")(page); await click("Unlock")(page); }, shows: "Forget this device" },
  { name: "device-otherwise", core: "device-revoked", steps: async (page) => { await page.getByText("Ask again").waitFor(); await click("Unlock in another way")(page); }, shows: "Unlock your backups" },

  { name: "choose", core: "choose", shows: "Choose a folder" },
  { name: "choose-hidden", core: "choose", steps: async (page) => page.getByText("Unusual names are hidden from a page").click(), shows: "Choose a folder as a list" },
  { name: "choose-remembered", core: "remembered", shows: "backed up before" },
  { name: "choose-unfinished", core: "unfinished", shows: "are safe and are not sent again" },
  { name: "choose-input-only", core: "input-only", shows: "empty folders and links are not in it" },
  { name: "choose-folder-gone", core: "folder-gone", steps: backUp, shows: "not there any more" },
  { name: "choose-forget", core: "remembered", steps: click("Forget Pictures"), shows: "Forget it" },
  { name: "drop-over", core: "choose", steps: async (page) => {
    await page.getByRole("button", { name: "Choose a folder" }).waitFor();
    await page.evaluate(() => {
      const dropped = new DataTransfer();
      dropped.items.add(new File(["x"], "x"));
      dispatchEvent(new DragEvent("dragenter", { dataTransfer: dropped }));
    });
  }, shows: "Drop to back up" },
  { name: "write-only-choose", core: "write-only", shows: "Folders you backed up before" },
  { name: "ready", core: "choose", steps: pick, shows: "Start backup" },
  { name: "ready-name", core: "not-registered", steps: pick, shows: "Name of this device" },
  { name: "ready-excludes", core: "choose", steps: async (page) => {
    await pick(page);
    await page.getByText("Leave things out").click();
    await page.getByRole("button", { name: "node_modules/" }).click();
    await page.getByRole("button", { name: "*.tmp" }).click();
  }, shows: "2 patterns" },

  { name: "ready-list", core: "input-only", steps: async (page) => {
    await page.getByTestId("files-input").setInputFiles({ name: "x", mimeType: "text/plain", buffer: Buffer.from("x") });
  }, shows: "does not say which" },

  { name: "running-preparing", core: "preparing", steps: start, shows: "Comparing with what is stored" },
  { name: "running-scanning", core: "scanning", steps: start, shows: "Looking through the folder" },
  { name: "running", core: "running", steps: start, shows: "41 %" },
  { name: "running-throughput", core: "running", steps: async (page) => { await start(page); await page.getByText("What takes the time").click(); }, shows: "Compressing" },
  { name: "running-paused", core: "running", steps: async (page) => { await start(page); await click("Pause")(page); }, shows: "Resume" },
  { name: "running-offline", core: "offline", steps: start, shows: "no network" },
  { name: "running-retrying", core: "retrying", steps: start, shows: "Trying again in" },
  { name: "running-troubled", core: "troubled", steps: start, shows: "could not be read" },
  { name: "running-verifying", core: "verifying", steps: start, shows: "to be verified" },
  { name: "running-elsewhere", core: "running", steps: async (page) => { await start(page); await page.getByRole("link", { name: "Status" }).click(); }, shows: "All backups are verified" },
  { name: "running-lock", core: "running", steps: async (page) => { await start(page); await click("Lock")(page); }, shows: "Lock while something runs" },
  { name: "done", core: "done", steps: start, shows: "Verified by the service" },
  { name: "done-waiting", core: "done-waiting", steps: start, shows: "waiting for the service" },
  { name: "done-troubled", core: "done-troubled", steps: async (page) => { await start(page); await page.getByText("Which ones").click(); }, shows: "locked.NEF" },
  { name: "stopped", core: "running", steps: async (page) => { await start(page); await click("Stop")(page); }, shows: "You stopped this backup" },
  { name: "ended-full", core: "ended-full", steps: start, shows: "disk is full" },
  { name: "ended-revoked", core: "ended-revoked", steps: start, shows: "revoked" },

  { name: "snapshots", core: "snapshots", screen: "restore", shows: "Yesterday, 14:21" },
  { name: "snapshots-ticked", core: "snapshots", screen: "restore", steps: async (page) => {
    await page.locator("[data-row='0'] [data-tick]").click();
    await page.locator("[data-row='3'] [data-tick]").click();
  }, shows: "Compare" },
  { name: "snapshots-long", core: "snapshots-long", screen: "restore", shows: "Yesterday, 14:21" },
  { name: "snapshots-twice", core: "snapshots-twice", screen: "restore", shows: "Today, 19:53:20" },
  { name: "snapshots-marks", core: "snapshots", screen: "restore", steps: async (page) => tickSome(page), shows: "3 snapshots ticked" },
  { name: "snapshots-forget", core: "snapshots", screen: "restore", steps: async (page) => { await tickSome(page); await click("Forget…")(page); }, shows: "It is pinned, and stays" },
  { name: "snapshots-tags", core: "snapshots", screen: "restore", steps: async (page) => { await tickSome(page); await click("Tags…")(page); await click("before-move")(page); }, shows: "With commas between them" },
  { name: "snapshots-signing-name", core: "not-registered", screen: "restore", steps: async (page) => { await tickSome(page); await click("Pin…")(page); }, shows: "needs a name for that" },
  { name: "snapshots-state-older", core: "state-older", screen: "restore", steps: async (page) => { await tickSome(page); await click("Pin…")(page); await click("Sign and pin")(page); }, shows: "Nothing was signed" },
  { name: "snapshots-signing", core: "signing", screen: "restore", steps: async (page) => { await tickSome(page); await click("Forget…")(page); await click("Sign and forget")(page); }, shows: "Signing…" },
  { name: "snapshots-changed", core: "snapshots", screen: "restore", steps: async (page) => { await tickSome(page); await click("Forget…")(page); await click("Sign and forget")(page); }, shows: "Forgotten: 2 snapshots" },
  { name: "snapshots-forgotten", core: "snapshots", screen: "restore", steps: async (page) => { await click("Forgotten")(page); await page.locator("[data-row='1'] [data-tick]").click(); }, shows: "Bring back…" },
  { name: "snapshots-all-forgotten", core: "snapshots-none", screen: "restore", steps: click("Forgotten snapshots"), shows: "Forgotten 3 hours ago" },
  { name: "snapshots-nothing-forgotten", core: "nothing-forgotten", screen: "restore", steps: click("Forgotten"), shows: "Nothing is forgotten" },
  { name: "snapshots-none", core: "snapshots-none", screen: "restore", shows: "No snapshots yet" },
  { name: "snapshots-asking", core: "snapshots-asking", screen: "restore", shows: "Choose a snapshot" },
  { name: "snapshots-failed", core: "snapshots-failed", screen: "restore", shows: "does not answer" },
  { name: "snapshots-damage", core: "snapshots-damage", screen: "restore", shows: "1 snapshot cannot be read" },
  { name: "browse", core: "snapshots", screen: "restore", steps: openFirst, shows: "panorama.png" },
  { name: "browse-lacking", core: "snapshots", screen: "restore", steps: async (page) => {
    await page.getByText("Some files missing").first().click();
    await page.getByText("Which ones").click();
  }, shows: "inbox.mbox" },
  { name: "browse-selected", core: "snapshots", screen: "restore", steps: async (page) => {
    await openFirst(page);
    await page.getByText("panorama.png").waitFor();
    await page.locator("[data-row='2'] [data-tick]").click();
    await page.locator("[data-row='5'] [data-tick]").click();
  }, shows: "2 selected" },
  { name: "browse-selected-file", core: "snapshots", screen: "restore", steps: async (page) => {
    await openFirst(page);
    await page.getByText("README.txt").waitFor();
    await page.getByRole("row").filter({ hasText: "README.txt" }).locator("[data-tick]").click();
  }, shows: "Versions" },
  { name: "browse-many", core: "browse-many", screen: "restore", steps: async (page) => {
    await openFirst(page);
    await page.getByText("10,000 entries").waitFor();
    await page.getByRole("grid").focus();
    await page.keyboard.press("End");
  }, shows: "DSC_09999.NEF" },
  { name: "browse-empty", core: "browse-empty", screen: "restore", steps: openFirst, shows: "This folder is empty" },
  { name: "browse-damaged", core: "browse-damaged", screen: "restore", steps: openFirst, shows: "Something stored is damaged" },
  { name: "search", core: "snapshots", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByRole("searchbox").fill("a"); }, shows: "8 names found" },
  { name: "search-none", core: "search-none", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByRole("searchbox").fill("zebra"); }, shows: "Nothing of that name" },
  { name: "preview-text", core: "snapshots", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("README.txt").click(); }, shows: "Lisbon, in March" },
  { name: "preview-image", core: "preview-image", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("panorama.png").click(); await page.locator("img.picture").waitFor(); }, shows: "Download" },
  { name: "preview-large", core: "preview-large", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("panorama.png").click(); }, shows: "too large to show" },
  { name: "preview-program", core: "preview-program", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("walk.ts").click(); await page.waitForFunction(() => CSS.highlights.size > 0); }, shows: "Walks: how far" },
  { name: "preview-paper", core: "preview-paper", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("album 2.pdf").click(); await page.locator(".sheet-of-paper canvas").waitFor(); await page.getByRole("button", { name: "Next page" }).click(); await page.getByRole("img", { name: "Page 2 of album 2.pdf" }).waitFor(); }, shows: "Page 2 of 2" },
  { name: "preview-paper-strange", core: "preview-paper-strange", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("album 2.pdf").click(); }, shows: "cannot be shown here" },
  { name: "preview-sound", core: "preview-sound", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("catalogue.sqlite").click(); await page.locator("audio").waitFor(); }, shows: "612 MiB" },
  { name: "preview-film", core: "preview-film", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("catalogue.sqlite").click(); await page.waitForFunction(() => (document.querySelector("video")?.readyState ?? 0) >= 2); }, shows: "612 MiB" },
  { name: "preview-film-damaged", core: "preview-film-damaged", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("catalogue.sqlite").click(); }, shows: "damaged" },
  { name: "preview-film-unsupported", core: "preview-film-unsupported", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("catalogue.sqlite").click(); }, shows: "cannot play from a backup" },
  { name: "preview-film-strange", core: "preview-film-strange", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("catalogue.sqlite").click(); }, shows: "cannot play this kind of file" },
  { name: "gallery", core: "gallery", screen: "restore", steps: async (page) => { await openFirst(page); await page.waitForFunction(() => document.querySelectorAll(".tile img").length > 4 && document.querySelectorAll(".tile .bone").length === 0); }, shows: "IMG_4410.jpg" },
  { name: "gallery-selected", core: "gallery", screen: "restore", steps: async (page) => {
    await openFirst(page);
    await page.getByRole("option").filter({ hasText: "IMG_4411.jpg" }).locator("[data-tick]").click();
    await page.getByRole("listbox").focus();
    await page.keyboard.press("ArrowRight");
    await page.waitForFunction(() => document.querySelectorAll(".tile .bone").length === 0);
  }, shows: "1 selected" },
  { name: "gallery-asking", core: "gallery-asking", screen: "restore", steps: openFirst, shows: "IMG_4410.jpg" },
  { name: "gallery-preview", core: "gallery", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("IMG_4412.jpg").click(); await page.locator("img.picture").waitFor(); }, shows: "4,032 × 3,024" },
  { name: "preview-binary", core: "preview-binary", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("catalogue.sqlite").click(); }, shows: "no preview" },
  { name: "preview-damaged", core: "preview-damaged", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("README.txt").click(); }, shows: "Something stored is damaged" },
  { name: "preview-versions", core: "snapshots", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByText("README.txt").click(); await page.getByText("Lisbon, in March").waitFor(); }, shows: "Versions" },
  { name: "versions", core: "snapshots", screen: "restore", steps: openVersions, shows: "6 versions in 14 snapshots" },
  { name: "versions-long", core: "versions-long", screen: "restore", steps: openVersions, shows: "3 done" },
  { name: "versions-all", core: "versions-all", screen: "restore", steps: async (page) => { await openVersions(page); await page.getByRole("radio", { name: "All backups and devices" }).check(); }, shows: "in 40 snapshots" },
  { name: "versions-damage", core: "versions-damage", screen: "restore", steps: openVersions, shows: "Cannot be read" },
  { name: "versions-failed", core: "versions-failed", screen: "restore", steps: openVersions, shows: "does not answer" },
  { name: "versions-ticked", core: "snapshots", screen: "restore", steps: async (page) => {
    await openVersions(page);
    await page.locator("[data-row='0'] [data-tick]").click();
    await page.locator("[data-row='4'] [data-tick]").click();
  }, shows: "6 versions in 14 snapshots" },
  { name: "version-lines", core: "versions-text", screen: "restore", steps: async (page) => { await openVersions(page); await page.locator("[data-row='0'] .two").click(); }, shows: "lines removed" },
  { name: "version-pictures", core: "versions-pictures", screen: "restore", steps: async (page) => { await openVersions(page); await page.locator("[data-row='0'] .two").click(); await page.locator("img.picture").nth(1).waitFor(); }, shows: "This version" },
  { name: "version-binary", core: "preview-binary", screen: "restore", steps: async (page) => { await openVersions(page); await page.locator("[data-row='0'] .two").click(); }, shows: "no preview" },
  { name: "version-damaged", core: "preview-damaged", screen: "restore", steps: async (page) => { await openVersions(page); await page.locator("[data-row='0'] .two").click(); }, shows: "Something stored is damaged" },
  { name: "seek", core: "snapshots", screen: "restore", steps: openSearch, shows: "What are you looking for?" },
  { name: "seek-hits", core: "snapshots", screen: "restore", steps: async (page) => { await openSearch(page); await page.getByRole("searchbox").fill("a"); }, shows: "hits in 40 snapshots" },
  { name: "seek-running", core: "seek-running", screen: "restore", steps: async (page) => { await openSearch(page); await page.getByRole("combobox", { name: "Kind" }).selectOption("Pictures"); }, shows: "12 of 40 snapshots" },
  { name: "seek-none", core: "seek-none", screen: "restore", steps: async (page) => { await openSearch(page); await page.getByRole("searchbox").fill("zebra"); }, shows: "No snapshot has such a file" },
  { name: "seek-damage", core: "seek-damage", screen: "restore", steps: async (page) => { await openSearch(page); await page.getByRole("searchbox").fill("a"); }, shows: "and more: search for something longer" },
  { name: "compare", core: "snapshots", screen: "restore", steps: async (page) => {
    await page.locator("[data-row='0'] [data-tick]").click();
    await page.locator("[data-row='3'] [data-tick]").click();
    await page.getByRole("button", { name: "Compare" }).click();
  }, shows: "What changed" },
  { name: "compare-same", core: "compare-same", screen: "restore", steps: async (page) => {
    await page.locator("[data-row='0'] [data-tick]").click();
    await page.locator("[data-row='3'] [data-tick]").click();
    await page.getByRole("button", { name: "Compare" }).click();
  }, shows: "Nothing differs" },
  { name: "compare-folders", core: "compare-folders", screen: "restore", steps: async (page) => {
    await page.locator("[data-row='0'] [data-tick]").click();
    await page.locator("[data-row='3'] [data-tick]").click();
    await page.getByRole("button", { name: "Compare" }).click();
  }, shows: "6,240 folders differ in details only (times)" },
  { name: "downloading", core: "downloading", screen: "restore", steps: async (page) => {
    await openFirst(page);
    await click("Download zip of this folder")(page);
    await click("Restore to… a folder of this computer: this folder")(page);
    await openTray(page);
  }, shows: "212 of 640 files" },
  { name: "restore-some-there", core: "some-there", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByRole("button", { name: /^Restore to…/ }).click(); }, shows: "Documents already has Lisbon and 2 more of what you restore." },
  { name: "restore-all-there", core: "all-there", screen: "restore", steps: async (page) => { await openFirst(page); await page.getByRole("button", { name: /^Restore to…/ }).click(); await openTray(page); }, shows: "Nothing was written" },
  { name: "download-damaged", core: "damaged", screen: "restore", steps: async (page) => { await openFirst(page); await click("Download zip of this folder")(page); await openTray(page); }, shows: "not handed over" },
  { name: "tray-closed", core: "damaged", screen: "restore", steps: async (page) => { await openFirst(page); await click("Download zip of this folder")(page); await click("Restore to… a folder of this computer: this folder")(page); }, shows: "panorama.png" },
  { name: "write-only-restore", core: "write-only", screen: "restore", shows: "but not read them" },

  { name: "kept", core: "kept", screen: "restore", steps: openKept, shows: "One for each of the last 7 days" },
  { name: "kept-none", core: "kept-none", screen: "restore", steps: openKept, shows: "Everything is kept" },
  { name: "kept-lingering", core: "kept-lingering", screen: "restore", steps: openKept, shows: "what the rules before have guarded" },
  { name: "kept-held", core: "kept-held", screen: "restore", steps: openKept, shows: "2 backups look wrong" },
  { name: "kept-asking", core: "kept-asking", screen: "restore", steps: openKept, shows: "Reading the rules" },
  { name: "kept-damaged", core: "kept-damaged", screen: "restore", steps: openKept, shows: "damaged" },
  { name: "kept-presets", core: "kept-none", screen: "restore", steps: async (page) => { await openKept(page); await click("Set rules…")(page); }, shows: "A family" },
  { name: "kept-numbers", core: "kept", screen: "restore", steps: openNumbers, shows: "Guard the last" },
  { name: "kept-wrong", core: "kept", screen: "restore", steps: async (page) => { await openNumbers(page); await page.getByRole("textbox", { name: "Everything of the last" }).fill("two days"); await look(page); }, shows: "A number and a unit" },
  { name: "kept-weighing", core: "kept-weighing", screen: "restore", steps: async (page) => { await openNumbers(page); await look(page); }, shows: "Weighing every backup" },
  { name: "kept-preview", core: "kept-none", screen: "restore", steps: async (page) => { await openKept(page); await click("Set rules…")(page); await look(page); await page.locator("summary", { hasText: "desk: /home/mara" }).click(); }, shows: "16 backups would go" },
  { name: "kept-more", core: "kept", screen: "restore", steps: async (page) => { await openMore(page); await page.getByText("Backups that stay because of their tags").scrollIntoViewIfNeeded(); }, shows: "Watch for backups that look wrong" },
  { name: "kept-more-end", core: "kept", screen: "restore", steps: async (page) => { await openMore(page); await page.getByRole("button", { name: "Show what would go" }).scrollIntoViewIfNeeded(); }, shows: "The rules count days, weeks" },
  { name: "kept-more-wrong", core: "kept", screen: "restore", steps: async (page) => { await openMore(page); await page.getByLabel("Time to bring back").fill("soon"); await look(page); }, shows: "at least 1h" },
  { name: "kept-weaker", core: "kept", screen: "restore", steps: async (page) => { await openMore(page); await page.getByLabel("Watch for backups that look wrong").uncheck(); await page.getByLabel("Time to bring back").fill("2h"); await look(page); }, shows: "This protects less than today" },
  { name: "kept-weaker-sign", core: "kept", screen: "restore", steps: async (page) => { await openMore(page); await page.getByRole("button", { name: "Remove “before-move”" }).click(); await look(page); await click("Sign these rules…")(page); }, shows: "would no longer stay for ever" },
  { name: "kept-preview-lingering", core: "kept-lingering", screen: "restore", steps: async (page) => { await openNumbers(page); await look(page); await page.locator("summary", { hasText: "Accounts" }).click(); }, shows: "Goes later" },
  { name: "kept-sign", core: "kept", screen: "restore", steps: async (page) => { await openNumbers(page); await look(page); await click("Sign these rules…")(page); }, shows: "Set these rules?" },
  { name: "kept-sign-name", core: "not-registered", screen: "restore", steps: async (page) => { await openNumbers(page); await look(page); await click("Sign these rules…")(page); }, shows: "needs a name for that" },
  { name: "kept-signing", core: "kept-signing", screen: "restore", steps: async (page) => { await openNumbers(page); await look(page); await click("Sign these rules…")(page); await click("Sign and set these rules")(page); }, shows: "Signing…" },
  { name: "kept-overtaken", core: "kept-overtaken", screen: "restore", steps: async (page) => { await openNumbers(page); await look(page); await click("Sign these rules…")(page); await click("Sign and set these rules")(page); }, shows: "Somebody has changed rules" },
  { name: "kept-signed", core: "kept", screen: "restore", steps: async (page) => { await openNumbers(page); await look(page); await click("Sign these rules…")(page); await click("Sign and set these rules")(page); }, shows: "The rules are signed" },
  { name: "kept-release", core: "kept-held", screen: "restore", steps: async (page) => { await openKept(page); await page.getByRole("button", { name: "Release… Pictures" }).click(); }, shows: "Release this backup?" },
  { name: "kept-released", core: "kept-held", screen: "restore", steps: async (page) => { await openKept(page); await page.getByRole("button", { name: "Release… Pictures" }).click(); await click("Sign and release")(page); }, shows: "The rules count for these backups again" },

  { name: "status", core: "status", screen: "status", shows: "All backups are verified" },
  { name: "status-table", core: "status", screen: "status", steps: async (page) => page.getByText("As a table").click(), shows: "As a table" },
  { name: "status-waiting", core: "status-waiting", screen: "status", shows: "1 backup waits" },
  { name: "status-unfinished", core: "status-unfinished", screen: "status", shows: "3 steps of it are being verified" },
  { name: "status-unfinished-first", core: "status-unfinished-first", screen: "status", shows: "No backup has finished yet" },
  { name: "status-damage", core: "status-damage", screen: "status", shows: "found damage" },
  { name: "status-damage-written", core: "status-damage", screen: "status", steps: async (page) => page.getByText("As the check has written it").click(), shows: "packs/9f/9f3c11" },
  { name: "german-damage", core: "status-damage", locale: "de-DE", screen: "status", shows: "2 Teile der gespeicherten Daten sind beschädigt." },
  { name: "status-none", core: "status-none", screen: "status", shows: "Nothing is backed up yet" },
  { name: "status-asking", core: "status-asking", screen: "status", shows: "Reading the status" },
  { name: "status-write-only", core: "write-only", screen: "status", shows: "Backups of this device" },

  { name: "status-order", core: "status", screen: "status", steps: async (page) => { await click("Check now")(page); await page.getByText("Prune now").scrollIntoViewIfNeeded(); }, shows: "Prune now" },
  { name: "status-running", core: "status-running", screen: "status", steps: async (page) => page.getByText("Checking…").scrollIntoViewIfNeeded(), shows: "Checking…" },
  { name: "status-refused", core: "status-refused", screen: "status", steps: async (page) => { await click("Check now")(page); await page.getByText("A job ran just now").scrollIntoViewIfNeeded(); }, shows: "Wait a minute" },
  { name: "status-by-itself", core: "status-by-itself", screen: "status", steps: async (page) => page.getByText("cannot be started from here").scrollIntoViewIfNeeded(), shows: "schedule of its own" },
  { name: "status-growing", core: "status-growing", screen: "status", steps: async (page) => { await click("Add it up")(page); await page.getByText("180 of 412 steps read").scrollIntoViewIfNeeded(); }, shows: "180 of 412 steps read" },
  { name: "status-growth", core: "status-cost", screen: "status", steps: async (page) => { await click("Add it up")(page); await page.getByText("A series without a kept snapshot").scrollIntoViewIfNeeded(); }, shows: "up to $0.72 a month" },
  { name: "settings-price", core: "settings", screen: "settings", steps: async (page) => { const price = page.getByRole("combobox", { name: "What storage costs" }); await price.selectOption("Another price"); await price.scrollIntoViewIfNeeded(); }, shows: "What storage costs" },
  { name: "alarms", core: "alarms", screen: "status", shows: "desk: /home/mara of desk was backed up 11 days ago" },
  { name: "alarms-language", core: "alarms-once", screen: "status", steps: async (page) => {
    await page.getByText("was backed up 11 days ago").first().waitFor();
    await page.locator("a[href='#settings']").click();
    await page.getByRole("radio", { name: "Deutsch" }).check();
    await page.locator("a[href='#status']").click();
  }, shows: "wurde zuletzt vor 11 Tagen gesichert" },
  { name: "alarms-badge", core: "alarms", steps: async (page) => page.locator(".tab-note.bad").waitFor(), shows: "Back up" },

  { name: "share", core: "snapshots", screen: "restore", steps: openShare, shows: "Whoever has the link" },
  { name: "share-large", core: "share-large", screen: "restore", steps: openShare, shows: "shares at most" },
  { name: "share-running", core: "sharing", screen: "restore", steps: async (page) => { await openShare(page); await click("Make the link")(page); }, shows: "of 1.10 GiB stored" },
  { name: "share-failed", core: "share-failed", screen: "restore", steps: async (page) => { await openShare(page); await click("Make the link")(page); }, shows: "is used up" },
  { name: "share-made", core: "snapshots", screen: "restore", steps: async (page) => { await openShare(page); await click("Make the link")(page); }, shows: "It is shown only here" },
  { name: "share-left-out", core: "share-left-out", screen: "restore", steps: async (page) => { await openShare(page); await click("Make the link")(page); }, shows: "left out" },
  { name: "shares", core: "snapshots", screen: "restore", steps: click("Shares"), shows: "Lisbon in March" },
  { name: "shares-revoke", core: "snapshots", screen: "restore", steps: async (page) => { await click("Shares")(page); await click("Revoke Lisbon in March")(page); }, shows: "opens nothing from then on" },
  { name: "shares-none", core: "shares-none", screen: "restore", steps: click("Shares"), shows: "Nothing is shared" },
  { name: "shares-failed", core: "shares-failed", screen: "restore", steps: click("Shares"), shows: "does not answer" },
  { name: "devices", core: "devices", screen: "devices", shows: "Studio camera" },
  { name: "devices-asking", core: "devices-asking", screen: "devices", shows: "Devices" },
  { name: "devices-rename", core: "devices", screen: "devices", steps: click("Rename desk"), shows: "New name" },
  { name: "devices-revoke", core: "devices", screen: "devices", steps: click("Revoke Studio camera"), shows: "Backup step 42" },
  { name: "devices-revoke-new", core: "devices-never", screen: "devices", steps: click("Revoke Studio camera"), shows: "No accepted backup of it" },
  { name: "devices-failed", core: "devices-failed", screen: "devices", steps: async (page) => { await click("Revoke Studio camera")(page); await click("Sign and revoke")(page); }, shows: "Nothing was signed" },
  { name: "devices-add-confirm", core: "devices", screen: "devices", steps: click("Add a device"), shows: "Confirm with your passphrase" },
  { name: "devices-add-form", core: "devices", screen: "devices", steps: async (page) => { await click("Add a device")(page); await confirm(page); }, shows: "Days that the link works" },
  { name: "devices-add-taken", core: "devices-taken", screen: "devices", steps: addDevice, shows: "device of this name" },
  { name: "devices-add-link", core: "devices", screen: "devices", steps: addDevice, shows: "Whoever opens it first joins" },
  { name: "keys", core: "devices", screen: "settings", steps: showKeys, shows: "Opened this page" },
  { name: "keys-asking", core: "keys-asking", screen: "settings", steps: showKeys, shows: "Reading the keys" },
  { name: "keys-failed", core: "keys-failed", screen: "settings", steps: showKeys, shows: "does not answer" },
  { name: "keys-confirm-code", core: "devices", screen: "settings", steps: async (page) => { await showKeys(page); await click("Add a passphrase")(page); await click("Use a recovery code")(page); }, shows: "Confirm with your recovery code" },
  { name: "keys-confirm-wrong", core: "keys-wrong", screen: "settings", steps: addPassphrase, shows: "not the passphrase" },
  { name: "keys-passphrase", core: "devices", screen: "settings", steps: async (page) => { await addPassphrase(page); await page.getByLabel("New passphrase", { exact: true }).fill("hunter2"); }, shows: "Easy to guess" },
  { name: "keys-passphrase-differs", core: "devices", screen: "settings", steps: async (page) => { await addPassphrase(page); await page.getByLabel("New passphrase", { exact: true }).fill("a harbour in winter"); await click("Add")(page); }, shows: "passphrases differ" },
  { name: "keys-replace", core: "devices", screen: "settings", steps: async (page) => { await showKeys(page); await click("Replace Passphrase 5e0c5e0c")(page); await confirm(page); }, shows: "takes back no knowledge" },
  { name: "keys-unproven", core: "keys-unproven", screen: "settings", steps: async (page) => { await addPassphrase(page); for (const name of ["New passphrase", "The same again"]) await page.getByLabel(name, { exact: true }).fill("a harbour in winter"); await click("Add")(page); }, shows: "not stored as it should be" },
  { name: "keys-code", core: "devices", screen: "settings", steps: async (page) => { await showKeys(page); await click("Make a recovery code")(page); await confirm(page); }, shows: "RFWHV3N" },
  { name: "keys-code-wrong", core: "devices", screen: "settings", steps: async (page) => { await showKeys(page); await click("Make a recovery code")(page); await confirm(page); await page.getByText("RFWHV3N").waitFor(); await page.getByLabel("Its last group").fill("RFWHV3N"); await click("I have noted it")(page); }, shows: "not its last group" },
  { name: "keys-remove", core: "devices", screen: "settings", steps: async (page) => { await showKeys(page); await click("Remove Recovery code a91da91d")(page); await confirm(page); }, shows: "takes back no knowledge" },
  { name: "keys-remove-own", core: "devices", screen: "settings", steps: async (page) => { await showKeys(page); await click("Remove Passphrase 5e0c5e0c")(page); await confirm(page); }, shows: "this very key" },
  { name: "settings", core: "settings", screen: "settings", shows: "This device" },
  { name: "settings-forget", core: "settings", screen: "settings", steps: click("Forget the cache"), shows: "Forget the cache?" },
  { name: "settings-offline", core: "settings", screen: "settings", steps: async (page) => { const choice = page.getByRole("radiogroup", { name: "Open without a network" }); await choice.getByRole("radio", { name: "On" }).check(); await choice.scrollIntoViewIfNeeded(); }, shows: "sealed under your passphrase" },
  { name: "settings-offline-refused", core: "settings-offline-refused", screen: "settings", steps: async (page) => { const choice = page.getByRole("radiogroup", { name: "Open without a network" }); await choice.getByRole("radio", { name: "On" }).click(); await choice.scrollIntoViewIfNeeded(); }, shows: "Only the passphrase can seal" },
  { name: "last-known-unlock", core: "last-known", shows: "There is no network" },
  { name: "last-known-wrong", core: "last-known-wrong", steps: async (page) => { await type("correct horse")(page); await click("Show the list")(page); }, shows: "not the passphrase" },
  { name: "last-known", core: "last-known", steps: async (page) => { await type("correct horse")(page); await click("Show the list")(page); }, shows: "this is the last known list" },
  { name: "last-known-looked", core: "last-known", steps: async (page) => { await type("correct horse")(page); await click("Show the list")(page); await page.locator("[data-row='1']").click(); }, shows: "needs the server" },
  { name: "warnings", core: "settings", shows: "I have read it" },
  { name: "lock-soon", core: "lock-soon", shows: "Still there?" },
  { name: "no-network", core: "no-network", shows: "There is no network" },
  { name: "elsewhere", core: "elsewhere", shows: "open in another tab" },

  // German, where there is the least room for it.
  { name: "german-tabs", core: "alarms", locale: "de-DE", steps: async (page) => page.locator(".tab-note.bad").waitFor(), shows: "Sichern" },
  { name: "german-selected", core: "snapshots", locale: "de-DE", screen: "restore", steps: async (page) => {
    await openFirst(page);
    await page.getByRole("row").filter({ hasText: "README.txt" }).locator("[data-tick]").click();
  }, shows: "Fassungen" },
  { name: "german-kept", core: "kept-lingering", locale: "de-DE", screen: "restore", steps: async (page) => {
    await click("Was behalten wird")(page);
    await click("Regeln ändern …")(page);
    await click("Zeigen, was wegfällt")(page);
    await page.locator("summary", { hasText: "Accounts" }).click();
  }, shows: "Später weg" },
  { name: "german-kept-more", core: "kept", locale: "de-DE", screen: "restore", steps: async (page) => {
    await click("Was behalten wird")(page);
    await click("Regeln ändern …")(page);
    await page.getByText("Mehr: Schlagwörter").click();
    await page.getByLabel("Frist zum Zurückholen").fill("2h");
    await click("Zeigen, was wegfällt")(page);
  }, shows: "Das schützt weniger als bisher" },
  { name: "german-preview", core: "snapshots", locale: "de-DE", screen: "restore", steps: async (page) => {
    await openFirst(page);
    await page.getByText("README.txt").click();
  }, shows: "geändert am" },
];
