//! Reading a share: what a link opens, asked for and opened piece by piece. Nothing here believes the server.

import { type ShareKeys, deriveKeys } from "./keys";
import { type ShareEntry, type ShareList, LIST_MOST, readList } from "./list";
import { PIECE, PIECES, SEALED, openAll, openPiece, piecesOf, sealedLength } from "./stream";

/** Why something of a share cannot be had. "gone": it stands no more, or never did. "altered": its bytes are not what was sealed. */
export type Why = "gone" | "altered" | "away" | "busy";

export class ShareError extends Error {
  constructor(readonly why: Why) {
    super(why);
  }
}

/** What the server gives for one of the openings. Without the key it opens nothing. */
export interface Ticket {
  ticket: string;
  /** When the share ends, and how often it may still be opened; seconds. */
  ends: number;
  left: number;
}

/** A share that was opened. */
export class OpenShare {
  /** The pieces that were opened last. */
  #window: { first: number; bytes: Uint8Array<ArrayBuffer> } | null = null;

  private constructor(
    private readonly keys: ShareKeys,
    private readonly fetching: Fetching,
    readonly list: ShareList,
    readonly ticket: Ticket,
  ) {}

  /** Opens a share. A ticket that was kept is tried first, so that nothing is counted twice. */
  static async open(key: Uint8Array<ArrayBuffer>, kept: TicketBox, signal: AbortSignal): Promise<OpenShare> {
    const keys = await deriveKeys(key);
    const before = kept.get(keys.id);
    if (before !== null) {
      try {
        return await OpenShare.#with(keys, before, signal);
      } catch (error) {
        if (!(error instanceof ShareError) || error.why !== "gone") throw error;
      }
    }
    const response = await asked(`/v1/shares/${keys.id}/openings`, { token: keys.token }, signal);
    const ticket = ticketIn(await response.json().catch(() => null));
    kept.put(keys.id, ticket);
    return OpenShare.#with(keys, ticket, signal);
  }

  static async #with(keys: ShareKeys, ticket: Ticket, signal: AbortSignal): Promise<OpenShare> {
    const fetching = new Fetching(keys.id, ticket.ticket);
    const sealed = await fetching.part(null, null, signal);
    if (sealed.length > LIST_MOST + SEALED) throw new ShareError("altered");
    const list = readList(await openAll(keys.list, sealed).catch(altered));
    if (list === null) throw new ShareError("altered");
    return new OpenShare(keys, fetching, list, ticket);
  }

  /** The bytes of a file, in order, each opened. `end` is how far it is worth reading ahead: what lies behind is read next. */
  async *bytes(entry: ShareEntry, end: number, signal: AbortSignal): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    const [offset, size] = [entry.offset ?? 0, entry.size ?? 0];
    for (let at = offset; at < offset + size; ) {
      const piece = Math.floor(at / PIECE);
      const window = await this.#open(piece, Math.max(end, offset + size), signal);
      const start = window.first * PIECE;
      const until = Math.min(offset + size, start + window.bytes.length);
      // The list says that there is more than the pieces hold.
      if (until <= at) throw new ShareError("altered");
      yield window.bytes.slice(at - start, until - start);
      at = until;
    }
  }

  async #open(piece: number, end: number, signal: AbortSignal): Promise<{ first: number; bytes: Uint8Array<ArrayBuffer> }> {
    const held = this.#window;
    if (held && piece >= held.first && piece < held.first + piecesOf(held.bytes.length)) return held;
    const { length } = this.list;
    const all = piecesOf(length);
    const object = Math.floor(piece / PIECES);
    const last = Math.min(piece + AHEAD, (object + 1) * PIECES, Math.min(all, piecesOf(end)));
    const within = (number: number) => (number - object * PIECES) * SEALED;
    const [from, to] = [within(piece), last === all ? sealedLength(length) - object * PIECES * SEALED : within(last)];
    const sealed = await this.fetching.part(object + 1, [from, to - 1], signal);
    if (sealed.length !== to - from) throw new ShareError("altered");
    const opened: Uint8Array<ArrayBuffer>[] = [];
    for (let number = piece; number < last; number++) {
      const start = (number - piece) * SEALED;
      opened.push(await openPiece(this.keys.content, number, number === all - 1, sealed.subarray(start, start + SEALED)).catch(altered));
    }
    const bytes = new Uint8Array(opened.reduce((sum, part) => sum + part.length, 0));
    opened.forEach((part, number) => bytes.set(part, number * PIECE));
    return (this.#window = { first: piece, bytes });
  }
}

/** Where tickets are kept for as long as the tab is there. */
export interface TicketBox {
  get(id: string): Ticket | null;
  put(id: string, ticket: Ticket): void;
}

/** Tickets in the tab's own storage. The key in the link is never there. */
export function ticketBox(storage: Pick<Storage, "getItem" | "setItem">): TicketBox {
  return {
    get: (id) => {
      try {
        return ticketIn(JSON.parse(storage.getItem(`copal share ${id}`) ?? "null"));
      } catch {
        return null;
      }
    },
    put: (id, ticket) => {
      try {
        storage.setItem(`copal share ${id}`, JSON.stringify(ticket));
      } catch {
        // Without it a page that is loaded anew counts once more.
      }
    },
  };
}

function ticketIn(said: unknown): Ticket {
  const { ticket, ends, left } = (said ?? {}) as Partial<Ticket>;
  if (typeof ticket !== "string" || !Number.isSafeInteger(ends) || !Number.isSafeInteger(left)) throw new ShareError("away");
  return { ticket, ends: ends!, left: left! };
}

/** Asks for sealed bytes, a few times if need be. */
class Fetching {
  constructor(
    private readonly id: string,
    private readonly ticket: string,
  ) {}

  async part(object: number | null, range: [number, number] | null, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    for (let tries = 1; ; tries++) {
      try {
        return await this.#once(object, range, signal);
      } catch (error) {
        const mayPass = error instanceof ShareError && (error.why === "away" || error.why === "busy");
        if (!mayPass || tries === TRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, 500 * 2 ** tries));
        signal.throwIfAborted();
      }
    }
  }

  async #once(object: number | null, range: [number, number] | null, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
    const response = await asked(`/v1/shares/${this.id}/parts`, { ticket: this.ticket, object, ...(range ? { range } : {}) }, signal);
    if (!response.headers.get("content-type")?.startsWith("application/json")) return bytesOf(response, signal);
    // The bucket gives the bytes itself.
    const { url, headers } = (await response.json()) as { url: string; headers: Record<string, string> };
    const given = Object.fromEntries(Object.entries(headers).filter(([name]) => name !== "host"));
    return bytesOf(await sent(url, { headers: given }, signal), signal);
  }
}

async function asked(path: string, body: object, signal: AbortSignal): Promise<Response> {
  return sent(path, { method: "POST", body: JSON.stringify(body), redirect: "error" }, signal);
}

async function sent(url: string, init: RequestInit, signal: AbortSignal): Promise<Response> {
  const whole: RequestInit = { ...init, signal, credentials: "omit", referrerPolicy: "no-referrer", cache: "no-store" };
  const response = await fetch(url, whole).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error instanceof TypeError ? new ShareError("away") : error;
  });
  if (response.ok && !response.headers.get("content-type")?.startsWith("text/html")) return response;
  if (response.headers.get("copal-problem") === "no-share") throw new ShareError("gone");
  // The server is there, and what it keeps of the share is not what the share is.
  if (response.status === 416 || response.headers.get("copal-problem") === "not-found") throw new ShareError("altered");
  throw new ShareError(response.status === 429 ? "busy" : "away");
}

async function bytesOf(response: Response, signal: AbortSignal): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await response.arrayBuffer().catch(() => {
    signal.throwIfAborted();
    throw new ShareError("away");
  });
  return new Uint8Array(bytes);
}

function altered(): never {
  throw new ShareError("altered");
}

/** Pieces that are asked for at once. */
const AHEAD = 4;
const TRIES = 5;
