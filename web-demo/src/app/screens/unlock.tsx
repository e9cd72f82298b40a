/** Unlocking: a passphrase, a recovery code, or the line that makes this browser a write-only device. What is typed goes from the field to the core, and the field is emptied. */

import { useSignal } from "@preact/signals";
import type { Ref, RefObject } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Problem } from "../../core/api";
import { problemOf } from "../../core/problem";
import { parts } from "../../words/parts";
import { unlock as words } from "../../words/unlock";
import type { App } from "../app";
import { Choice } from "../parts/choice";
import { Field } from "../parts/form";
import { Icon } from "../parts/icon";
import { Notice, ProblemNotice } from "../parts/notice";
import { Spinner } from "../parts/progress";
import { SecretField } from "../parts/secret";
import { moment } from "../words";
import { opensItself, type Stage } from "../stage";
import { GateHead, Languages } from "./start";

type Locked = Extract<Stage, { at: "locked" }>;
const WAYS = ["passphrase", "recovery-code", "enrollment"] as const;
type Way = (typeof WAYS)[number];

export function Unlock({ app, stage }: { app: App; stage: Locked }) {
  const { environment } = stage;
  const elsewise = useSignal(false);
  return (
    <main class="gate" id="content">
      <div class="gate-box">
        {environment.lastKnown ? <LastKnown app={app} stage={stage} time={environment.lastKnown.time} />
          : environment.hasEnrollmentLink
          ? <Join app={app} stage={stage} />
          : opensItself(environment) && !elsewise.value ? <Reopen app={app} stage={stage} elsewise={() => { app.staging.clearProblem(); elsewise.value = true; }} /> : <Enter app={app} stage={stage} />}
        {environment.server.state === "ready" && (
          <p class="faint small gate-foot">
            {words.repository(<span class="code">{environment.server.repository.id.slice(0, 8)}</span>, <span class="code">{environment.server.repository.owner.slice(0, 8)}</span>)}
          </p>
        )}
        <Languages app={app} />
      </div>
    </main>
  );
}

function Enter({ app, stage }: { app: App; stage: Locked }) {
  const { environment } = stage;
  const facts = environment.server.state === "ready" ? environment.server.repository : null;
  const opensHere = facts === null || facts.passphraseOpens || environment.device.role === "full";
  const way = useSignal<Way>(opensHere ? "passphrase" : "enrollment");
  const field = useRef<HTMLInputElement | HTMLTextAreaElement | null>(null);
  const hold = (element: HTMLInputElement | HTMLTextAreaElement | null) => { field.current = element; };
  const deviceName = useRef<HTMLInputElement>(null);
  const missing = useSignal(false);
  const isWrong = stage.problem !== null || missing.value;

  useLayoutEffect(() => field.current?.focus(), [way.value, stage.problem]);

  const submit = (event: Event) => {
    event.preventDefault();
    const input = field.current;
    if (!input) return;
    const typed = input.value;
    input.value = "";
    missing.value = typed === "";
    if (typed === "") return;
    if (way.value === "passphrase") void app.staging.unlock({ by: "passphrase", passphrase: typed });
    if (way.value === "recovery-code") void app.staging.unlock({ by: "recovery-code", code: typed });
    if (way.value === "enrollment") {
      const name = deviceName.current?.value.trim();
      void app.staging.unlock({ by: "enrollment", line: typed.trim(), ...(name ? { name } : {}) });
    }
  };
  const choose = (next: Way) => {
    if (field.current) field.current.value = "";
    way.value = next;
    missing.value = false;
    app.staging.clearProblem();
  };

  return (
    <>
      <GateHead title={words.title}><Why stage={stage} /></GateHead>
      <form class="stack" onSubmit={submit} autocomplete="on">
        <Choice<Way> label={words.how} value={way.value} change={choose} options={WAYS.map((value) => ({ value, words: words.ways[value] }))} />
        {!opensHere && way.value !== "enrollment" && (
          <Notice tone="warn" title={words.slotsClosed}>
            <p class="soft">{words.askToOpen}</p>
          </Notice>
        )}
        {way.value === "passphrase" && <Passphrase hold={hold} disabled={stage.opening} isWrong={isWrong} />}
        {way.value === "recovery-code" && (
          <SecretField id="secret" label={words.recoveryCode} hint={words.codeWasShown} hold={hold} disabled={stage.opening} isWrong={isWrong} autocomplete="off" problem="secret-problem" />
        )}
        {way.value === "enrollment" && (
          <>
            <div class="field" key="enrollment">
              <label for="secret">{words.lineOrLink}</label>
              <textarea ref={hold} id="secret" class="input" rows={3} autocomplete="off" autocapitalize="off" spellcheck={false} disabled={stage.opening}
                aria-invalid={isWrong || undefined} aria-describedby="secret-hint secret-problem" />
              <p class="hint" id="secret-hint">{words.linePrinted(<code>copal client add</code>)}</p>
            </div>
            <DeviceName input={deviceName} disabled={stage.opening} />
          </>
        )}
        <Wrong app={app} missing={missing.value && words.missing[way.value]} problem={stage.problem} />
        <button type="submit" class="button main large full" disabled={stage.opening}>
          {stage.opening ? <Spinner label={way.value === "enrollment" ? words.joining : words.unlocking} /> : way.value === "enrollment" ? words.join : words.unlock}
        </button>
        <p class="faint small center">{way.value === "enrollment" ? words.makerDecided : words.staysHere}</p>
      </form>
    </>
  );
}

function Join({ app, stage }: { app: App; stage: Locked }) {
  const name = useRef<HTMLInputElement>(null);
  const passphrase = useRef<HTMLInputElement>(null);
  const missing = useSignal(false);
  const full = stage.environment.enrollsAs === "full";
  const means = full ? words.joinFull : words.joinWriteOnly;
  const join = (event: Event) => {
    event.preventDefault();
    const given = name.current?.value.trim();
    const typed = passphrase.current?.value ?? "";
    if (passphrase.current) passphrase.current.value = "";
    missing.value = full && typed === "";
    if (missing.value) return passphrase.current?.focus();
    void app.staging.unlock({ by: "link", ...(given ? { name: given } : {}), ...(full ? { passphrase: typed } : {}) });
  };
  return (
    <>
      <GateHead title={means.title}><p class="soft">{means.means}</p></GateHead>
      <form class="stack" onSubmit={join}>
        <ul class="promises">
          <li><Icon name="check" size={18} />{means.can}</li>
          <li><Icon name="lock" size={18} />{means.cannot}</li>
          <li><Icon name="link" size={18} />{words.worksOnce}</li>
        </ul>
        {full && <Passphrase hold={passphrase} disabled={stage.opening} isWrong={Boolean(stage.problem) || missing.value} />}
        <DeviceName input={name} disabled={stage.opening} />
        <Wrong app={app} missing={missing.value && words.missing.passphrase} problem={stage.problem} />
        <button type="submit" class="button main large full" disabled={stage.opening}>{stage.opening ? <Spinner label={words.joining} /> : words.join}</button>
        <button type="button" class="button plain full" disabled={stage.opening} onClick={() => app.staging.dismissLink()}>{words.anotherWay}</button>
      </form>
    </>
  );
}

/** The server is away, and this browser keeps what it told last. */
function LastKnown({ app, stage, time }: { app: App; stage: Locked; time: number }) {
  const field = useRef<HTMLInputElement>(null);
  const asking = useSignal(false);
  const missing = useSignal(false);
  useLayoutEffect(() => field.current?.focus(), [stage.problem]);
  const open = (event: Event) => {
    event.preventDefault();
    const typed = field.current?.value ?? "";
    if (field.current) field.current.value = "";
    missing.value = typed === "";
    if (typed !== "") void app.staging.unlock({ by: "passphrase", passphrase: typed });
  };
  const again = async () => {
    asking.value = true;
    await app.staging.start();
    asking.value = false;
  };
  const { server } = stage.environment;
  const hasNetwork = server.state !== "unreachable" || server.problem.code !== "offline";
  return (
    <>
      <GateHead title={words.lastKnown.title}><p class="soft">{words.lastKnown.keeps(hasNetwork, moment(time))}</p></GateHead>
      <form class="stack" onSubmit={open}>
        <Passphrase hold={field} disabled={stage.opening} isWrong={Boolean(stage.problem) || missing.value} />
        <Wrong app={app} missing={missing.value && words.missing.passphrase} problem={stage.problem} />
        <button type="submit" class="button main large full" disabled={stage.opening}>{stage.opening ? <Spinner label={words.unlocking} /> : words.lastKnown.showList}</button>
        <button type="button" class="button plain full" disabled={stage.opening || asking.value} onClick={() => void again()}>{asking.value ? <Spinner label={words.asking} /> : words.askServer}</button>
      </form>
    </>
  );
}

/** The one field that a passphrase is typed into; its button shows what is typed. */
function Passphrase({ hold, disabled, isWrong }: { hold: Ref<HTMLInputElement>; disabled: boolean; isWrong: boolean }) {
  return <SecretField id="secret" name="passphrase" label={words.ways.passphrase} show={words.showPassphrase} hold={hold} disabled={disabled} isWrong={isWrong} autocomplete="current-password" problem="secret-problem" />;
}

function Wrong({ app, missing, problem }: { app: App; missing: string | false; problem: Problem | null }) {
  return (
    <div id="secret-problem">
      {missing && <p class="field-problem" role="alert">{missing}</p>}
      {problem && !missing && <UnlockProblem app={app} problem={problem} />}
    </div>
  );
}

function Reopen({ app, stage, elsewise }: { app: App; stage: Locked; elsewise: () => void }) {
  const isNone = stage.problem?.code === "device-revoked" || stage.problem?.code === "device-unknown";
  return (
    <>
      <GateHead title={stage.environment.device.name ?? words.thisDevice}><Why stage={stage} /></GateHead>
      <div class="stack">
        {stage.problem && <UnlockProblem app={app} problem={stage.problem} />}
        {!isNone && <p class="soft center">{words.mayAdd}</p>}
        <button type="button" class={isNone ? "button large full" : "button main large full"} disabled={stage.opening} onClick={() => void app.staging.unlock({ by: "device" })}>
          {stage.opening ? <Spinner label={words.opening} /> : isNone ? words.askAgain : words.open}
        </button>
        <button type="button" class="button plain full" disabled={stage.opening} onClick={elsewise}>{words.anotherWay}</button>
      </div>
    </>
  );
}

function DeviceName({ input, disabled }: { input: RefObject<HTMLInputElement | null>; disabled: boolean }) {
  return <Field hold={input} label={parts.nameOfThisDevice} hint={words.deviceHint} maxLength={80} placeholder={words.deviceExample} disabled={disabled} />;
}

function Why({ stage }: { stage: Locked }) {
  return stage.why === "fresh" ? null : <p class="soft">{words.locked[stage.why]}</p>;
}

function UnlockProblem({ app, problem }: { app: App; problem: Problem }) {
  const failed = useSignal<Problem | null>(null);
  const forget = async () => {
    try {
      await app.core.forgetDevice();
      location.reload();
    } catch (thrown) {
      failed.value = problemOf(thrown);
    }
  };
  return (
    <div class="stack tight">
      <ProblemNotice problem={failed.value ?? problem} />
      {GONE.has(problem.code) && (
        <>
          <p class="soft">{words.likeNew}</p>
          <button type="button" class="button full" onClick={() => void forget()}>{words.forgetDevice}</button>
        </>
      )}
    </div>
  );
}

/** What is said of a device that opens nothing any more. */
const GONE: ReadonlySet<Problem["code"]> = new Set(["device-revoked", "device-unknown"]);
