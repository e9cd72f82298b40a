//! Status: what the service has said about this repository, without opening anything.

import type { Status } from "../api";
import { brief } from "../gateway/client";
import { problem } from "../problem";
import { receipt as readReceipt } from "../engine";
import type { Books } from "../restore/books";
import type { Opened } from "./opened";

/** The state as the service sees it. */
export async function readStatus(opened: Opened, books: Books | null, resumable: Status["resumable"]): Promise<Status> {
  const view = await opened.openView();
  const states = view.snapshots().filter((state) => !state.partial && state.state === "kept");
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
  if (own) receipts.unshift(...(await undecided(opened, own, states)));
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
    lastCheck: named ? await lastCheck(opened) : null,
    space: named ? { sourceBytes: sum(snapshots.map(({ bytes }) => bytes)), newestBytes: sum(newest.values()), storedBytes } : null,
    history: named ? history : [],
    resumable,
  };
}

/** Manifests of this device behind those that the state has decided. */
async function undecided(opened: Opened, client: string, states: { client: string; number: number }[]): Promise<Status["receipts"]> {
  const decided = Math.max(0, ...states.filter((state) => state.client === client).map(({ number }) => number));
  const after = decided > 0 ? `manifests/${client}/${String(decided).padStart(20, "0")}` : null;
  const listed = await opened.gateway.list(brief(), `manifests/${client}/`, after);
  const found: Status["receipts"] = [];
  for (const { key, created } of listed.slice(-RECEIPTS)) {
    const number = Number(key.slice(key.lastIndexOf("/") + 1));
    const bytes = await opened.gateway.receipt(brief(), client, number);
    const facts = bytes && readReceipt(client, number, bytes);
    // What was accepted and is no snapshot was a step on the way to one.
    if (facts?.outcome === "accepted") continue;
    const state = facts ? "rejected" : "waiting";
    found.push({ snapshot: key, time: created, source: "", state, problem: facts ? problem("manifest-rejected", String(number)) : null });
  }
  return found;
}

/** What the newest report of a check says. */
async function lastCheck(opened: Opened): Promise<Status["lastCheck"]> {
  const reports = await opened.gateway.list(brief(), "reports/check/");
  const newest = reports.at(-1);
  if (!newest) return null;
  const bytes = await opened.gateway.read(brief(), newest.key);
  if (!bytes) return null;
  try {
    const report = JSON.parse(new TextDecoder().decode(bytes)) as Record<string, unknown>;
    const found = Array.isArray(report["findings"]) ? (report["findings"] as { object?: unknown; why?: unknown }[]) : [];
    const findings = found.slice(0, FINDINGS).map(({ object, why }) => `${object}: ${why}`);
    const outcome = found.length === 0 ? "sound" : "damage";
    const readBytes = typeof report["bytes_read"] === "number" ? report["bytes_read"] : null;
    return { time: newest.created, outcome, readBytes, findings };
  } catch {
    return null;
  }
}

const DAY = 86_400_000;
/** Undecided manifests that are looked at, findings that are told. */
const RECEIPTS = 20;
const FINDINGS = 100;
