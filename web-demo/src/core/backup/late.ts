//! Late: the service's answer to a backup that comes after the backup has ended.

import { Control } from "../coordinator/control";
import type { Opened } from "../coordinator/opened";
import { ENDLESS } from "../gateway/retry";
import type { Remembered } from "../keep/database";
import { answerTo } from "./answer";
import type { Outcome } from "./run";

type Session = Pick<Opened, "gateway" | "database">;

type Last = Pick<Remembered, "lastBackup" | "files" | "bytes">;

/** What folders had before backups that were rejected, which may be told in any order. */
const rejected = new Map<string, Last>();

/** Looks for the answer for as long as the session lasts, and tells whether the backup was rejected. Then the
 * remembered folder gets back the last backup that it had `before`, or one before that if this was rejected too. */
export async function lateAnswer(
  { gateway, database }: Session,
  client: string,
  { number, time }: Pick<Outcome, "number" | "time">,
  before: readonly Remembered[],
): Promise<boolean> {
  const control = new Control();
  const patience = () => ({ tries: ENDLESS, signal: control.signal });
  for (let answer = "waiting", wait = FIRST; answer !== "rejected"; wait = Math.min(2 * wait, LONGEST)) {
    await new Promise((resolve) => setTimeout(resolve, wait));
    answer = await answerTo(gateway, client, number, 0, control, patience);
    if (answer === "accepted") return false;
  }
  for (const { id } of await database.all("folders")) {
    const { lastBackup, files, bytes } = before.find((row) => row.id === id) ?? NEVER;
    rejected.set(`${id} ${time}`, { lastBackup, files, bytes });
    await database.change("folders", id, (row) => {
      let last: Last | null = row;
      for (let old; last && (old = rejected.get(`${id} ${last.lastBackup}`)); last = old);
      return row && last !== row ? { ...row, ...last } : null;
    });
  }
  return true;
}

/** A folder that was first backed up by what was rejected. */
const NEVER = { lastBackup: null, files: null, bytes: null };
/** Milliseconds from one look to the next, at first and at most. */
const [FIRST, LONGEST] = [10_000, 60_000];
