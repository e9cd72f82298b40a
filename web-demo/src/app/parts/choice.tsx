/** One of a few. */

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

export function Choice<Value extends string | number>({ label, value, options, change }: {
  label: string;
  value: Value;
  options: readonly { value: Value; words: ComponentChildren }[];
  change: (value: Value) => void;
}) {
  const name = useId();
  return (
    <div class="choice" role="radiogroup" aria-label={label}>
      {options.map((option) => (
        <label key={option.value}>
          <input type="radio" name={name} checked={option.value === value} onChange={() => change(option.value)} />
          <span>{option.words}</span>
        </label>
      ))}
    </div>
  );
}
