//! Reason: why a worker could not do something, for the coordinator.

/** The browser's or the engine's name for it, never a text. */
export function reason(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" ? code : error instanceof Error ? error.name : "unknown";
}
