/** Devices: who saves into the repository, and what the owner decides about them. */

import { useSignal } from "@preact/signals";
import { useEffect, useId } from "preact/hooks";
import type { Device, Session } from "../../core/api";
import type { App } from "../app";
import type { Question } from "../devices";
import { Dialog } from "../parts/dialog";
import { Icon } from "../parts/icon";
import { later } from "../parts/later";
import { Badge, Notice, ProblemNotice } from "../parts/notice";
import { counted, day, shown, when, within } from "../words";

const Enrolling = later(() => import("./enrolling").then((part) => part.Enrolling));

export function Devices({ app, session }: { app: App; session: Session }) {
  const { devices } = app;
  const asked = devices.list.value;
  const enrolls = useSignal(false);
  useEffect(() => { if (session.role === "full") void devices.load(); }, [devices]);
  return (
    <div class="page stack wide">
      <header class="page-head"><h1>Devices</h1><p class="soft">Everything that saves into this repository.</p></header>
      {session.role === "full" && <div><button type="button" class="button" onClick={() => { enrolls.value = true; }}><Icon name="plus" size={18} />Add a device</button></div>}
      {session.role !== "full" ? <Notice icon="lock" title="Only the owner sees the devices"><p class="soft">Unlock with the passphrase to see them.</p></Notice>
        : asked.at === "asking" ? <div class="rows-bones" role="status"><span class="unseen">Reading the devices</span>{[0, 1, 2].map((i) => <div key={i} class="bone" />)}</div>
        : asked.at === "failed" ? <ProblemNotice problem={asked.problem} retry={() => void devices.load()} />
        : <ul class="stack tight devices">{asked.value.map((device) => <One key={device.client} app={app} device={device} />)}</ul>}
      {enrolls.value && <Enrolling app={app} close={() => { enrolls.value = false; }} />}
      {devices.question.value && <Ask app={app} question={devices.question.value} />}
    </div>
  );
}

function One({ app, device }: { app: App; device: Device }) {
  const { name, role, state, since, last, snapshots, isThis } = device;
  const called = nameOf(device);
  return (
    <li class="card padded device">
      <Icon name="device" size={24} />
      <div class="grow">
        <h2 class="wrap"><bdi class={name === null ? "code" : ""}>{shown(called)}</bdi> {isThis && <Badge tone="calm">This browser</Badge>}</h2>
        <p class="small soft">
          {role === "full" ? "Full: backs up, restores, changes snapshots" : role === "write-only" ? "Write-only: adds backups, reads none" : "Its record cannot be believed: run “copal check”"}
        </p>
        <p class="small soft">
          {last ? <>Last backup {within(when(last.time, Date.now()))}: <bdi>{shown(last.source)}</bdi> · {counted(snapshots, "snapshot")} kept</> : state === "invited" ? linkOf(device, Date.now()) : "No backup of it is kept"}
        </p>
      </div>
      <div class="device-state">
        {state === "revoked" && <Badge tone="bad">Revoked{since === null ? "" : ` ${day(since, Date.now())}`}</Badge>}
        {state === "joined" && since !== null && <Badge tone="good" icon="check">Since {day(since, Date.now())}</Badge>}
        {state === "invited" && <Badge tone="warn" icon="clock">Invited{since === null ? "" : ` ${day(since, Date.now())}`}</Badge>}
        {state === "damaged" && <Badge tone="bad" icon="warning">Damaged</Badge>}
        {(state === "joined" || state === "invited") && (
          <div class="row firm">
            {state === "joined" && <button type="button" class="button small" onClick={() => void app.devices.begin("rename", device)}>Rename<span class="unseen"> {shown(called)}</span></button>}
            {!isThis && <button type="button" class="button small bad" onClick={() => void app.devices.begin("revoke", device)}>Revoke<span class="unseen"> {shown(called)}</span></button>}
          </div>
        )}
      </div>
    </li>
  );
}

/** What became of the link of a device that has not joined. */
function linkOf({ expires }: Device, now: number): string {
  if (expires === null) return "Its link was not used yet";
  return now > expires ? "Its link has expired: invite it anew" : `Its link was not used yet, and works until ${within(when(expires, now))}`;
}

function Ask({ app, question }: { app: App; question: Question }) {
  const { about, device, good, isSigning, problem } = question;
  const { devices } = app;
  const name = useSignal(device.name ?? "");
  const field = useId();
  const called = shown(nameOf(device));
  const isReady = about === "revoke" ? good?.at === "here" : name.value.trim() !== "" && name.value.trim() !== device.name;
  const sign = (event: Event) => {
    event.preventDefault();
    if (isReady) void devices.sign(name.value.trim());
  };
  return (
    <Dialog title={about === "rename" ? `Rename ${called}` : `Revoke ${called}?`} close={() => devices.cancel()}
      footer={<>
        <button type="button" class="button" disabled={isSigning} onClick={() => devices.cancel()}>Cancel</button>
        <button type="submit" form={field} class={about === "revoke" ? "button bad" : "button main"} disabled={isSigning || !isReady}>{isSigning ? "Signing…" : about === "revoke" ? "Sign and revoke" : "Sign and rename"}</button>
      </>}>
      <form id={field} class="stack tight" onSubmit={sign}>
        {about === "rename" ? (
          <div class="field">
            <label for={`${field}-name`}>New name</label>
            <input id={`${field}-name`} class="input" type="text" required maxLength={80} autocomplete="off" defaultValue={device.name ?? ""} aria-describedby={`${field}-hint`} onInput={(event) => { name.value = event.currentTarget.value; }} />
            <p class="hint" id={`${field}-hint`}>The lists of all devices show it. Its backups and series stay what they are.</p>
          </div>
        ) : (
          <>
            <p>It can neither save nor read through a server from then on, and nothing that it signs counts any more. What it saved before stays.</p>
            {good?.at === "asking" && <p class="small soft" role="status">Asking what the service has accepted of it…</p>}
            {good?.at === "failed" && <ProblemNotice problem={good.problem} />}
            {good?.at === "here" && (good.value === null
              ? <p class="strong">Nothing that it has saved was accepted: nothing of it will count.</p>
              : <div class="named"><p>The last that counts: <span class="strong">Backup step {good.value.number}</span>, accepted {when(good.value.time, Date.now()).replace(/^[TY]/, (letter) => letter.toLowerCase())}</p><p class="code small">{good.value.hash}</p></div>)}
            <p class="small soft">Whoever has its keys keeps what they know: a revocation takes back no knowledge. It cannot be undone; the device can be enrolled anew.</p>
          </>
        )}
        {problem && <ProblemNotice problem={problem} />}
      </form>
    </Dialog>
  );
}

function nameOf({ name, client }: Device): string {
  return name ?? client.slice(0, 8);
}
