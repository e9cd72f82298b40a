//! Kept shares: those that the server has, and what ends one.

import type { Share } from "../shares";
import type { Opened } from "../coordinator/opened";
import { brief } from "../gateway/client";
import { failure } from "../problem";
import { labelKey, openLabel } from "./label";

/** A share as the gateway tells of it. Times are seconds. */
interface Told {
  id: string;
  made: number;
  ends: number;
  count: number;
  taken: number;
  length: number;
  label: string;
}

/** All shares, the newest first. */
export async function shares({ owner, gateway }: Opened): Promise<Share[]> {
  if (!owner) throw failure("not-permitted");
  const { shares } = (await gateway.ask(brief(), "GET", "/v1/shares")) as { shares: Told[] };
  const key = await labelKey(owner);
  return Promise.all(
    shares.map(async ({ id, made, ends, count, taken, length, label }) => ({
      id, count, taken, bytes: length, made: 1000 * made, ends: 1000 * ends, label: await openLabel(key, id, label),
    })),
  );
}

/** Ends a share at once, also one that is half made. */
export async function revoke({ gateway }: Pick<Opened, "gateway">, id: string): Promise<void> {
  await gateway.ask(brief(), "DELETE", `/v1/shares/${id}`);
}
