//! Inviting: lets another device join, as `copal client add` does.

import type { Invitation, Invited } from "../administration";
import { isSame } from "../bytes";
import { known } from "../coordinator/devices";
import { brief } from "../gateway/client";
import { stored } from "../gateway/stored";
import { failure } from "../problem";
import { type Desk, current } from "./confirmed";
import { asked } from "./refusal";

export const inviting = {
  async invite(desk: Desk, { name, role, days }: Invitation): Promise<Invited> {
    const { owner, descriptor, gateway } = current(desk);
    const now = Number((await gateway.time(brief())) / 1_000_000n);
    if (!(days > 0 && days <= 90)) throw failure("invitation-malformed");
    const isOver = (revoked: number | null, expires: number | null) => revoked !== null || (expires !== null && now > expires);
    const others = await known(desk.site);
    if (others.some((other) => other?.name === name && !isOver(other.revoked, other.expires))) throw failure("invitation-name-taken", name);
    const random = crypto.getRandomValues(new Uint8Array(64));
    const waiting = asked(() => owner.invite(descriptor, { name, role, now, expires: now + days * DAY, page: location.origin }, random));
    random.fill(0);
    const { keys, bytes } = waiting.record;
    const record = bytes as Uint8Array<ArrayBuffer>;
    // An earlier try may have stored it, and its answer was lost.
    const there = await stored(gateway, brief(), keys[0]!, record);
    if (!there || !isSame(there, record)) throw failure("server-failed");
    // It counts with one copy already; a check misses the other one.
    await gateway.create(brief(), keys[1]!, record).catch(() => false);
    const { client, line, link, expires, picture } = waiting;
    return { client, line, link, expires, picture };
  },
};

const DAY = 86_400_000;
