/** A key slot of which there is a copy. `kind` and `created` are null where no copy is whole. */
export interface KeySlotFacts {
  slot: string; kind: "passphrase" | "recovery-code" | "key-file" | null; created: number | null;
  /** Its copies that are not whole. */ faults: { key: string; why: "missing" | "damaged" }[];
}
/** Whom to let in: times in milliseconds by the store's clock; `page` is the gateway's origin. */
export interface Wanted { name: string; role: "full" | "write-only"; now: number; expires: number; page: string }
/** A device that waits to join. `picture`: the QR code of the link, row by row, 1 is dark. */
export interface Waiting {
  client: string; record: NextRecord; line: string; link: string; expires: number; picture: { width: number; dark: Uint8Array<ArrayBuffer> };
}
