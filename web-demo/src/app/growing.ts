/** Growing: what each device has added, once a person asks for it, and what that costs. */

import { signal } from "@preact/signals";
import type { Core, GrownSeries, Growth, GrowthProgress, Problem, Run } from "../core/api";
import { problemOf } from "../core/problem";

export type Grown =
  | { at: "unasked" }
  | { at: "asking"; progress: GrowthProgress | null }
  | { at: "here"; devices: GrownDevice[] }
  | { at: "failed"; problem: Problem };

/** A device with its series, the largest first. */
export interface GrownDevice {
  client: string;
  device: string | null;
  bytes: number;
  points: { time: number; bytes: number }[];
  series: GrownSeries[];
}

export class Growing {
  readonly state = signal<Grown>({ at: "unasked" });
  #run: Run<GrowthProgress, Growth> | null = null;
  #turn = 0;

  constructor(private readonly core: Core) {}

  async ask(): Promise<void> {
    if (this.state.value.at === "asking") return;
    const turn = ++this.#turn;
    this.state.value = { at: "asking", progress: null };
    try {
      const run = await this.core.growth();
      if (turn !== this.#turn) return run.cancel();
      this.#run = run;
      run.onProgress((progress) => { if (turn === this.#turn && this.state.value.at === "asking") this.state.value = { at: "asking", progress }; });
      const { series } = await run.done;
      if (turn === this.#turn) this.state.value = { at: "here", devices: byDevice(series) };
    } catch (thrown) {
      if (turn === this.#turn) this.state.value = { at: "failed", problem: problemOf(thrown) };
    }
  }

  stop(): void {
    this.forget();
  }

  /** What a page that locks must let go of. */
  forget(): void {
    this.#turn += 1;
    this.#run?.cancel();
    this.#run = null;
    this.state.value = { at: "unasked" };
  }
}

/** Series by their devices, the device that has added most first. */
export function byDevice(series: readonly GrownSeries[]): GrownDevice[] {
  const found = new Map<string, GrownSeries[]>();
  for (const one of series) found.set(one.client, [...(found.get(one.client) ?? []), one]);
  const devices = [...found].map(([client, own]): GrownDevice => ({
    client, device: own.find(({ device }) => device !== null)?.device ?? null, bytes: own.reduce((all, { bytes }) => all + bytes, 0), points: together(own), series: own,
  }));
  return devices.sort((a, b) => b.bytes - a.bytes);
}

/** The sum of several sizes over time. */
function together(series: readonly GrownSeries[]): { time: number; bytes: number }[] {
  const steps = series.flatMap(({ points }) => points.map(({ time, bytes }, i) => ({ time, more: bytes - (points[i - 1]?.bytes ?? 0) })));
  const days = new Map<number, number>();
  for (const { time, more } of steps) days.set(time, (days.get(time) ?? 0) + more);
  let bytes = 0;
  return [...days].sort(([a], [b]) => a - b).map(([time, more]) => ({ time, bytes: (bytes += more) }));
}

/** The dollars that so many bytes cost in a month. A GB of a price list has 2^30 bytes. */
export function cost(bytes: number, price: number): number {
  return (bytes / 2 ** 30) * price;
}
