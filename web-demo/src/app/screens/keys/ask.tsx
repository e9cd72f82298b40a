/** What an owner is asked when keys change: the passphrase again, then what is to be. */

import { useSignal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Confirmed, Key, NewKey, Problem } from "../../../core/api";
import { problemOf } from "../../../core/problem";
import type { App } from "../../app";
import { Confirming } from "../../parts/confirming";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Notice, ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { say } from "../../parts/say";
import { SecretField } from "../../parts/secret";
import { isNoted, lastGroup, weakness } from "../../passphrases";
import { day, stamp } from "../../words";

/** What is wanted of the keys. */
export type Wanted = { act: "passphrase" | "recovery-code"; replaces: Key | null } | { act: "remove"; about: Key };

interface Step {
  app: App;
  title: string;
  /** Ends it, done or not. */
  close: () => void;
}

export function AskKey({ app, wanted, close }: { app: App; wanted: Wanted } & Omit<Step, "title">) {
  const title = titleOf(wanted);
  const step = { app, title, close };
  const why = wanted.act === "remove" ? "This changes who can open the repository." : "This lets somebody open the repository, and everything in it.";
  return (
    <Confirming app={app} title={title} why={`${why} So it needs one of its keys again.`} close={close}>
      {(confirmed) =>
        wanted.act === "remove" ? <Remove {...step} about={wanted.about} confirmed={confirmed} />
        : wanted.act === "passphrase" ? <NewPassphrase {...step} replaces={wanted.replaces} />
        : <NewCode {...step} replaces={wanted.replaces} />}
    </Confirming>
  );
}

function titleOf(wanted: Wanted): string {
  if (wanted.act === "remove") return `Remove ${wanted.about.kind === null ? "a damaged key" : wanted.about.kind === "passphrase" ? "a passphrase" : wanted.about.kind === "recovery-code" ? "a recovery code" : "a key file"}?`;
  if (wanted.act === "passphrase") return wanted.replaces ? "Replace a passphrase" : "Add a passphrase";
  return wanted.replaces ? "Replace a recovery code" : "Make a recovery code";
}

/** Stores a new key; a failure is told where it was asked for. */
function useAdding({ app, close }: Step, replaces: Key | null) {
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const add = async (secret: NewKey) => {
    [isBusy.value, problem.value] = [true, null];
    try {
      await app.core.administer("addKey", secret, replaces?.slot ?? null);
      say(replaces ? "Replaced. The new key opens the repository." : "Added. The new key opens the repository.");
      close();
    } catch (thrown) {
      problem.value = problemOf(thrown);
      isBusy.value = false;
    }
  };
  return { isBusy, problem, add };
}

function NewPassphrase({ replaces, ...step }: Step & { replaces: Key | null }) {
  const { isBusy, problem, add } = useAdding(step, replaces);
  const [first, second] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const wrong = useSignal<string | null>(null);
  const weak = useSignal<string | null>(null);
  const form = useId();
  useLayoutEffect(() => first.current?.focus(), []);
  const store = (event: Event) => {
    event.preventDefault();
    const typed = first.current?.value ?? "";
    wrong.value = typed === "" ? "Enter the new passphrase." : typed !== second.current?.value ? "The two passphrases differ." : null;
    if (wrong.value !== null || isBusy.value) return;
    for (const field of [first, second]) if (field.current) field.current.value = "";
    weak.value = null;
    void add({ by: "passphrase", passphrase: typed });
  };
  return (
    <Dialog title={step.title} close={() => { if (!isBusy.value) step.close(); }}
      footer={<>
        <button type="button" class="button" disabled={isBusy.value} onClick={step.close}>Cancel</button>
        <button type="submit" form={form} class="button main" disabled={isBusy.value}>{isBusy.value ? <Spinner label="Storing and trying it…" /> : replaces ? "Replace" : "Add"}</button>
      </>}>
      <form id={form} class="stack tight" onSubmit={store}>
        <SecretField label="New passphrase" hint="Nobody can reset it. Write it down, or make a recovery code." hold={first} disabled={isBusy.value} isWrong={wrong.value !== null} autocomplete="new-password"
          problem={`${form}-problem`} heed={(text) => { weak.value = weakness(text); }} />
        {weak.value && <Notice tone="warn" title="Easy to guess"><p class="soft">{weak.value}</p></Notice>}
        <SecretField label="The same again" hold={second} disabled={isBusy.value} isWrong={wrong.value !== null} autocomplete="new-password" problem={`${form}-problem`} />
        <div id={`${form}-problem`}>
          {wrong.value && <p class="field-problem" role="alert">{wrong.value}</p>}
          {problem.value && <ProblemNotice problem={problem.value} />}
        </div>
        {replaces && <p class="small soft">The one of {day(replaces.created ?? 0, Date.now())} is removed once the new one has opened the repository. <Untaken /></p>}
      </form>
    </Dialog>
  );
}

function NewCode({ replaces, ...step }: Step & { replaces: Key | null }) {
  const { isBusy, problem, add } = useAdding(step, replaces);
  const code = useSignal<string | null>(null);
  const wrong = useSignal(false);
  const noted = useRef<HTMLInputElement>(null);
  const form = useId();
  useEffect(() => {
    void step.app.core.administer("draftRecoveryCode").then((made) => { code.value = made; }, (thrown) => { problem.value = problemOf(thrown); });
  }, []);
  const store = (event: Event) => {
    event.preventDefault();
    if (code.value === null || isBusy.value) return;
    wrong.value = !isNoted(noted.current?.value ?? "", lastGroup(code.value));
    if (wrong.value) return noted.current?.focus();
    void add({ by: "recovery-code", code: code.value });
  };
  return (
    <Dialog title={step.title} firm close={() => { if (!isBusy.value) step.close(); }}
      footer={<>
        <button type="button" class="button" disabled={isBusy.value} onClick={step.close}>Cancel</button>
        <button type="submit" form={form} class="button main" disabled={isBusy.value || code.value === null}>{isBusy.value ? <Spinner label="Storing and trying it…" /> : "I have noted it"}</button>
      </>}>
      <form id={form} class="stack tight" onSubmit={store}>
        <p>Write this down or print it, and keep it where a fire that takes your devices does not reach it. It is shown this once.</p>
        <div class="recovery-code on-paper">
          <p class="code">{code.value ?? "…"}</p>
          <p class="only-paper">Copal recovery code of {location.host}, made {stamp(Date.now())}. It opens every backup: keep it as you would keep a key.</p>
        </div>
        <div><button type="button" class="button small" disabled={code.value === null} onClick={() => print()}><Icon name="file" size={16} />Print</button></div>
        <SecretField label="Its last group, as you have noted it" hint="The code opens nothing until you have typed this." hold={noted} disabled={isBusy.value} isWrong={wrong.value} autocomplete="off" problem={`${form}-problem`} />
        <div id={`${form}-problem`}>
          {wrong.value && <p class="field-problem" role="alert">That is not its last group. Compare it with the code.</p>}
          {problem.value && <ProblemNotice problem={problem.value} />}
        </div>
        {replaces && <p class="small soft">The code of {day(replaces.created ?? 0, Date.now())} is removed once the new one has opened the repository. <Untaken /></p>}
      </form>
    </Dialog>
  );
}

function Remove({ about, confirmed, ...step }: Step & { about: Key; confirmed: Confirmed }) {
  const isBusy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const isIt = confirmed.slot === about.slot;
  const remove = async () => {
    [isBusy.value, problem.value] = [true, null];
    try {
      await step.app.core.administer("removeKey", about.slot);
      say("Removed.");
      step.close();
    } catch (thrown) {
      problem.value = problemOf(thrown);
      isBusy.value = false;
    }
  };
  return (
    <Dialog title={step.title} close={() => { if (!isBusy.value) step.close(); }}
      footer={<>
        <button type="button" class="button" disabled={isBusy.value} onClick={step.close}>Keep it</button>
        <button type="button" class="button bad" disabled={isBusy.value || isIt} onClick={() => void remove()}>{isBusy.value ? <Spinner label="Removing…" /> : "Remove"}</button>
      </>}>
      <div class="stack tight">
        {isIt ? (
          <Notice tone="warn" title="You have confirmed with this very key"><p class="soft">Confirm with another one to remove it: that proves that another one works. Or replace it.</p></Notice>
        ) : (
          <>
            <p>It opens the repository no more, and cannot be brought back. The key that you have confirmed with stays.</p>
            <p class="small soft"><Untaken /></p>
          </>
        )}
        {problem.value && <ProblemNotice problem={problem.value} />}
      </div>
    </Dialog>
  );
}

/** What no removal takes back. */
function Untaken() {
  return <>That takes back no knowledge: whoever had it may have copied the keys that it opened. If a stranger may have had it, only a new repository keeps new backups from them.</>;
}
