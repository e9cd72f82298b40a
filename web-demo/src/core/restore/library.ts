//! Library: reads the newest state, and from it the snapshots whose manifests count.

import { clients } from "../coordinator/devices";
import { type Opened, fetchAll, records } from "../coordinator/opened";
import { Library, type View } from "../engine";
import { brief } from "../gateway/client";
import { failure } from "../problem";

/** Reads a library of the newest state. `changes` keeps, from one to the next, what changes say of names of tags. */
export async function readLibrary(opened: Opened, listsForgotten: boolean, changes: Map<string, Uint8Array>): Promise<[Library, View]> {
  if (!opened.owner) throw failure("not-permitted");
  const view = await opened.openView();
  const library = new Library(opened.owner, opened.known.descriptor, view);
  if (listsForgotten) library.listForgotten();
  const { gateway } = opened;
  for (let clients = library.neededClients(); clients.length > 0; clients = library.neededClients()) {
    await fetchAll(clients, async (client) => library.supplyClient(client, await records(gateway, client)));
  }
  for (let keys = library.neededManifests(); keys.length > 0; keys = library.neededManifests()) {
    await fetchAll(keys, async (key) => library.supplyManifest(key, (await gateway.read(brief(), key))!));
  }
  if (library.needsTags) await nameTags(opened, library, changes);
  return [library, view];
}

/** Has a library know all devices, those that have saved nothing yet too. */
export async function supplyClients({ gateway }: Opened, library: Library): Promise<void> {
  await fetchAll(await clients(gateway), async (client) => library.supplyClient(client, await records(gateway, client)));
}

/** Names of tags that were added later are in the changes, each of which is read once; of those without such names nothing is kept. */
export async function nameTags({ gateway }: Opened, library: Library, changes: Map<string, Uint8Array>): Promise<void> {
  const listed = await gateway.list(brief(), "changes/");
  await fetchAll(listed, async ({ key }) => {
    const bytes = changes.get(key) ?? (await gateway.read(brief(), key)) ?? NOTHING;
    changes.set(key, library.supplyChange(key, bytes) ? bytes : NOTHING);
  });
}

const NOTHING = new Uint8Array();
