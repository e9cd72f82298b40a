/** Devices: the clients of the repository, and what the owner signs about them. */

import { signal } from "@preact/signals";
import type { Device, LastGood } from "../core/api";
import type { Asked } from "./asked";
import { Signing, type Unsigned } from "./signing";

interface About {
  about: "rename" | "revoke";
  device: Device;
  /** What a revocation names. */
  good: Asked<LastGood | null> | null;
}

export type Question = Unsigned<About>;

export class Devices extends Signing<About> {
  readonly list = signal<Asked<Device[]>>({ at: "asking" });

  async load(): Promise<void> {
    if (this.list.value.at === "failed") this.list.value = { at: "asking" };
    await this.hear(this.core.devices(), (asked) => { this.list.value = asked; });
  }

  async begin(about: About["about"], device: Device): Promise<void> {
    this.put({ about, device, good: about === "revoke" ? { at: "asking" } : null });
    if (about === "revoke") await this.hear(this.core.lastGood(device.client), (good) => this.add({ good }));
  }

  /** Signs what was asked, as it was shown; tells whether that was done. */
  async sign(name: string): Promise<boolean> {
    const question = this.question.value;
    if (!question) return false;
    const { about, device: { client }, good } = question;
    if (about === "revoke" && good?.at !== "here") return false;
    const isDone = await this.signOnce(() => (good?.at === "here" ? this.core.revokeDevice(client, good.value) : this.core.renameDevice(client, name)));
    if (isDone) await this.load();
    return isDone;
  }

  /** What a page that locks must let go of. */
  forget(): void {
    this.put(null);
    this.list.value = { at: "asking" };
  }
}
