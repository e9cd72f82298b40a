/** What becomes of what is there already in the folder that is restored into. */

import { useSignal } from "@preact/signals";
import type { OntoExisting } from "../../../core/api";
import { browse } from "../../../words/browse";
import { parts } from "../../../words/parts";
import { shell } from "../../../words/shell";
import type { Question } from "../../jobs";
import { Dialog } from "../../parts/dialog";
import { shown } from "../../words";

export function Onto({ question: { found, answer } }: { question: Question }) {
  const words = browse.onto;
  const choice = useSignal<OntoExisting>("subfolder");
  const [first, ...rest] = found.names;
  return (
    <Dialog title={words.title} close={() => answer(null)}
      footer={<>
        <button type="button" class="button" onClick={() => answer(null)}>{parts.cancel}</button>
        <button type="button" class="button main" onClick={() => answer(choice.value)}>{shell.screens.restore}</button>
      </>}>
      <p>{words.has(<bdi class="strong">{shown(found.folder)}</bdi>, <bdi class="strong">{shown(first ?? "")}</bdi>, rest.length)}</p>
      <fieldset class="options">
        <legend class="unseen">{words.whatToDo}</legend>
        {OPTIONS.map((value) => (
          <label key={value}>
            <input type="radio" name="onto" checked={choice.value === value} onChange={() => { choice.value = value; }} />
            <span><span class="strong">{words.options[value].title}</span><span class="small soft">{words.options[value].means}</span></span>
          </label>
        ))}
      </fieldset>
    </Dialog>
  );
}

const OPTIONS: readonly OntoExisting[] = ["subfolder", "both", "leave", "replace"];
