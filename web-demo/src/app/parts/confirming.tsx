/** Confirming: a dialog for something that needs the owner's passphrase again, asks for it first. The secret that it opens is there as
 * long as the dialog is. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Confirmed, Problem } from "../../core/api";
import { problemOf } from "../../core/problem";
import type { App } from "../app";
import { Dialog } from "./dialog";
import { ProblemNotice } from "./notice";
import { Spinner } from "./progress";
import { SecretField } from "./secret";
import { keys } from "../../words/keys";
import { parts } from "../../words/parts";

export function Confirming({ app, title, why, close, children }: {
  app: App;
  title: string;
  /** What the passphrase is asked for. */
  why: string;
  close: () => void;
  /** The dialog that comes then. */
  children: (confirmed: Confirmed) => ComponentChildren;
}) {
  const confirmed = useSignal<Confirmed | null>(null);
  const by = useSignal<"passphrase" | "recovery-code">("passphrase");
  const isAsking = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const field = useRef<HTMLInputElement>(null);
  const form = useId();
  const isShown = useRef(true);
  const hasAsked = useRef(false);
  const end = () => { if (hasAsked.current) void app.core.administer("end").catch(() => {}); };
  useEffect(() => () => { isShown.current = false; end(); }, []);
  useLayoutEffect(() => { if (confirmed.value === null && !isAsking.value) field.current?.focus(); }, [isAsking.value, by.value]);
  if (confirmed.value) return <>{children(confirmed.value)}</>;

  const words = keys.confirm;
  const isCode = by.value === "recovery-code";
  const confirm = async (event: Event) => {
    event.preventDefault();
    const typed = field.current?.value ?? "";
    if (isAsking.value) return;
    if (field.current) field.current.value = "";
    [isAsking.value, problem.value, hasAsked.current] = [true, null, true];
    try {
      const found = await app.core.administer("confirm", isCode ? { by: "recovery-code", code: typed } : { by: "passphrase", passphrase: typed });
      // A dialog that was closed meanwhile needs no secret.
      if (!isShown.current) return end();
      confirmed.value = found;
    } catch (thrown) {
      problem.value = problemOf(thrown);
    }
    isAsking.value = false;
  };
  return (
    <Dialog title={title} close={close}
      footer={<>
        <button type="button" class="button" onClick={close}>{parts.cancel}</button>
        <button type="submit" form={form} class="button main" disabled={isAsking.value}>{isAsking.value ? <Spinner label={words.checking} /> : words.proceed}</button>
      </>}>
      <form id={form} class="stack tight" onSubmit={(event) => void confirm(event)}>
        <p>{why}</p>
        <SecretField key={by.value} label={isCode ? words.byCode : words.byPassphrase} hold={field} disabled={isAsking.value} isWrong={problem.value !== null}
          autocomplete={isCode ? "off" : "current-password"} problem={`${form}-problem`} />
        <div id={`${form}-problem`}>{problem.value && <ProblemNotice problem={problem.value} />}</div>
        <div><button type="button" class="button plain small" disabled={isAsking.value} onClick={() => { by.value = isCode ? "passphrase" : "recovery-code"; problem.value = null; }}>{isCode ? words.usePassphrase : words.useCode}</button></div>
      </form>
    </Dialog>
  );
}
