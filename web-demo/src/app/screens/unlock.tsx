/** Unlocking: a passphrase, a recovery code, or the line that makes this browser a write-only device. What is typed goes from the field to the core, and the field is emptied. */

import { useSignal } from "@preact/signals";
import type { Ref, RefObject } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Problem } from "../../core/api";
import { problemOf } from "../../core/problem";
import type { App } from "../app";
import { Choice } from "../parts/choice";
import { Icon } from "../parts/icon";
import { Notice, ProblemNotice } from "../parts/notice";
import { Spinner } from "../parts/progress";
import { stamp } from "../words";
import { opensItself, type Stage } from "../stage";
import { GateHead } from "./start";

type Locked = Extract<Stage, { at: "locked" }>;
type Way = "passphrase" | "recovery-code" | "enrollment";

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
            Repository <span class="code">{environment.server.repository.id.slice(0, 8)}</span> · owner <span class="code">{environment.server.repository.owner.slice(0, 8)}</span>
          </p>
        )}
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
      <GateHead title="Unlock your backups"><Why stage={stage} /></GateHead>
      <form class="stack" onSubmit={submit} autocomplete="on">
        <Choice<Way> label="How to unlock" value={way.value} change={choose}
          options={[{ value: "passphrase", words: "Passphrase" }, { value: "recovery-code", words: "Recovery code" }, { value: "enrollment", words: "Enrollment" }]} />
        {!opensHere && way.value !== "enrollment" && (
          <Notice tone="warn" title="This server keeps its key slots closed">
            <p class="soft">A browser that was never here cannot unlock with a passphrase. Ask whoever runs the server to open them for a while, or use an enrollment.</p>
          </Notice>
        )}
        {way.value === "passphrase" && <Passphrase hold={hold} disabled={stage.opening} isWrong={Boolean(stage.problem) || missing.value} />}
        {way.value === "recovery-code" && (
          <div class="field" key="recovery-code">
            <label for="secret">Recovery code</label>
            <input ref={hold} id="secret" class="input code" type="text" autocomplete="off" autocapitalize="off" spellcheck={false} disabled={stage.opening}
              aria-invalid={stage.problem || missing.value ? true : undefined} aria-describedby="secret-hint secret-problem" />
            <p class="hint" id="secret-hint">It was shown once, when the repository was made.</p>
          </div>
        )}
        {way.value === "enrollment" && (
          <>
            <div class="field" key="enrollment">
              <label for="secret">Enrollment line or link</label>
              <textarea ref={hold} id="secret" class="input" rows={3} autocomplete="off" autocapitalize="off" spellcheck={false} disabled={stage.opening}
                aria-invalid={stage.problem || missing.value ? true : undefined} aria-describedby="secret-hint secret-problem" />
              <p class="hint" id="secret-hint">The line or link that <code>copal client add</code> printed. It works once.</p>
            </div>
            <DeviceName input={deviceName} disabled={stage.opening} />
          </>
        )}
        <div id="secret-problem">
          {missing.value && <p class="field-problem" role="alert">{way.value === "passphrase" ? "Enter the passphrase." : way.value === "recovery-code" ? "Enter the recovery code." : "Paste the enrollment line or link."}</p>}
          {stage.problem && !missing.value && <UnlockProblem app={app} problem={stage.problem} />}
        </div>
        <button type="submit" class="button main large full" disabled={stage.opening}>
          {stage.opening ? <Spinner label={way.value === "enrollment" ? "Joining…" : "Unlocking…"} /> : way.value === "enrollment" ? "Join" : "Unlock"}
        </button>
        <p class="faint small center">{way.value === "enrollment"
          ? "Whoever made the enrollment has decided what this browser may do."
          : "What you type stays in this browser: the server never sees it."}</p>
      </form>
    </>
  );
}

function Join({ app, stage }: { app: App; stage: Locked }) {
  const name = useRef<HTMLInputElement>(null);
  const passphrase = useRef<HTMLInputElement>(null);
  const missing = useSignal(false);
  const full = stage.environment.enrollsAs === "full";
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
      <GateHead title={full ? "Make this browser a full device" : "Back up from this browser"}>
        <p class="soft">{full
          ? "This enrollment, together with the passphrase, makes this browser a device of the repository's owner."
          : "This enrollment makes this browser a device that adds backups to the repository."}</p>
      </GateHead>
      <form class="stack" onSubmit={join}>
        {full ? (
          <ul class="promises">
            <li><Icon name="check" size={18} />It can back up, restore, and see everything.</li>
            <li><Icon name="lock" size={18} />It keeps nothing that opens the repository: the passphrase is asked for each time.</li>
            <li><Icon name="link" size={18} />The enrollment works once. It is already gone from the address bar.</li>
          </ul>
        ) : (
          <ul class="promises">
            <li><Icon name="check" size={18} />It can add backups, encrypted before they leave this browser.</li>
            <li><Icon name="lock" size={18} />It cannot read or delete any, its own included. Only the owner can.</li>
            <li><Icon name="link" size={18} />The enrollment works once. It is already gone from the address bar.</li>
          </ul>
        )}
        {full && <Passphrase hold={passphrase} disabled={stage.opening} isWrong={Boolean(stage.problem) || missing.value} />}
        <DeviceName input={name} disabled={stage.opening} />
        <div id="secret-problem">
          {missing.value && <p class="field-problem" role="alert">Enter the passphrase.</p>}
          {stage.problem && !missing.value && <UnlockProblem app={app} problem={stage.problem} />}
        </div>
        <button type="submit" class="button main large full" disabled={stage.opening}>{stage.opening ? <Spinner label="Joining…" /> : "Join"}</button>
        <button type="button" class="button plain full" disabled={stage.opening} onClick={() => app.staging.dismissLink()}>Unlock in another way</button>
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
  return (
    <>
      <GateHead title="Without the server"><p class="soft">{stage.environment.server.state === "unreachable" && stage.environment.server.problem.code === "offline" ? "There is no network." : "The backup server does not answer."} This browser keeps the list of snapshots as of {stamp(time)}.</p></GateHead>
      <form class="stack" onSubmit={open}>
        <Passphrase hold={field} disabled={stage.opening} isWrong={Boolean(stage.problem) || missing.value} />
        <div id="secret-problem">
          {missing.value && <p class="field-problem" role="alert">Enter the passphrase.</p>}
          {stage.problem && !missing.value && <ProblemNotice problem={stage.problem} />}
        </div>
        <button type="submit" class="button main large full" disabled={stage.opening}>{stage.opening ? <Spinner label="Unlocking…" /> : "Show the list"}</button>
        <button type="button" class="button plain full" disabled={stage.opening || asking.value} onClick={() => void again()}>{asking.value ? <Spinner label="Asking again…" /> : "Ask the server again"}</button>
      </form>
    </>
  );
}

/** The one field that a passphrase is typed into; its button shows what is typed. */
function Passphrase({ hold, disabled, isWrong }: { hold: Ref<HTMLInputElement>; disabled: boolean; isWrong: boolean }) {
  const visible = useSignal(false);
  useEffect(() => { if (disabled) visible.value = false; }, [disabled]);
  return (
    <div class="field">
      <label for="secret">Passphrase</label>
      <div class="with-button">
        <input ref={hold} id="secret" class="input" type={(visible.value ? "text" : "password") as "password"} name="passphrase" autocomplete="current-password" autocapitalize="off"
          spellcheck={false} aria-invalid={isWrong ? true : undefined} aria-describedby="secret-problem" disabled={disabled} />
        <button type="button" class="button icon" aria-pressed={visible.value} aria-label="Show the passphrase" onClick={() => { visible.value = !visible.value; }}>
          <Icon name={visible.value ? "eye-off" : "eye"} size={18} />
        </button>
      </div>
    </div>
  );
}

function Reopen({ app, stage, elsewise }: { app: App; stage: Locked; elsewise: () => void }) {
  const isNone = stage.problem?.code === "device-revoked" || stage.problem?.code === "device-unknown";
  return (
    <>
      <GateHead title={stage.environment.device.name ?? "This device"}><Why stage={stage} /></GateHead>
      <div class="stack">
        {stage.problem && <UnlockProblem app={app} problem={stage.problem} />}
        {!isNone && <p class="soft center">This browser may add backups, and needs no passphrase for that.</p>}
        <button type="button" class={isNone ? "button large full" : "button main large full"} disabled={stage.opening} onClick={() => void app.staging.unlock({ by: "device" })}>
          {stage.opening ? <Spinner label="Opening…" /> : isNone ? "Ask again" : "Open"}
        </button>
        <button type="button" class="button plain full" disabled={stage.opening} onClick={elsewise}>Unlock in another way</button>
      </div>
    </>
  );
}

function DeviceName({ input, disabled }: { input: RefObject<HTMLInputElement | null>; disabled: boolean }) {
  return (
    <div class="field">
      <label for="device-name">Name of this device</label>
      <input ref={input} id="device-name" class="input" type="text" autocomplete="off" maxLength={80} placeholder="Browser on my laptop" disabled={disabled} aria-describedby="device-hint" />
      <p class="hint" id="device-hint">So that you recognise its backups. You may leave it empty.</p>
    </div>
  );
}

function Why({ stage }: { stage: Locked }) {
  if (stage.why === "idle") return <p class="soft">Locked because nobody was here for a while. Nothing is lost.</p>;
  if (stage.why === "asked") return <p class="soft">Locked. The keys are gone from this page.</p>;
  if (stage.why === "failed") return <p class="soft">Locked because something went wrong. Nothing that is stored is affected.</p>;
  return null;
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
          <p class="soft">If this browser forgets that it was this device, it can be unlocked like one that was never here. No backup is lost.</p>
          <button type="button" class="button full" onClick={() => void forget()}>Forget this device</button>
        </>
      )}
    </div>
  );
}

/** What is said of a device that opens nothing any more. */
const GONE: ReadonlySet<Problem["code"]> = new Set(["device-revoked", "device-unknown"]);
