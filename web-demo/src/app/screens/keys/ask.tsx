/** What an owner is asked when keys change: the passphrase again, then what is to be. */

import { useSignal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Confirmed, Key, NewKey } from "../../../core/api";
import { problemOf } from "../../../core/problem";
import type { App } from "../../app";
import { useAct } from "../../parts/act";
import { Confirming } from "../../parts/confirming";
import { FormDialog } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { Notice, ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { say } from "../../parts/say";
import { SecretField } from "../../parts/secret";
import { isNoted, lastGroup, weakness } from "../../passphrases";
import { day, moment } from "../../words";
import { keys as words } from "../../../words/keys";

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
  return (
    <Confirming app={app} title={title} why={wanted.act === "remove" ? words.whyRemove : words.whyAdd} close={close}>
      {(confirmed) =>
        wanted.act === "remove" ? <Remove {...step} about={wanted.about} confirmed={confirmed} />
        : wanted.act === "passphrase" ? <NewPassphrase {...step} replaces={wanted.replaces} />
        : <NewCode {...step} replaces={wanted.replaces} />}
    </Confirming>
  );
}

function titleOf(wanted: Wanted): string {
  if (wanted.act === "remove") return words.removeTitle[wanted.about.kind ?? "damaged"];
  if (wanted.act === "passphrase") return wanted.replaces ? words.replacePassphrase : words.addPassphrase;
  return wanted.replaces ? words.replaceCode : words.makeCode;
}

/** Stores a new key; a failure is told where it was asked for. */
function useAdding({ app, close }: Step, replaces: Key | null) {
  const { isBusy, problem, act } = useAct();
  const add = (secret: NewKey) => act(async () => {
    await app.core.administer("addKey", secret, replaces?.slot ?? null);
    say(replaces ? words.replaced : words.added);
    close();
  });
  return { isBusy, problem, add };
}

function NewPassphrase({ replaces, ...step }: Step & { replaces: Key | null }) {
  const { isBusy, problem, add } = useAdding(step, replaces);
  const [first, second] = [useRef<HTMLInputElement>(null), useRef<HTMLInputElement>(null)];
  const wrong = useSignal<string | null>(null);
  const weak = useSignal<string | null>(null);
  const form = useId();
  useLayoutEffect(() => first.current?.focus(), []);
  const store = () => {
    const typed = first.current?.value ?? "";
    wrong.value = typed === "" ? words.enterNew : typed !== second.current?.value ? words.differ : null;
    if (wrong.value !== null || isBusy.value) return;
    for (const field of [first, second]) if (field.current) field.current.value = "";
    weak.value = null;
    void add({ by: "passphrase", passphrase: typed });
  };
  return (
    <FormDialog title={step.title} close={step.close} submit={store} isBusy={isBusy.value} act={isBusy.value ? <Spinner label={words.storing} /> : replaces ? words.replace : words.add}>
      <SecretField label={words.newPassphrase} hint={words.newPassphraseHint} hold={first} disabled={isBusy.value} isWrong={wrong.value !== null} autocomplete="new-password"
        problem={`${form}-problem`} heed={(text) => { weak.value = weakness(text); }} />
      {weak.value && <Notice tone="warn" title={words.easyToGuess}><p class="soft">{weak.value}</p></Notice>}
      <SecretField label={words.sameAgain} hold={second} disabled={isBusy.value} isWrong={wrong.value !== null} autocomplete="new-password" problem={`${form}-problem`} />
      <div id={`${form}-problem`}>
        {wrong.value && <p class="field-problem" role="alert">{wrong.value}</p>}
        {problem.value && <ProblemNotice problem={problem.value} />}
      </div>
      {replaces && <p class="small soft">{words.passphraseGoes(day(replaces.created ?? 0, Date.now()))} {words.untaken}</p>}
    </FormDialog>
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
  const store = () => {
    if (code.value === null || isBusy.value) return;
    wrong.value = !isNoted(noted.current?.value ?? "", lastGroup(code.value));
    if (wrong.value) return noted.current?.focus();
    void add({ by: "recovery-code", code: code.value });
  };
  return (
    <FormDialog title={step.title} firm close={step.close} submit={store} isBusy={isBusy.value} isReady={code.value !== null} act={isBusy.value ? <Spinner label={words.storing} /> : words.noted}>
      <p>{words.writeDown}</p>
      <div class="recovery-code on-paper">
        <p class="code">{code.value ?? "…"}</p>
        <p class="only-paper">{words.onPaper(location.host, moment(Date.now()))}</p>
      </div>
      <div><button type="button" class="button small" disabled={code.value === null} onClick={() => print()}><Icon name="file" size={16} />{words.print}</button></div>
      <SecretField label={words.lastGroup} hint={words.lastGroupHint} hold={noted} disabled={isBusy.value} isWrong={wrong.value} autocomplete="off" problem={`${form}-problem`} />
      <div id={`${form}-problem`}>
        {wrong.value && <p class="field-problem" role="alert">{words.notLastGroup}</p>}
        {problem.value && <ProblemNotice problem={problem.value} />}
      </div>
      {replaces && <p class="small soft">{words.codeGoes(day(replaces.created ?? 0, Date.now()))} {words.untaken}</p>}
    </FormDialog>
  );
}

function Remove({ about, confirmed, ...step }: Step & { about: Key; confirmed: Confirmed }) {
  const { isBusy, problem, act } = useAct();
  const isIt = confirmed.slot === about.slot;
  const remove = () => act(async () => {
    await step.app.core.administer("removeKey", about.slot);
    say(words.removed);
    step.close();
  });
  return (
    <FormDialog title={step.title} close={step.close} cancel={words.keep} submit={() => void remove()} isBusy={isBusy.value} isReady={!isIt} isBad
      act={isBusy.value ? <Spinner label={words.removing} /> : words.remove}>
      {isIt ? (
        <Notice tone="warn" title={words.thisVeryKey}><p class="soft">{words.thisVeryKeyWhy}</p></Notice>
      ) : (
        <>
          <p>{words.opensNoMore}</p>
          <p class="small soft">{words.untaken}</p>
        </>
      )}
      {problem.value && <ProblemNotice problem={problem.value} />}
    </FormDialog>
  );
}
