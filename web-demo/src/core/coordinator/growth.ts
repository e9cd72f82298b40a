//! Growth: what each device has added to the repository, from its manifests. Each is read once: what it claims never changes.

import type { Growth, GrowthProgress, GrownSeries, Snapshot } from "../api";
import { type Claim, claimOf } from "../claim";
import { ENDLESS } from "../gateway/retry";
import { type Listed, brief } from "../gateway/client";
import type { Private } from "../keep/private";
import type { Control } from "./control";
import { type Opened, fetchAll } from "./opened";
import { failure } from "../problem";

/** A manifest, with its client and when it was stored. */
export interface Step extends Claim { client: string; time: number }

/** Reads the manifests that were not read before, and adds them up. */
export async function growth(opened: Opened, snapshots: Snapshot[], files: Private | null, control: Control, tell: (progress: GrowthProgress) => void): Promise<Growth> {
  const known = await readKnown(files);
  const listed = (await opened.gateway.list({ ...brief(), signal: control.signal }, "manifests/")).filter(({ key }) => MANIFEST.test(key));
  const wanted = listed.filter(({ key }) => !known.has(key));
  let done = listed.length - wanted.length;
  const told = () => tell({ done, total: listed.length });
  told();
  try {
    await fetchAll(wanted, async ({ key }) => {
      await control.gate();
      if (control.isCancelled) throw failure("cancelled");
      const bytes = await opened.gateway.read({ tries: ENDLESS, signal: control.signal }, key);
      const claim = bytes && read(bytes);
      if (claim) known.set(key, claim);
      done += 1;
      told();
    });
  } finally {
    // Also of a run that was stopped: the next one goes on from there.
    await files?.write(NAME, new TextEncoder().encode(JSON.stringify([...known]))).catch(() => {});
  }
  return { series: grown(listed.flatMap((one) => stepOf(one, known)), snapshots) };
}

/** Adds up what was claimed. A pack counts for the manifest that was stored first among those that name it. */
export function grown(steps: Step[], snapshots: readonly Snapshot[]): GrownSeries[] {
  const counted = new Set<string>();
  const added = new Map<string, Map<number, number>>();
  // Steps without a source are on the way to the next one of their client that has one.
  const sources = new Map<string, string>();
  const named = steps.map((step) => ({ ...step, series: "" }));
  for (const step of [...named].reverse()) {
    if (step.source !== null) sources.set(step.client, step.source);
    step.series = `${step.client}/${step.source ?? sources.get(step.client) ?? ""}`;
  }
  for (const { series, packs, time } of named.sort((a, b) => a.time - b.time)) {
    const days = added.get(series) ?? new Map<number, number>();
    const day = Math.floor(time / DAY) * DAY;
    for (const [id, bytes] of packs) {
      if (counted.has(id)) continue;
      counted.add(id);
      days.set(day, (days.get(day) ?? 0) + bytes);
    }
    added.set(series, days);
  }
  // Newest first: the first of a series names it.
  const names = new Map<string, Snapshot>();
  for (const snapshot of snapshots) if (!names.has(snapshot.series)) names.set(snapshot.series, snapshot);
  const devices = new Map(snapshots.map(({ series, device }) => [series.slice(0, series.indexOf("/")), device]));
  const found = [...added].map(([series, days]): GrownSeries => {
    const client = series.slice(0, series.indexOf("/"));
    let bytes = 0;
    const points = [...days].map(([time, more]) => ({ time, bytes: (bytes += more) }));
    return { series, client, source: names.get(series)?.source ?? null, device: devices.get(client) ?? null, bytes, points };
  });
  return found.filter(({ bytes }) => bytes > 0).sort((a, b) => b.bytes - a.bytes);
}

function stepOf({ key, created }: Listed, known: Map<string, Claim>): Step[] {
  const claim = known.get(key);
  return claim ? [{ ...claim, client: key.split("/")[1]!, time: created }] : [];
}

/** One that cannot be read adds nothing: nobody took it in. */
function read(manifest: Uint8Array): Claim | null {
  try {
    const claim = claimOf(manifest);
    return claim.packs.every(([, bytes]) => bytes <= PACK_MOST) ? claim : null;
  } catch {
    return null;
  }
}

async function readKnown(files: Private | null): Promise<Map<string, Claim>> {
  try {
    const bytes = await files?.read(NAME);
    return new Map(bytes ? (JSON.parse(new TextDecoder().decode(bytes)) as [string, Claim][]) : []);
  } catch {
    return new Map();
  }
}

const MANIFEST = /^manifests\/[0-9a-f]{32}\/\d{20}$/;
const NAME = "manifests";
/** Bytes of a pack: no service takes in a longer one. */
const PACK_MOST = 256 * 1024 * 1024;
const DAY = 86_400_000;
