/** Asks what this browser is to be called, where it signs something before it has a name. */

import { useSignal } from "@preact/signals";
import { parts as words } from "../../words/parts";
import type { App } from "../app";
import { Field } from "./form";

/** The field that asks, and the name as typed so far. A browser that has a name already gets no field, and null as the name. */
export function useDeviceName(app: App) {
  const stage = app.staging.stage.value;
  const unnamed = stage.at === "open" && stage.session.client === null ? stage.environment.suggestedName : null;
  const typed = useSignal(unnamed ?? "");
  return {
    name: unnamed === null ? null : typed.value.trim(),
    field: unnamed !== null && <Field label={words.nameOfThisDevice} hint={words.nameSigns} required maxLength={80} defaultValue={unnamed} onInput={(event) => { typed.value = event.currentTarget.value; }} />,
  };
}
