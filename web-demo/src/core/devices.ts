//! Devices: what the display may know of the clients of a repository. The rules are those of api.ts.

/** A client of the repository. */
export interface Device {
  client: string;
  /** Null if nobody gave it one, or its record cannot be believed. */
  name: string | null;
  role: "full" | "write-only" | null;
  /** "invited": its enrollment was not used yet. "damaged": its record cannot be believed. */
  state: "joined" | "invited" | "revoked" | "damaged";
  /** When this state of it was signed. */
  since: number | null;
  /** Until when an invited one may join; null if that has no end. */
  expires: number | null;
  /** Its kept snapshots, and the newest of them. */
  snapshots: number;
  last: { time: number; source: string } | null;
  /** This browser. */
  isThis: boolean;
  /** Every version of its record can be believed. */
  isWhole: boolean;
}

/** The last step of a device's backups that the service has accepted: number and hash of its manifest. */
export interface LastGood { number: number; hash: string; time: number }
