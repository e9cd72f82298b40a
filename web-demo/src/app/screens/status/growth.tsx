/** Growth: what each device has added, and what the repository costs. */

import type { Status } from "../../../core/api";
import type { App } from "../../app";
import { cost, type GrownDevice } from "../../growing";
import { SizeChart } from "../../parts/chart";
import { ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { count, shown, size } from "../../words";

export function Growth({ app, status }: { app: App; status: Status }) {
  const { growing } = app;
  const state = growing.state.value;
  const price = app.settings.value?.price ?? null;
  const stored = status.space?.storedBytes ?? 0;
  return (
    <section class="card padded stack">
      <div class="row ends">
        <div>
          <h2>What each device has added</h2>
          <p class="small soft">What several devices have counts for the one that stored it first. What was freed since is not taken off.</p>
        </div>
        {price !== null && stored > 0 && <p class="big-figure">{cost(stored, price)} <small>a month</small></p>}
      </div>
      {price !== null && stored > 0 && <p class="small soft">{size(stored)} are stored now, at ${price} for a GB and month. Requests and transfers cost extra, where they are charged. Change the price in Settings.</p>}
      {state.at === "unasked" && <div class="row"><button type="button" class="button" onClick={() => void growing.ask()}>Add it up</button><p class="small soft">The first time this reads one small record for each backup step.</p></div>}
      {state.at === "asking" && (
        <div class="row" role="status">
          <Spinner label={state.progress && state.progress.total > 0 ? `${count(state.progress.done)} of ${count(state.progress.total)} steps read…` : "Adding up…"} />
          <button type="button" class="button small" onClick={() => growing.stop()}>Stop</button>
        </div>
      )}
      {state.at === "failed" && <ProblemNotice problem={state.problem} retry={() => void growing.ask()} />}
      {state.at === "here" && state.devices.length === 0 && <p class="soft">Nothing yet.</p>}
      {state.at === "here" && <div><button type="button" class="button small" onClick={() => void growing.ask()}>Add it up again</button></div>}
      {state.at === "here" && state.devices.map((device) => <Device key={device.client} device={device} price={price} />)}
    </section>
  );
}

function most(bytes: number, price: number): string {
  const words = cost(bytes, price);
  return words.startsWith("$") ? `up to ${words}` : words;
}

function Device({ device, price }: { device: GrownDevice; price: number | null }) {
  const name = device.device === null ? `Device ${device.client.slice(0, 8)}` : shown(device.device);
  return (
    <div class="grown">
      <div class="row ends">
        <h3><bdi>{name}</bdi></h3>
        <p><span class="strong">{size(device.bytes)}</span>{price !== null && <span class="small soft"> · {most(device.bytes, price)} a month</span>}</p>
      </div>
      {device.points.length > 1 && <SizeChart label={`What ${name} has added`} points={device.points} height={120} />}
      <ul class="plain-list small">
        {device.series.map((one) => <li key={one.series}><span class="clip">{one.source === null ? <span class="faint">A series without a kept snapshot</span> : <bdi>{shown(one.source)}</bdi>}</span><span>{size(one.bytes)}</span></li>)}
      </ul>
    </div>
  );
}
