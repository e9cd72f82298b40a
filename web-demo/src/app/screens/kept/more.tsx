/** More: what else a person may set of a policy: tags whose backups stay, what looks wrong, how long data waits, where days begin. */

import type { Signal } from "@preact/signals";
import type { Policy } from "../../../core/api";
import { isTagId, USUAL } from "../../../core/keeping";
import { kept as words } from "../../../words/kept";
import { Icon } from "../../parts/icon";
import { shown } from "../../words";
import { type TermField, type TypedTerms, tagsIn, withTags } from "./terms";
import { tagWords } from "./words";
import { isSameZone, ownZone } from "./zone";

export interface MoreProps {
  id: string;
  policy: Policy | null;
  typed: Signal<TypedTerms>;
  wrong: string | null;
  touched: () => void;
  /** The names of tags that backups have. */
  known: readonly string[];
}

export function More({ id, policy, typed, wrong, touched, known }: MoreProps) {
  const { more } = words;
  const edit = (change: Partial<TypedTerms>) => { typed.value = { ...typed.value, ...change }; touched(); };
  const field = (name: TermField, label: string, hint: string, problem: string) => (
    <div class="field">
      <label for={`${id}-${name}`}>{label}</label>
      <input id={`${id}-${name}`} class="input" type="text" inputMode={name === "grace" ? "text" : "numeric"} autocomplete="off" maxLength={24} value={typed.value[name]}
        aria-invalid={wrong === name} aria-describedby={wrong === name ? `${id}-wrong` : `${id}-${name}-hint`} onInput={(event) => edit({ [name]: event.currentTarget.value })} />
      {wrong === name && <p id={`${id}-wrong`} class="field-problem" role="alert">{problem}</p>}
      <p class="hint" id={`${id}-${name}-hint`}>{hint}</p>
    </div>
  );
  return (
    <div class="inside stack wide">
      <Tags id={id} typed={typed.value} edit={edit} known={known} />
      <fieldset class="group">
        <legend>{more.hold.title}</legend>
        <p class="small soft">{more.hold.about}</p>
        <label class="tick"><input type="checkbox" checked={typed.value.watches} onChange={(event) => edit({ watches: event.currentTarget.checked })} /><span>{more.hold.watch}</span></label>
        {typed.value.watches && (
          <div class="numbers">
            {field("share", more.hold.share, more.hold.shareHint, more.hold.noShare)}
            {field("least", more.hold.least, more.hold.leastHint, more.hold.noLeast)}
          </div>
        )}
      </fieldset>
      <div class="group">
        <div class="numbers">{field("grace", more.grace.label, more.grace.hint, more.grace.wrong)}</div>
        <p class="small soft">{more.grace.about}</p>
      </div>
      <Zones id={id} policy={policy} zone={typed.value.zone} choose={(zone) => edit({ zone })} />
    </div>
  );
}

/** Sets of tags whose backups stay. */
function Tags({ id, typed, edit, known }: { id: string; typed: TypedTerms; edit: (change: Partial<TypedTerms>) => void; known: readonly string[] }) {
  const { tags } = words.more;
  const add = (set: readonly string[]) => edit({ tags: withTags(typed.tags, set), tag: "" });
  const others = known.filter((tag) => !isTagId(tag) && withTags(typed.tags, [tag]).length > typed.tags.length).slice(0, OFFERED);
  const field = `${id}-tag`;
  const remove = (set: string[]) => {
    edit({ tags: typed.tags.filter((one) => one !== set) });
    document.getElementById(field)?.focus();
  };
  return (
    <fieldset class="group">
      <legend>{tags.title}</legend>
      <p class="small soft">{tags.about}</p>
      {typed.tags.length > 0 && (
        <ul class="tag-sets">
          {typed.tags.map((set) => (
            <li key={JSON.stringify(set)}>
              <Icon name="tag" size={16} /><span class="wrap">{tagWords(set)}</span>
              <button type="button" class="button small plain" onClick={() => remove(set)}>{tags.remove}<span class="unseen"> {tagWords(set)}</span></button>
            </li>
          ))}
        </ul>
      )}
      {others.length > 0 && (
        <div class="row" role="group" aria-label={tags.known}>
          {others.map((tag) => <button key={tag} type="button" class="button small" onClick={() => add([tag])}><Icon name="plus" size={14} /><bdi>{shown(tag)}</bdi></button>)}
        </div>
      )}
      <div class="field">
        <label for={field}>{tags.label}</label>
        <div class="row firm">
          <input id={field} class="input" type="text" autocomplete="off" maxLength={1_000} value={typed.tag} aria-describedby={`${field}-hint`}
            onInput={(event) => edit({ tag: event.currentTarget.value })}
            onKeyDown={(event) => { if (event.key === "Enter" && typed.tag.trim() !== "") { event.preventDefault(); add(tagsIn(typed.tag)); } }} />
          <button type="button" class="button" disabled={tagsIn(typed.tag).length === 0} onClick={() => add(tagsIn(typed.tag))}>{tags.add}</button>
        </div>
        <p class="hint" id={`${field}-hint`}>{tags.hint}</p>
      </div>
    </fieldset>
  );
}

/** Where days begin: where the browser is, at UTC, or as the policy has it. */
function Zones({ id, policy, zone, choose }: { id: string; policy: Policy | null; zone: string; choose: (zone: string) => void }) {
  const more = words.more.zone;
  const own = ownZone();
  const inForce = (policy ?? USUAL).zone;
  const choices = [
    ...(own && own.posix !== "" && !isSameZone(own.posix, inForce) ? [{ posix: own.posix, name: more.own(own.name) }] : []),
    ...(inForce === "" ? [] : [{ posix: inForce, name: own && isSameZone(own.posix, inForce) ? more.own(own.name) : more.asNow(shown(inForce)) }]),
    { posix: "", name: more.utc },
  ];
  return (
    <div class="field group">
      <label for={`${id}-zone`}>{more.label}</label>
      <select id={`${id}-zone`} class="input zone" value={zone} aria-describedby={`${id}-zone-hint`} onChange={(event) => choose(event.currentTarget.value)}>
        {choices.map(({ posix, name }) => <option key={posix} value={posix}>{name}</option>)}
      </select>
      <p class="hint" id={`${id}-zone-hint`}>{more.hint}</p>
    </div>
  );
}

/** Tags that are offered by a button each. */
const OFFERED = 12;
