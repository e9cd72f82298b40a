/** What becomes of what is there already in the folder that is restored into. */

import { useSignal } from "@preact/signals";
import type { OntoExisting } from "../../../core/api";
import type { Question } from "../../jobs";
import { Dialog } from "../../parts/dialog";
import { count, shown } from "../../words";

export function Onto({ question: { found, answer } }: { question: Question }) {
  const choice = useSignal<OntoExisting>("subfolder");
  const [first, ...rest] = found.names;
  return (
    <Dialog title="Some of it is there already" close={() => answer(null)}
      footer={<>
        <button type="button" class="button" onClick={() => answer(null)}>Cancel</button>
        <button type="button" class="button main" onClick={() => answer(choice.value)}>Restore</button>
      </>}>
      <p>
        <bdi class="strong">{shown(found.folder)}</bdi> already has <bdi class="strong">{shown(first ?? "")}</bdi>
        {rest.length > 0 && ` and ${count(rest.length)} more of what you restore`}.
      </p>
      <fieldset class="options">
        <legend class="unseen">What to do</legend>
        {OPTIONS.map(({ value, words, means }) => (
          <label key={value}>
            <input type="radio" name="onto" checked={choice.value === value} onChange={() => { choice.value = value; }} />
            <span><span class="strong">{words}</span><span class="small soft">{means}</span></span>
          </label>
        ))}
      </fieldset>
    </Dialog>
  );
}

const OPTIONS: readonly { value: OntoExisting; words: string; means: string }[] = [
  { value: "subfolder", words: "Put it into a new folder", means: "Named by today’s date. Nothing that is there is touched." },
  { value: "both", words: "Keep both", means: "A file that differs is added beside yours as “report (restored).pdf”." },
  { value: "leave", words: "Add only what is missing", means: "Files that are there stay as they are." },
  { value: "replace", words: "Replace", means: "Restored files take the place of yours, each once it is whole. This cannot be undone." },
];
