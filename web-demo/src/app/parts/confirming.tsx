/** Confirming: a dialog for something that needs the owner's passphrase again, asks for it first. The secret that it opens is there as
 * long as the dialog is. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Confirmed } from "../../core/api";
import type { App } from "../app";
import { useAct } from "./act";
import { FormDialog } from "./form";
import { ProblemNotice } from "./notice";
import { Spinner } from "./progress";
import { SecretField } from "./secret";
import { keys } from "../../words/keys";

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
  const { isBusy, problem, act } = useAct();
  const field = useRef<HTMLInputElement>(null);
  const form = useId();
  const isShown = useRef(true);
  const hasAsked = useRef(false);
  const end = () => { if (hasAsked.current) void app.core.administer("end").catch(() => {}); };
  useEffect(() => () => { isShown.current = false; end(); }, []);
  useLayoutEffect(() => { if (confirmed.value === null && !isBusy.value) field.current?.focus(); }, [isBusy.value, by.value]);
  if (confirmed.value) return <>{children(confirmed.value)}</>;

  const words = keys.confirm;
  const isCode = by.value === "recovery-code";
  const confirm = () => {
    const typed = field.current?.value ?? "";
    if (field.current) field.current.value = "";
    hasAsked.current = true;
    void act(async () => {
      const found = await app.core.administer("confirm", isCode ? { by: "recovery-code", code: typed } : { by: "passphrase", passphrase: typed });
      // A dialog that was closed meanwhile needs no secret.
      if (!isShown.current) return end();
      confirmed.value = found;
    });
  };
  return (
    <FormDialog title={title} close={close} submit={confirm} isReady={!isBusy.value} act={isBusy.value ? <Spinner label={words.checking} /> : words.proceed}>
      <p>{why}</p>
      <SecretField key={by.value} label={isCode ? words.byCode : words.byPassphrase} hold={field} disabled={isBusy.value} isWrong={problem.value !== null}
        autocomplete={isCode ? "off" : "current-password"} problem={`${form}-problem`} />
      <div id={`${form}-problem`}>{problem.value && <ProblemNotice problem={problem.value} />}</div>
      <div><button type="button" class="button plain small" disabled={isBusy.value} onClick={() => { by.value = isCode ? "passphrase" : "recovery-code"; problem.value = null; }}>{isCode ? words.usePassphrase : words.useCode}</button></div>
    </FormDialog>
  );
}
