/** Forms: a dialog that asks something, and a field of one line. */

import type { ComponentChildren, InputHTMLAttributes, Ref } from "preact";
import { useId } from "preact/hooks";
import { parts as words } from "../../words/parts";
import { Dialog } from "./dialog";

/** A form with two buttons below it: one cancels, one submits. */
export function FormDialog({ act, submit, children, isBusy = false, isReady = true, isBad = false, cancel = words.cancel, close, ...dialog }: {
  title: string;
  /** What the button that submits says. */
  act: ComponentChildren;
  submit: () => void;
  children: ComponentChildren;
  /** Neither button works, and the dialog stays. */
  isBusy?: boolean;
  isReady?: boolean;
  /** It takes something away: the button that submits is red. */
  isBad?: boolean;
  cancel?: string;
  close: () => void;
  broad?: boolean;
  firm?: boolean;
}) {
  const form = useId();
  return (
    <Dialog {...dialog} close={() => { if (!isBusy) close(); }}
      footer={<>
        <button type="button" class="button" disabled={isBusy} onClick={close}>{cancel}</button>
        <button type="submit" form={form} class={isBad ? "button bad" : "button main"} disabled={isBusy || !isReady}>{act}</button>
      </>}>
      <form id={form} class="stack tight" onSubmit={(event) => { event.preventDefault(); submit(); }}>{children}</form>
    </Dialog>
  );
}

export function Field({ label, hint, hold, ...input }: { label: string; hint?: ComponentChildren; hold?: Ref<HTMLInputElement> } & InputHTMLAttributes) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input ref={hold} id={id} class="input" type="text" autocomplete="off" aria-describedby={hint ? `${id}-hint` : undefined} {...input} />
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
    </div>
  );
}
