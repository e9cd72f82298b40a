/** Asks what this browser is to be called, where it signs something before it has a name. */

export function DeviceName({ id, value, type }: { id: string; value: string; type: (typed: string) => void }) {
  return (
    <div class="field">
      <label for={`${id}-device`}>Name of this device</label>
      <input id={`${id}-device`} class="input" type="text" required maxLength={80} autocomplete="off" defaultValue={value} aria-describedby={`${id}-who`} onInput={(event) => type(event.currentTarget.value)} />
      <p class="hint" id={`${id}-who`}>This browser signs it, and needs a name for that. It stays.</p>
    </div>
  );
}
