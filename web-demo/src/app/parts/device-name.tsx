/** Asks what this browser is to be called, where it signs something before it has a name. */

import { parts as words } from "../../words/parts";

export function DeviceName({ id, value, type }: { id: string; value: string; type: (typed: string) => void }) {
  return (
    <div class="field">
      <label for={`${id}-device`}>{words.nameOfThisDevice}</label>
      <input id={`${id}-device`} class="input" type="text" required maxLength={80} autocomplete="off" defaultValue={value} aria-describedby={`${id}-who`} onInput={(event) => type(event.currentTarget.value)} />
      <p class="hint" id={`${id}-who`}>{words.nameSigns}</p>
    </div>
  );
}
