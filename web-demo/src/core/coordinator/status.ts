//! Status: what the service has said about this repository, without opening anything.

import type { Snapshot, Status } from "../api";
import { brief } from "../gateway/client";
import { claimsSnapshot } from "../claim";
import { toHex } from "../digits";
import { problem } from "../problem";
import { receipt as readReceipt } from "../engine";
import type { Books } from "../restore/books";
import type { Opened } from "./opened";
import { newestReport, outcomeOf } from "./reports";

/** The state as the service sees it. */
export async function readStatus(opened: Opened, books: Books | null, resumable: Status["resumable"]): Promise<Status> {
  const view = await opened.openView();
  const decided = view.snapshots();
  const states = decided.filter((state) => !state.partial && state.state === "kept");
  const statistics = view.statistics();
  view.free();
  const named = books ? new Map((await books.snapshots()).snapshots.map((snapshot) => [snapshot.id, snapshot])) : null;
  const own = opened.client?.facts.client ?? null;
  const receipts: Status["receipts"] = states.map((state) => ({
    snapshot: state.id,
    time: state.time,
    source: named?.get(state.id)?.source ?? "",
    state: "verified",
    problem: null,
  }));
  const latest = own ? await undecided(opened, own, decided) : { receipts: [], steps: 0 };
  receipts.unshift(...latest.receipts);
  receipts.sort((a, b) => b.time - a.time);
  const storedBytes = statistics.dataBytes + statistics.treeBytes;
  const snapshots = named ? [...named.values()] : [];
  const newest = new Map<string, number>();
  // Newest first: the first of each series is its newest.
  for (const { series, bytes } of snapshots) if (!newest.has(series)) newest.set(series, bytes);
  const sum = (numbers: Iterable<number>) => [...numbers].reduce((all, one) => all + one, 0);
  let stored = 0;
  const history = statistics.growth.map(({ time, bytes }) => {
    stored += bytes;
    const until = time + DAY;
    return { time, storedBytes: stored, sourceBytes: named ? sum(snapshots.filter((snapshot) => snapshot.time < until).map(({ bytes }) => bytes)) : null };
  });
  return {
    receipts,
    lastCheck: named ? await lastCheck(opened, named) : null,
    space: named ? { sourceBytes: sum(snapshots.map(({ bytes }) => bytes)), newestBytes: sum(newest.values()), storedBytes } : null,
    history: named ? history : [],
    resumable,
    unfinishedSteps: latest.steps,
  };
}

/** Backups of this device that the state has not decided, and the steps of an unfinished one that wait to be verified. */
async function undecided(opened: Opened, client: string, states: { client: string; number: number }[]): Promise<{ receipts: Status["receipts"]; steps: number }> {
  const decided = states.reduce((most, state) => (state.client === client ? Math.max(most, state.number) : most), 0);
  const after = decided > 0 ? `manifests/${client}/${String(decided).padStart(20, "0")}` : null;
  const listed = await opened.gateway.list(brief(), `manifests/${client}/`, after);
  const receipts: Status["receipts"] = [];
  let steps = 0;
  for (const { key, created } of listed.slice(-RECEIPTS)) {
    const number = Number(key.slice(key.lastIndexOf("/") + 1));
    const bytes = await opened.gateway.receipt(brief(), client, number);
    const facts = bytes && readReceipt(client, number, bytes);
    const manifest = await opened.gateway.read(brief(), key);
    const isBackup = manifest !== null && claimsSnapshot(manifest);
    // A step that was rejected is no backup that failed: the run begins anew, or the next one goes on.
    if (!isBackup) steps += facts ? 0 : 1;
    // The steps before a backup belong to it. The next state lists a backup that was accepted.
    else steps = 0;
    if (!isBackup || facts?.outcome === "accepted") continue;
    const state = facts ? "rejected" : "waiting";
    // Its snapshot's id (docs/format.md, section 5.3), by which the page knows the backup.
    const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", manifest));
    receipts.push({ snapshot: toHex(digest.subarray(0, 16)), time: created, source: "", state, problem: facts ? problem("manifest-rejected", String(number)) : null });
  }
  return { receipts, steps };
}

/** What the newest report of a check says. */
async function lastCheck(opened: Opened, named: ReadonlyMap<string, Snapshot>): Promise<Status["lastCheck"]> {
  const report = await newestReport(opened, "check");
  if (!report) return null;
  const { findingsOf } = await import("../findings");
  const findings = findingsOf(report.body, named);
  const readBytes = typeof report.body["bytes_read"] === "number" ? report.body["bytes_read"] : null;
  return { time: report.time, outcome: outcomeOf(report.body), readBytes, findings };
}

const DAY = 86_400_000;
/** Undecided manifests that are looked at. */
const RECEIPTS = 20;
