/** Change: other rules, chosen or typed, and what they would let go. */

import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Kept, Rules } from "../../../core/api";
import { PERIODS } from "../../../core/keeping";
import { kept as words } from "../../../words/kept";
import type { Keeping } from "../../keeping";
import { Asked } from "../../parts/asked";
import { Icon } from "../../parts/icon";
import { Notice } from "../../parts/notice";
import { Preview } from "./forecast";
import { More } from "./more";
import { PRESETS, type PresetName, isSame, rulesOf, typedOf } from "./plans";
import { tagsIn, termsOf, typedTerms, withTags } from "./terms";
import { besideWords, floorWords, ruleWords } from "./words";

export function Change({ keeping, kept: { policy, tags }, done }: { keeping: Keeping; kept: Kept; done: () => void }) {
  const { change } = words;
  const chosen = useSignal<PresetName | "own">(policy ? "own" : "family");
  const typed = useSignal(typedOf(policy ?? PRESETS[0]!.rules));
  const terms = useSignal(typedTerms(policy));
  const isOpen = useSignal(false);
  const wrong = useSignal<string | null>(null);
  const id = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => { heading.current?.scrollIntoView({ block: "start" }); heading.current?.focus({ preventScroll: true }); }, []);
  const forecast = keeping.forecast.value;
  const isShown = forecast !== null && "rules" in forecast.plan;
  const preset = PRESETS.find(({ name }) => name === chosen.value);
  const beside = policy ? besideWords({ ...policy, tags: [] }) : [];
  const touched = () => { wrong.value = null; keeping.cancel(); };
  const choose = (name: PresetName | "own") => { chosen.value = name; touched(); };
  const look = (event: Event) => {
    event.preventDefault();
    const read = preset ? { rules: preset.rules } : rulesOf(typed.value);
    if ("wrong" in read) return mend(read.wrong);
    // Tags that were typed are meant.
    terms.value = { ...terms.value, tags: withTags(terms.value.tags, tagsIn(terms.value.tag)), tag: "" };
    const others = termsOf(terms.value, policy);
    if ("wrong" in others) {
      isOpen.value = true;
      return mend(others.wrong);
    }
    // What is not touched stays to the second.
    const same = policy && isSame(typedRules(typedOf(policy)), read.rules);
    void keeping.foresee({ rules: same ? { ...read.rules, floorAge: policy.floorAge } : read.rules, ...others });
  };
  const mend = (name: string) => {
    wrong.value = name;
    // The field may be drawn first.
    requestAnimationFrame(() => document.getElementById(`${id}-${name}`)?.focus());
  };
  const field = (name: string, value: string, set: (value: string) => void, hint: string, problem = change.notWhole) => (
    <>
      <input id={`${id}-${name}`} class="input" type="text" inputMode={name === "within" ? "text" : "numeric"} autocomplete="off" maxLength={24} value={value}
        aria-invalid={wrong.value === name} aria-describedby={wrong.value === name ? `${id}-wrong` : hint} onInput={(event) => { set(event.currentTarget.value); touched(); }} />
      {wrong.value === name && <p id={`${id}-wrong`} class="field-problem" role="alert">{problem}</p>}
    </>
  );
  return (
    <section class="card padded stack">
      <form class="stack" onSubmit={look}>
        <h2 class="landing" ref={heading} tabIndex={-1}>{policy ? change.others : change.title}</h2>
        <fieldset class="options">
          <legend class="unseen">{change.which}</legend>
          {PRESETS.map(({ name, rules }) => (
            <label key={name}>
              <input type="radio" name={id} checked={chosen.value === name} onChange={() => choose(name)} />
              <span><span class="strong">{change[name].title}</span><span class="small soft">{change[name].about}</span><span class="small">{words.rules.together(ruleWords(rules), floorWords(rules))}</span></span>
            </label>
          ))}
          <label>
            <input type="radio" name={id} checked={chosen.value === "own"} onChange={() => choose("own")} />
            <span><span class="strong">{change.own}</span><span class="small soft">{policy ? change.ownFromPolicy : change.ownFromNone}</span></span>
          </label>
        </fieldset>
        {!preset && (
          <>
            <fieldset class="numbers">
              <legend>{change.keep}</legend>
              {PERIODS.map((period) => (
                <div key={period} class="field">
                  <label for={`${id}-${period}`}>{change.fields[period]}</label>
                  {field(period, typed.value.counts[period], (value) => { typed.value = { ...typed.value, counts: { ...typed.value.counts, [period]: value } }; }, `${id}-counts`)}
                </div>
              ))}
            </fieldset>
            <p class="hint small soft" id={`${id}-counts`}>{change.keepHint}</p>
            <div class="numbers">
              <div class="field"><label for={`${id}-within`}>{change.within}</label>{field("within", typed.value.within, (within) => { typed.value = { ...typed.value, within }; }, `${id}-span`, change.noSpan)}<p class="hint" id={`${id}-span`}>{change.withinHint}</p></div>
              <div class="field"><label for={`${id}-floorLast`}>{change.floorLast}</label>{field("floorLast", typed.value.floorLast, (floorLast) => { typed.value = { ...typed.value, floorLast }; }, `${id}-last`, change.noNumber)}<p class="hint" id={`${id}-last`}>{change.floorLastHint}</p></div>
              <div class="field"><label for={`${id}-floorAge`}>{change.floorAge}</label>{field("floorAge", typed.value.floorAge, (floorAge) => { typed.value = { ...typed.value, floorAge }; }, `${id}-age`, change.noDays)}<p class="hint" id={`${id}-age`}>{change.floorAgeHint}</p></div>
            </div>
          </>
        )}
        <details class="more" open={isOpen.value} onToggle={(event) => { isOpen.value = event.currentTarget.open; }}>
          <summary><Icon name="forward" size={16} />{words.more.title}</summary>
          {isOpen.value && <More id={id} policy={policy} typed={terms} wrong={wrong.value} touched={touched} known={tags} />}
        </details>
        {beside.length > 0 && (
          <Notice title={change.stays}>
            <ul class="bullets soft">{beside.map((line) => <li key={line}>{line}</li>)}</ul>
            <p class="soft">{change.staysAbout(<code>copal policy set</code>)}</p>
          </Notice>
        )}
        <div class="row">
          <button type="submit" class={isShown ? "button" : "button main"}>{change.look}</button>
          <button type="button" class="button plain" onClick={done}>{change.leave}</button>
        </div>
      </form>
      {isShown && <Asked asked={forecast.foresight} waiting={<p class="soft" role="status">{words.weighing}</p>}>
        {(foresight) => <Preview keeping={keeping} policy={policy} plan={forecast.plan} foresight={foresight} />}
      </Asked>}
    </section>
  );
}

function typedRules(typed: ReturnType<typeof typedOf>): Rules {
  const read = rulesOf(typed);
  return "rules" in read ? read.rules : PRESETS[0]!.rules;
}
