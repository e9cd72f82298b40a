//! Reports: what jobs have written about their last runs.

import { brief } from "../gateway/client";
import type { Opened } from "./opened";

/** The newest report of a job; null without one, or if it cannot be read. */
export async function newestReport(opened: Opened, job: "check" | "prune"): Promise<{ time: number; body: Record<string, unknown> } | null> {
  const newest = (await opened.gateway.list(brief(), `reports/${job}/`)).at(-1);
  const bytes = newest && (await opened.gateway.read(brief(), newest.key));
  if (!newest || !bytes) return null;
  try {
    const body: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof body === "object" && body !== null ? { time: newest.created, body: body as Record<string, unknown> } : null;
  } catch {
    return null;
  }
}

/** What the report of a check comes to. What was damaged and has been replaced since is no damage, nor is an accepted loss. */
export function outcomeOf({ findings }: Record<string, unknown>): "sound" | "damage" {
  return Array.isArray(findings) && findings.some((found: { kind?: unknown } | null) => found?.kind !== "replaced" && found?.kind !== "accepted") ? "damage" : "sound";
}
