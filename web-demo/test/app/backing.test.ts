import { describe, expect, test } from "vitest";
import { BackingUp, due, partOf, patterns, toggled } from "../../src/app/backing";
import type { BackupProgress, BackupResult, BackupOptions, RememberedFolder } from "../../src/core/api";
import { failure } from "../../src/core/problem";
import { never, NOW, PROGRESS, RESULT, scripted, scriptedRun, STATUS } from "./harness/scripted";

const OPTIONS: BackupOptions = { folder: "folder", label: "Pictures", excludes: [], remember: false };
const settled = () => new Promise((done) => setTimeout(done));

describe("a backup, as the page sees it", () => {
  test("goes from a folder to its result", async () => {
    let started: BackupOptions | null = null;
    const backing = new BackingUp(scripted({ startBackup: async (options) => { started = options; return scriptedRun<BackupProgress, BackupResult>(PROGRESS, RESULT); } }));
    await backing.take(folder());
    backing.edit({ label: "  Photos ", excludes: "*.tmp\n\n# no comment\n" });
    await backing.startReady();
    expect(started).toEqual({ folder: "f", label: "Photos", excludes: ["*.tmp"], remember: true });
    expect(backing.state.value).toMatchObject({ at: "done", result: RESULT });
  });
  test("tells at its end what could not be seen of the folder, also of a remembered one", async () => {
    const opened = { ...(await folder()), id: "again", blindTo: ["odd-names", "links"] as const };
    const backing = new BackingUp(scripted({
      startBackup: async () => scriptedRun<BackupProgress, BackupResult>(PROGRESS, RESULT),
      openRemembered: async () => ({ ...opened, blindTo: [...opened.blindTo] }),
    }));
    await backing.startRemembered({ id: "r", label: "Pictures", excludes: [] } as unknown as RememberedFolder);
    expect(backing.state.value).toMatchObject({ at: "done", blindTo: ["odd-names", "links"] });
    await backing.start({ ...OPTIONS, folder: "again" });
    expect(backing.state.value).toMatchObject({ at: "done", blindTo: ["odd-names", "links"] });
  });
  test("is called as the folder is, if it is given no name", async () => {
    let label = "";
    const backing = new BackingUp(scripted({ startBackup: async (options) => { label = options.label; return scriptedRun<BackupProgress, BackupResult>(PROGRESS, RESULT); } }));
    await backing.take(folder());
    backing.edit({ label: "  " });
    await backing.startReady();
    expect(label).toBe("Pictures");
  });
  test("returns to choosing if the person changed their mind", async () => {
    const backing = new BackingUp(scripted());
    await backing.take(Promise.resolve(null));
    expect(backing.state.value).toEqual({ at: "choosing", opening: false, problem: null });
  });
  test("names what kept a folder from being opened", async () => {
    const backing = new BackingUp(scripted());
    await backing.take(Promise.reject(failure("folder-permission")));
    expect(backing.state.value).toMatchObject({ at: "choosing", problem: { code: "folder-permission" } });
  });
  test("pauses, resumes, and stops when asked", async () => {
    const backing = new BackingUp(scripted());
    const end = backing.start(OPTIONS);
    await settled();
    backing.ask("pause");
    expect(backing.state.value).toMatchObject({ at: "running", asked: "pause", progress: { state: "paused" } });
    backing.ask("go");
    expect(backing.state.value).toMatchObject({ at: "running", progress: { state: "running" } });
    backing.ask("cancel");
    await end;
    expect(backing.state.value).toMatchObject({ at: "ended", problem: { code: "cancelled" }, progress: { securedBytes: PROGRESS.securedBytes } });
  });
  test("that is stopped before it began does not run on", async () => {
    let begin: () => void = () => undefined;
    const waiting = new Promise<void>((done) => { begin = done; });
    const backing = new BackingUp(scripted({ startBackup: async () => { await waiting; return scriptedRun<BackupProgress, BackupResult>(PROGRESS, null); } }));
    const end = backing.start(OPTIONS);
    backing.ask("cancel");
    begin();
    await end;
    expect(backing.state.value).toMatchObject({ at: "ended", problem: { code: "cancelled" } });
  });
  test("that failed keeps its choices for another try", async () => {
    let tries = 0;
    const backing = new BackingUp(scripted({ startBackup: async () => { tries += 1; return scriptedRun<BackupProgress, BackupResult>(PROGRESS, tries === 1 ? failure("server-full") : RESULT); } }));
    await backing.start(OPTIONS);
    expect(backing.state.value).toMatchObject({ at: "ended", options: OPTIONS });
    await backing.again();
    expect(backing.state.value).toMatchObject({ at: "done", options: OPTIONS });
  });
  test("is forgotten with its names when the page is locked, whatever becomes of it", async () => {
    let end: (error: Error) => void = () => undefined;
    const done = new Promise<BackupResult>((_, reject) => { end = reject; });
    const run = { done, onProgress: (tell: (progress: BackupProgress) => void) => { tell(PROGRESS); return () => undefined; }, pause() {}, resume() {}, cancel() {} };
    const backing = new BackingUp(scripted({ startBackup: async () => run }));
    const started = backing.start(OPTIONS);
    await settled();
    expect(backing.state.value).toMatchObject({ at: "running", progress: PROGRESS });
    backing.forget();
    expect(backing.state.value).toEqual({ at: "choosing", opening: false, problem: null });
    end(new Error("the coordinator is gone"));
    await started;
    const late = backing.take(new Promise((resolve) => setTimeout(async () => resolve(await folder()))));
    backing.forget();
    await late;
    expect(backing.state.value).toEqual({ at: "choosing", opening: false, problem: null });
  });
  test("cannot be left for another folder while it runs", async () => {
    const backing = new BackingUp(scripted({ startBackup: () => never() }));
    void backing.start(OPTIONS);
    backing.choose();
    expect(backing.state.value.at).toBe("running");
  });
  test("that waits for the service becomes verified when the receipt is there", async () => {
    const receipt = { snapshot: RESULT.snapshot, time: 0, source: "", state: "verified" as const, problem: null };
    const backing = new BackingUp(scripted({
      startBackup: async () => scriptedRun<BackupProgress, BackupResult>(PROGRESS, { ...RESULT, receipt: "waiting" }),
      status: async () => ({ ...STATUS, receipts: [receipt] }),
    }));
    await backing.start(OPTIONS);
    await backing.lookForReceipt();
    expect(backing.state.value).toMatchObject({ at: "done", result: { receipt: "verified" } });
  });
  test("that the service rejects is not shown as done", async () => {
    const { problem } = failure("manifest-rejected");
    const backing = new BackingUp(scripted({
      startBackup: async () => scriptedRun<BackupProgress, BackupResult>(PROGRESS, { ...RESULT, receipt: "waiting" }),
      status: async () => ({ ...STATUS, receipts: [{ snapshot: RESULT.snapshot, time: 0, source: "", state: "rejected", problem }] }),
    }));
    for (const canRemember of [true, false]) {
      await backing.take(folder(canRemember));
      await backing.startReady();
      await backing.lookForReceipt();
      // A list has to be chosen again.
      expect(backing.state.value).toMatchObject({ at: "ended", problem: { ...problem, canRetry: canRemember } });
    }
  });
  test("is done again with a folder, which is opened anew, and not with the list of files that was chosen", async () => {
    for (const [canRemember, at, starts] of [[true, "done", 2], [false, "choosing", 1]] as const) {
      let started = 0;
      const backing = new BackingUp(scripted({ startBackup: async () => { started += 1; return scriptedRun<BackupProgress, BackupResult>(PROGRESS, RESULT); } }));
      await backing.take(folder(canRemember));
      await backing.startReady();
      expect(backing.state.value).toMatchObject({ at: "done", opensAnew: canRemember });
      await backing.again();
      expect([backing.state.value.at, started]).toEqual([at, starts]);
    }
  });
});

describe("folders that are backed up when the page is opened", () => {
  const HOUR = 3_600_000;
  const remembered = (id: string, other: Partial<RememberedFolder> = {}): RememberedFolder =>
    ({ id, name: id, label: id, lastBackup: NOW - 24 * HOUR, files: 1, bytes: 1, excludes: [], automatic: true, permission: "granted", ...other });

  test("are those that the person has chosen, that open without a question, and whose last backup is half a day old", () => {
    const folders = [
      remembered("due"), remembered("new", { lastBackup: null }), remembered("by hand", { automatic: false }),
      remembered("asks", { permission: "ask" }), remembered("fresh", { lastBackup: NOW - 11 * HOUR }),
    ];
    expect(due(folders, NOW).map(({ id }) => id)).toEqual(["due", "new"]);
  });
  /** Opens the page with these folders; gives the labels of what was backed up. */
  const opened = async (folders: RememberedFolder[], end: BackupResult | Error) => {
    const started: string[] = [];
    const backing = new BackingUp(scripted({
      remembered: async () => folders,
      startBackup: async ({ label }) => (started.push(label), scriptedRun<BackupProgress, BackupResult>(PROGRESS, end)),
    }));
    await backing.startDue(NOW);
    return started;
  };
  test("are backed up one after another, each once", async () => {
    expect(await opened([remembered("a"), remembered("b")], RESULT)).toEqual(["a", "b"]);
  });
  test("wait if one fails", async () => {
    expect(await opened([remembered("a"), remembered("b")], failure("offline"))).toEqual(["a"]);
  });
  test("are left to another tab that backs up, without a word", async () => {
    const backing = new BackingUp(scripted({ remembered: async () => [remembered("a"), remembered("b")], startBackup: async () => { throw failure("elsewhere"); } }));
    await backing.startDue(NOW, async () => {});
    expect(backing.state.value).toEqual({ at: "choosing", opening: false, problem: null });
  });
  test("are not begun on a page that was locked meanwhile", async () => {
    const backing = new BackingUp(scripted({ remembered: async () => [remembered("a")], openRemembered: () => Promise.reject(new Error("nobody may ask for it")) }));
    const starting = backing.startDue(NOW);
    backing.forget();
    await starting;
    expect(backing.state.value).toEqual({ at: "choosing", opening: false, problem: null });
  });
  test("wait if the person does something else", async () => {
    const backing = new BackingUp(scripted({ remembered: async () => [remembered("a")], startBackup: () => Promise.reject(new Error("nobody asked for it")) }));
    await backing.take(folder());
    await backing.startDue(NOW);
    expect(backing.state.value.at).toBe("ready");
  });
});

describe("the part that is done", () => {
  test("is unknown while the whole is", () => expect([partOf(null), partOf({ ...PROGRESS, bytes: { done: 5, read: 5, total: null, expected: null } })]).toEqual([null, null]));
  test("is of bytes, or of files where all are empty", () => {
    expect(partOf({ ...PROGRESS, bytes: { done: 5, read: 5, total: 10, expected: null } })).toBe(0.5);
    expect(partOf({ ...PROGRESS, bytes: { done: 0, read: 0, total: 0, expected: null }, files: { done: 1, total: 4, expected: null, unchanged: 0 } })).toBe(0.25);
  });
  test("is an estimate that is never all while only about the whole is known", () => {
    const bytes = (done: number, expected: number | null) => ({ done, read: done, total: null, expected });
    const files = (done: number, expected: number | null) => ({ done, total: null, expected, unchanged: 0 });
    expect(partOf({ ...PROGRESS, bytes: bytes(5, 10), files: files(1, null) })).toBe(0.5);
    expect(partOf({ ...PROGRESS, bytes: bytes(50, 10), files: files(1, null) })).toBe(0.99);
    expect(partOf({ ...PROGRESS, bytes: bytes(5, null), files: files(1, 4) })).toBe(0.25);
  });
  test("is never more than all, also of a folder that grew meanwhile", () => expect(partOf({ ...PROGRESS, bytes: { done: 12, read: 12, total: 10, expected: null } })).toBe(1));
});

describe("patterns", () => {
  test("stand one in a line", () => expect(patterns(" *.tmp \r\n\n#x\n!keep")).toEqual(["*.tmp", "!keep"]));
  test("are added and taken away", () => {
    expect(toggled("", "*.tmp")).toBe("*.tmp");
    expect(toggled("a/\n*.tmp", "*.tmp")).toBe("a/");
  });
});

function folder(canRemember = true) {
  return Promise.resolve({ id: "f", name: "Pictures", label: "Pictures", via: "picker" as const, canRemember, files: null, bytes: null, blindTo: [] });
}
