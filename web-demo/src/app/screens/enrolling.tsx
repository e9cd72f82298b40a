/** Enrolling: lets another device join, by a link and its QR code. Both are shown as long as the dialog is, and nowhere else. */

import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Invited, Problem } from "../../core/api";
import { problemOf } from "../../core/problem";
import type { App } from "../app";
import { Confirming } from "../parts/confirming";
import { Dialog } from "../parts/dialog";
import { Icon } from "../parts/icon";
import { Notice, ProblemNotice } from "../parts/notice";
import { Spinner } from "../parts/progress";
import { say } from "../parts/say";
import { Square } from "../parts/square";
import { shown, when, within } from "../words";

type Role = "write-only" | "full";

const ROLES: Record<Role, { words: string; may: string }> = {
  "write-only": { words: "Write-only", may: "It adds backups. It reads none and deletes none, its own included, and needs no passphrase." },
  full: { words: "Full", may: "It backs up, restores and changes snapshots, together with a passphrase: it sees everything." },
};

export function Enrolling({ app, close }: { app: App; close: () => void }) {
  const made = useSignal<{ name: string; role: Role; invited: Invited } | null>(null);
  const ended = () => { close(); if (made.value) void app.devices.load(); };
  return (
    <Confirming app={app} title="Add a device" why="Whoever has the link that is made can add backups, or more. So it needs one of the repository's keys again." close={ended}>
      {() => made.value ? <Link {...made.value} close={ended} /> : <Invite app={app} close={ended} made={(name, role, invited) => { made.value = { name, role, invited }; }} />}
    </Confirming>
  );
}

function Invite({ app, close, made }: { app: App; close: () => void; made: (name: string, role: Role, invited: Invited) => void }) {
  const role = useSignal<Role>("write-only");
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const [name, days] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const form = useId();
  useLayoutEffect(() => name.current?.focus(), []);
  const invite = async (event: Event) => {
    event.preventDefault();
    const called = name.current?.value.trim() ?? "";
    if (isBusy.value || called === "") return;
    [isBusy.value, problem.value] = [true, null];
    try {
      made(called, role.value, await app.core.administer("invite", { name: called, role: role.value, days: Number(days.current?.value) }));
    } catch (thrown) {
      problem.value = problemOf(thrown);
      isBusy.value = false;
    }
  };
  return (
    <Dialog title="Add a device" close={() => { if (!isBusy.value) close(); }}
      footer={<>
        <button type="button" class="button" disabled={isBusy.value} onClick={close}>Cancel</button>
        <button type="submit" form={form} class="button main" disabled={isBusy.value}>{isBusy.value ? <Spinner label="Making the link…" /> : "Make the link"}</button>
      </>}>
      <form id={form} class="stack tight" onSubmit={(event) => void invite(event)}>
        <div class="field">
          <label for={`${form}-name`}>Name</label>
          <input ref={name} id={`${form}-name`} class="input" type="text" required maxLength={80} autocomplete="off" placeholder="Ben's phone" disabled={isBusy.value} />
        </div>
        <fieldset class="options">
          <legend class="unseen">What it may do</legend>
          {(Object.keys(ROLES) as Role[]).map((one) => (
            <label key={one}>
              <input type="radio" name={`${form}-role`} checked={role.value === one} disabled={isBusy.value} onChange={() => { role.value = one; }} />
              <span><span class="strong">{ROLES[one].words}</span><span class="small soft">{ROLES[one].may}</span></span>
            </label>
          ))}
        </fieldset>
        <div class="field">
          <label for={`${form}-days`}>Days that the link works</label>
          <input ref={days} id={`${form}-days`} class="input narrow" type="number" required min={1} max={90} step={1} defaultValue="7" disabled={isBusy.value} />
        </div>
        {problem.value && <ProblemNotice problem={problem.value} />}
      </form>
    </Dialog>
  );
}

function Link({ name, role, invited, close }: { name: string; role: Role; invited: Invited; close: () => void }) {
  const field = useRef<HTMLTextAreaElement>(null);
  const copied = useSignal<"yes" | "no" | null>(null);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(invited.link);
      copied.value = "yes";
      say("Copied.");
    } catch {
      copied.value = "no";
      field.current?.select();
    }
  };
  // It does not close by a click beside it: the link is never shown again.
  return (
    <Dialog title={`Let ${shown(name)} join`} firm close={() => undefined}
      footer={<>
        <button type="button" class="button" onClick={() => void copy()}><Icon name={copied.value === "yes" ? "check" : "link"} size={18} />{copied.value === "yes" ? "Copied" : "Copy"}</button>
        <button type="button" class="button main" autofocus onClick={close}>Done</button>
      </>}>
      <div class="stack tight">
        <p>Scan this with the device, or open the link there. It works once, until {within(when(invited.expires, Date.now()))}.</p>
        <Square picture={invited.picture} label="QR code of the link" />
        <div class="field">
          <label for="join-link">Link</label>
          <textarea ref={field} id="join-link" class="input" rows={3} readOnly value={invited.link} onFocus={(event) => event.currentTarget.select()} />
          <p class="hint">On a machine without a browser, <code>copal client join</code> takes it.</p>
          {copied.value === "no" && <p class="hint" role="alert">This browser does not let the page copy it. It is selected: copy it yourself.</p>}
        </div>
        <p class="small soft"><span class="strong">{ROLES[role].words}.</span> {ROLES[role].may}</p>
        <Notice tone="warn" title="Whoever opens it first joins"><p class="soft">Send it by a way that nobody else reads. It is not shown again: if it is lost, revoke the device and add it anew.</p></Notice>
      </div>
    </Dialog>
  );
}
