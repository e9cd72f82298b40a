//! Changing: what a person wants to be done to snapshots, signed and put into the repository's chain of changes.

import type { Changed, Decision, Wish } from "../api";
import type { Changes } from "../engine";
import { brief } from "../gateway/client";
import { stored } from "../gateway/stored";
import { failure } from "../problem";
import type { Books } from "../restore/books";
import type { Opened } from "./opened";

/** Signs and stores what a wish or a decision says, and waits for the service to take it in. `check` looks at the state that is changed,
 * before anything is signed for it; `own`: the last change that was signed for the same wish. */
export async function change(site: Opened, books: Pick<Books, "changes" | "snapshots">, wish: Wish | Decision, check?: (own: number | null) => Promise<void>): Promise<Changed> {
  const { client } = site;
  if (!client) throw failure("not-permitted");
  await site.checkClient(client);
  const repository = site.known.facts.id;
  const met = (await site.database.get("seen", repository))?.change ?? null;
  const changes = await books.changes(client, met, wish);
  if (!changes) return { state: "done", unchanged: await unchanged(books, wish) };
  try {
    await follow(site, changes);
    await remember(site, changes);
    await write(site, changes, check);
    // It is stored and counts. A failure now must not read as if nothing had been signed.
    const seen = await taken(site, changes.end.number).then((isTakenIn) => (isTakenIn ? unchanged(books, wish) : null)).catch(() => null);
    return seen ? { state: "done", unchanged: seen } : { state: "waiting", unchanged: [] };
  } finally {
    changes.free();
  }
}

/** Finds the end of the chain. It must have the newest change that this browser has seen. */
async function follow(site: Opened, changes: Changes): Promise<void> {
  for (let left = FAR; changes.unread !== undefined; left--) {
    if (left === 0) throw failure("server-failed");
    changes.read(await site.gateway.read(brief(), changes.unread));
  }
}

/** Creates the changes that are due, one after another. Behind another writer's a change is signed anew: it names the one before. */
async function write(site: Opened, changes: Changes, check?: (own: number | null) => Promise<void>): Promise<void> {
  const { gateway } = site;
  let own: number | null = null;
  for (let left = WRITERS; ; left--) {
    const now = Number((await gateway.time(brief())) / 1_000_000n);
    const due = changes.next(now);
    if (!due) return;
    if (left === 0) throw failure("busy");
    if (check) {
      // The state says what is in force once the service has taken in what others have signed.
      if (!(await taken(site, changes.end.number))) throw failure("busy");
      await check(own);
    }
    const signed = changes.signed(due.message && (await sign(site, due.message as Uint8Array<ArrayBuffer>)));
    const there = await stored(gateway, brief(), signed.key, signed.bytes as Uint8Array<ArrayBuffer>);
    if (!there) throw failure("server-failed");
    if (!changes.stored(there)) continue;
    own = changes.end.number;
    await remember(site, changes);
  }
}

async function sign(site: Opened, message: Uint8Array<ArrayBuffer>): Promise<Uint8Array> {
  if (!site.manifestSigner) throw failure("internal", "sign");
  return site.manifestSigner(message);
}

/** Remembers the newest change that was seen. */
async function remember({ database, known }: Opened, changes: Changes): Promise<void> {
  const { id, owner } = known.facts;
  const { end } = changes;
  if (end.number === 0) return;
  const first = { repository: id, owner, version: known.descriptor.facts.version };
  // Another tab may have seen a newer one.
  await database.change("seen", id, (seen) => ((seen?.change?.number ?? 0) < end.number ? { ...first, ...seen, change: end } : null));
}

/** Whether the service has taken in the change of this number, which may take a moment. */
async function taken(site: Opened, number: number): Promise<boolean> {
  for (let waited = 0, pause = 250; ; waited += pause, pause = Math.min(2 * pause, 2_000)) {
    const view = await site.openView();
    const head = view.root?.change?.number ?? 0;
    view.free();
    if (head >= number) return true;
    if (waited > PATIENCE) return false;
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Snapshots to which it did not come. */
async function unchanged(books: Pick<Books, "snapshots">, wish: Wish | Decision): Promise<string[]> {
  if (!("do" in wish)) return [];
  const kept = new Map((await books.snapshots()).snapshots.map((snapshot) => [snapshot.id, snapshot]));
  const isDone = (id: string): boolean => {
    const snapshot = kept.get(id);
    switch (wish.do) {
      case "forget": return snapshot === undefined;
      case "undelete": return snapshot !== undefined;
      case "pin": return snapshot === undefined || snapshot.pinned;
      case "unpin": return snapshot === undefined || !snapshot.pinned;
      case "tag": return snapshot === undefined || (wish.add.every((tag) => snapshot.tags.includes(tag)) && !wish.remove.some((tag) => snapshot.tags.includes(tag)));
    }
  };
  return wish.snapshots.filter((id) => !isDone(id));
}

/** Changes that are followed behind the newest root's. */
const FAR = 10_000;
/** Other writers that are let go first. A server that shows ever more of them gets no more signatures. */
const WRITERS = 64;
/** Milliseconds that the service has to take a change in. */
const PATIENCE = 15_000;
