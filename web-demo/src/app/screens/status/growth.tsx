/** Growth: what each device has added, and what the repository costs. */

import type { Status } from "../../../core/api";
import { status as words } from "../../../words/status";
import type { App } from "../../app";
import { cost, type GrownDevice } from "../../growing";
import { SizeChart } from "../../parts/chart";
import { ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { shown, size } from "../../words";

export function Growth({ app, status }: { app: App; status: Status }) {
  const { growth } = words;
  const { growing } = app;
  const state = growing.state.value;
  const price = app.settings.value?.price ?? null;
  const stored = status.space?.storedBytes ?? 0;
  return (
    <section class="card padded stack">
      <div class="row ends">
        <div>
          <h2>{growth.title}</h2>
          <p class="small soft">{growth.about}</p>
        </div>
        {price !== null && stored > 0 && <p class="big-figure">{growth.cost(cost(stored, price))} <small>{growth.aMonth}</small></p>}
      </div>
      {price !== null && stored > 0 && <p class="small soft">{growth.costAbout(size(stored), price)}</p>}
      {state.at === "unasked" && <div class="row"><button type="button" class="button" onClick={() => void growing.ask()}>{growth.add}</button><p class="small soft">{growth.addAbout}</p></div>}
      {state.at === "asking" && (
        <div class="row" role="status">
          <Spinner label={state.progress && state.progress.total > 0 ? growth.stepsRead(state.progress.done, state.progress.total) : growth.adding} />
          <button type="button" class="button small" onClick={() => growing.stop()}>{growth.stop}</button>
        </div>
      )}
      {state.at === "failed" && <ProblemNotice problem={state.problem} retry={() => void growing.ask()} />}
      {state.at === "here" && state.devices.length === 0 && <p class="soft">{growth.nothing}</p>}
      {state.at === "here" && <div><button type="button" class="button small" onClick={() => void growing.ask()}>{growth.addAgain}</button></div>}
      {state.at === "here" && state.devices.map((device) => <Device key={device.client} device={device} price={price} />)}
    </section>
  );
}

function Device({ device, price }: { device: GrownDevice; price: number | null }) {
  const { growth } = words;
  const name = device.device === null ? growth.device(device.client.slice(0, 8)) : shown(device.device);
  return (
    <div class="grown">
      <div class="row ends">
        <h3><bdi>{name}</bdi></h3>
        <p><span class="strong">{size(device.bytes)}</span>{price !== null && <span class="small soft"> · {growth.costAtMost(cost(device.bytes, price))}</span>}</p>
      </div>
      {device.points.length > 1 && <SizeChart label={growth.chart(name)} points={device.points} height={120} />}
      <ul class="plain-list small">
        {device.series.map((one) => <li key={one.series}><span class="clip">{one.source === null ? <span class="faint">{growth.unnamed}</span> : <bdi>{shown(one.source)}</bdi>}</span><span>{size(one.bytes)}</span></li>)}
      </ul>
    </div>
  );
}
