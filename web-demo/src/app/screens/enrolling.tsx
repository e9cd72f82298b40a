/** Enrolling: lets another device join, by a link and its QR code. Both are shown as long as the dialog is, and nowhere else. */

import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Invited } from "../../core/api";
import type { App } from "../app";
import { useAct } from "../parts/act";
import { Confirming } from "../parts/confirming";
import { Dialog } from "../parts/dialog";
import { Field, FormDialog } from "../parts/form";
import { Icon } from "../parts/icon";
import { Notice, ProblemNotice } from "../parts/notice";
import { Spinner } from "../parts/progress";
import { say } from "../parts/say";
import { Square } from "../parts/square";
import { shown, when, within } from "../words";
import { devices as words } from "../../words/devices";

type Role = "write-only" | "full";

const ROLES: readonly Role[] = ["write-only", "full"];

export function Enrolling({ app, close }: { app: App; close: () => void }) {
  const made = useSignal<{ name: string; role: Role; invited: Invited } | null>(null);
  const ended = () => { close(); if (made.value) void app.devices.load(); };
  return (
    <Confirming app={app} title={words.add} why={words.enroll.why} close={ended}>
      {() => made.value ? <Link {...made.value} close={ended} /> : <Invite app={app} close={ended} made={(name, role, invited) => { made.value = { name, role, invited }; }} />}
    </Confirming>
  );
}

function Invite({ app, close, made }: { app: App; close: () => void; made: (name: string, role: Role, invited: Invited) => void }) {
  const role = useSignal<Role>("write-only");
  const { isBusy, problem, act } = useAct();
  const [name, days] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const group = useId();
  useLayoutEffect(() => name.current?.focus(), []);
  const invite = () => {
    const called = name.current?.value.trim() ?? "";
    if (called !== "") void act(async () => made(called, role.value, await app.core.administer("invite", { name: called, role: role.value, days: Number(days.current?.value) })));
  };
  return (
    <FormDialog title={words.add} close={close} submit={invite} isBusy={isBusy.value} act={isBusy.value ? <Spinner label={words.enroll.making} /> : words.enroll.make}>
      <Field label={words.enroll.name} hold={name} required maxLength={80} placeholder={words.enroll.example} disabled={isBusy.value} />
      <fieldset class="options">
        <legend class="unseen">{words.enroll.mayDo}</legend>
        {ROLES.map((one) => (
          <label key={one}>
            <input type="radio" name={group} checked={role.value === one} disabled={isBusy.value} onChange={() => { role.value = one; }} />
            <span><span class="strong">{words.enroll.roles[one]}</span><span class="small soft">{words.enroll.may[one]}</span></span>
          </label>
        ))}
      </fieldset>
      <Field label={words.enroll.days} hold={days} class="input narrow" type="number" required min={1} max={90} step={1} defaultValue="7" disabled={isBusy.value} />
      {problem.value && <ProblemNotice problem={problem.value} />}
    </FormDialog>
  );
}

function Link({ name, role, invited, close }: { name: string; role: Role; invited: Invited; close: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const copied = useSignal<"yes" | "no" | null>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(invited.link);
      copied.value = "yes";
      say(words.enroll.saidCopied);
    } catch {
      copied.value = "no";
      field.current?.select();
    }
  };
  // It does not close by a click beside it: the link is never shown again.
  return (
    <Dialog title={words.enroll.letJoin(shown(name))} firm close={() => undefined}
      footer={<>
        <button type="button" class="button" onClick={() => void copy()}><Icon name={copied.value === "yes" ? "check" : "link"} size={18} />{copied.value === "yes" ? words.enroll.copied : words.enroll.copy}</button>
        <button type="button" class="button main" autofocus onClick={close}>{words.enroll.done}</button>
      </>}>
      <div class="stack tight">
        <p>{words.enroll.scan(within(when(invited.expires, Date.now())))}</p>
        <Square picture={invited.picture} label={words.enroll.square} />
        <div class="field">
          <label for="join-link">{words.enroll.link}</label>
          <textarea ref={field} id="join-link" class="input" rows={3} readOnly value={invited.link} onFocus={(event) => event.currentTarget.select()} />
          <p class="hint">{words.enroll.noBrowser(<code>copal client join</code>)}</p>
          {copied.value === "no" && <p class="hint" role="alert">{words.enroll.notCopied}</p>}
        </div>
        <p class="small soft"><span class="strong">{words.enroll.roles[role]}.</span> {words.enroll.may[role]}</p>
        <Notice tone="warn" title={words.enroll.firstJoins}><p class="soft">{words.enroll.firstJoinsHow}</p></Notice>
      </div>
    </Dialog>
  );
}
