/** A field for a secret: nothing else of the page ever holds what is typed, and a button shows it. */

import { useSignal } from "@preact/signals";
import type { Ref } from "preact";
import { useEffect, useId } from "preact/hooks";
import { parts as words } from "../../words/parts";
import { Icon } from "./icon";

export function SecretField({ label, hint, hold, disabled, isWrong, autocomplete, problem, heed, show = words.showTyped, ...input }: {
  label: string;
  hint?: string | undefined;
  hold: Ref<HTMLInputElement>;
  disabled: boolean;
  isWrong: boolean;
  /** "off" for what is no passphrase: it is shown as it is typed. */
  autocomplete: "current-password" | "new-password" | "off";
  /** The id of what says what is wrong. */
  problem: string;
  /** Told what is typed. */
  heed?: ((text: string) => void) | undefined;
  /** What the button says that shows it. */
  show?: string;
  id?: string;
  name?: string;
}) {
  const visible = useSignal(false);
  const own = useId();
  const { id = own } = input;
  useEffect(() => { if (disabled) visible.value = false; }, [disabled]);
  const isCode = autocomplete === "off";
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <div class={isCode ? "" : "with-button"}>
        <input ref={hold} {...input} id={id} class={isCode ? "input code" : "input"} type={(isCode || visible.value ? "text" : "password") as "password"} autocomplete={autocomplete} autocapitalize="off" spellcheck={false}
          disabled={disabled} aria-invalid={isWrong ? true : undefined} aria-describedby={hint ? `${id}-hint ${problem}` : problem} onInput={(event) => heed?.(event.currentTarget.value)} />
        {!isCode && (
          <button type="button" class="button icon" aria-pressed={visible.value} aria-label={show} onClick={() => { visible.value = !visible.value; }}>
            <Icon name={visible.value ? "eye-off" : "eye"} size={18} />
          </button>
        )}
      </div>
      {hint && <p class="hint" id={`${id}-hint`}>{hint}</p>}
    </div>
  );
}
