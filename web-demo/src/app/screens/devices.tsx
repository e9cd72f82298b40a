/** Devices: who saves into the repository, and what the owner decides about them. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Device, Session } from "../../core/api";
import type { App } from "../app";
import type { Question } from "../devices";
import { Asked, Bones } from "../parts/asked";
import { Field, FormDialog } from "../parts/form";
import { Icon } from "../parts/icon";
import { later } from "../parts/later";
import { Badge, Notice, ProblemNotice } from "../parts/notice";
import { say } from "../parts/say";
import { day, shown, when, within } from "../words";
import { devices as words } from "../../words/devices";
import { parts } from "../../words/parts";
import { shell } from "../../words/shell";

const Enrolling = later(() => import("./enrolling").then((part) => part.Enrolling));

export function Devices({ app, session }: { app: App; session: Session }) {
  const { devices } = app;
  const enrolls = useSignal(false);
  useEffect(() => { if (session.role === "full") void devices.load(); }, [devices]);
  return (
    <div class="page stack wide">
      <header class="page-head"><h1>{shell.screens.devices}</h1><p class="soft">{words.about}</p></header>
      {session.role === "full" && <div><button type="button" class="button" onClick={() => { enrolls.value = true; }}><Icon name="plus" size={18} />{words.add}</button></div>}
      {session.role !== "full" ? <Notice icon="lock" title={words.ownerOnly}><p class="soft">{words.ownerOnlyHow}</p></Notice>
        : <Asked asked={devices.list.value} waiting={<Bones says={words.reading} lines={3} />} retry={() => void devices.load()}>
            {(list) => <ul class="stack tight devices">{list.map((device) => <One key={device.client} app={app} device={device} />)}</ul>}
          </Asked>}
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
        <h2 class="wrap"><bdi class={name === null ? "code" : ""}>{shown(called)}</bdi> {isThis && <Badge tone="calm">{words.thisBrowser}</Badge>}</h2>
        <p class="small soft">{words.may[role ?? "unknown"]}</p>
        <p class="small soft">
          {last ? words.last(within(when(last.time, Date.now())), <bdi>{shown(last.source)}</bdi>, snapshots) : state === "invited" ? linkOf(device, Date.now()) : words.noBackup}
        </p>
      </div>
      <div class="device-state">
        {state === "revoked" && <Badge tone="bad">{since === null ? words.revoked : words.revokedOn(day(since, Date.now()))}</Badge>}
        {state === "joined" && since !== null && <Badge tone="good" icon="check">{words.since(day(since, Date.now()))}</Badge>}
        {state === "invited" && <Badge tone="warn" icon="clock">{since === null ? words.invited : words.invitedOn(day(since, Date.now()))}</Badge>}
        {state === "damaged" && <Badge tone="bad" icon="warning">{words.damaged}</Badge>}
        {(state === "joined" || state === "invited") && (
          <div class="row firm">
            {state === "joined" && <button type="button" class="button small" onClick={() => void app.devices.begin("rename", device)}>{words.rename}<span class="unseen"> {shown(called)}</span></button>}
            {!isThis && <button type="button" class="button small bad" onClick={() => void app.devices.begin("revoke", device)}>{words.revoke}<span class="unseen"> {shown(called)}</span></button>}
          </div>
        )}
      </div>
    </li>
  );
}

/** What became of the link of a device that has not joined. */
function linkOf({ expires }: Device, now: number): string {
  if (expires === null) return words.linkUnused;
  return now > expires ? words.linkExpired : words.linkWorks(within(when(expires, now)));
}

function Ask({ app, question }: { app: App; question: Question }) {
  const { about, device, good, isSigning, problem } = question;
  const { devices } = app;
  const name = useSignal(device.name ?? "");
  const called = shown(nameOf(device));
  const isReady = about === "revoke" ? good?.at === "here" : name.value.trim() !== "" && name.value.trim() !== device.name;
  const sign = async () => {
    if (isReady && await devices.sign(name.value.trim())) say(about === "rename" ? words.renamed : words.saidRevoked);
  };
  return (
    <FormDialog title={about === "rename" ? words.renameTitle(called) : words.revokeTitle(called)} close={() => devices.cancel()} submit={() => void sign()} isBusy={isSigning} isReady={isReady}
      isBad={about === "revoke"} act={isSigning ? parts.signing : about === "revoke" ? words.signRevoke : words.signRename}>
      {good === null ? (
        <Field label={words.newName} hint={words.newNameHint} required maxLength={80} defaultValue={device.name ?? ""} onInput={(event) => { name.value = event.currentTarget.value; }} />
      ) : (
        <>
          <p>{words.revokeMeans}</p>
          <Asked asked={good} waiting={<p class="small soft" role="status">{words.askingLast}</p>}>
            {(last) => last === null
              ? <p class="strong">{words.nothingAccepted}</p>
              : <div class="named"><p>{words.lastGood(<span class="strong">{words.step(last.number)}</span>, within(when(last.time, Date.now())))}</p><p class="code small">{last.hash}</p></div>}
          </Asked>
          <p class="small soft">{words.revokeKeeps}</p>
        </>
      )}
      {problem && <ProblemNotice problem={problem} />}
    </FormDialog>
  );
}

function nameOf({ name, client }: Device): string {
  return name ?? client.slice(0, 8);
}
