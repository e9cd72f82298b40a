/** Change: other rules, chosen or typed, and what they would let go. */

import { useSignal } from "@preact/signals";
import { useId, useLayoutEffect, useRef } from "preact/hooks";
import type { Kept, Period, Rules } from "../../../core/api";
import type { Keeping } from "../../keeping";
import { Notice, ProblemNotice } from "../../parts/notice";
import { Preview } from "./forecast";
import { PRESETS, type PresetName, isSame, rulesOf, typedOf } from "./plans";
import { besideWords, floorWords, ruleWords } from "./words";

const FIELDS: readonly { period: Period; words: string }[] = [
  { period: "last", words: "Last backups" }, { period: "hourly", words: "Hours" }, { period: "daily", words: "Days" }, { period: "weekly", words: "Weeks" },
  { period: "monthly", words: "Months" }, { period: "quarterly", words: "Quarters" }, { period: "yearly", words: "Years" },
];

export function Change({ keeping, kept: { policy }, done }: { keeping: Keeping; kept: Kept; done: () => void }) {
  const chosen = useSignal<PresetName | "own">(policy ? "own" : "family");
  const typed = useSignal(typedOf(policy ?? PRESETS[0]!.rules));
  const wrong = useSignal<string | null>(null);
  const id = useId();
  const heading = useRef<HTMLHeadingElement>(null);
  useLayoutEffect(() => { heading.current?.scrollIntoView({ block: "start" }); heading.current?.focus({ preventScroll: true }); }, []);
  const forecast = keeping.forecast.value;
  const isShown = forecast !== null && "rules" in forecast.plan;
  const preset = PRESETS.find(({ name }) => name === chosen.value);
  const beside = policy ? besideWords(policy) : [];
  const touched = () => { wrong.value = null; keeping.drop(); };
  const choose = (name: PresetName | "own") => { chosen.value = name; touched(); };
  const look = (event: Event) => {
    event.preventDefault();
    const read = preset ? { rules: preset.rules } : rulesOf(typed.value);
    if ("wrong" in read) {
      wrong.value = read.wrong;
      document.getElementById(`${id}-${read.wrong}`)?.focus();
      return;
    }
    // What is not touched stays to the second.
    const same = policy && isSame(typedRules(typedOf(policy)), read.rules);
    void keeping.foresee({ rules: same ? { ...read.rules, floorAge: policy.floorAge } : read.rules });
  };
  const field = (name: string, value: string, set: (value: string) => void, hint?: string) => (
    <>
      <input id={`${id}-${name}`} class="input" type="text" inputMode={name === "within" ? "text" : "numeric"} autocomplete="off" maxLength={24} value={value}
        aria-invalid={wrong.value === name} aria-describedby={wrong.value === name ? `${id}-wrong` : hint} onInput={(event) => { set(event.currentTarget.value); touched(); }} />
      {wrong.value === name && <p id={`${id}-wrong`} class="field-problem" role="alert">{WRONG[name] ?? "A whole number, or “all”."}</p>}
    </>
  );
  return (
    <section class="card padded stack">
      <form class="stack" onSubmit={look}>
        <h2 class="landing" ref={heading} tabIndex={-1}>{policy ? "Other rules" : "Rules"}</h2>
        <fieldset class="options">
          <legend class="unseen">Which rules</legend>
          {PRESETS.map(({ name, title, words, rules }) => (
            <label key={name}>
              <input type="radio" name={id} checked={chosen.value === name} onChange={() => choose(name)} />
              <span><span class="strong">{title}</span><span class="small soft">{words}</span><span class="small">{summary(rules)}</span></span>
            </label>
          ))}
          <label>
            <input type="radio" name={id} checked={chosen.value === "own"} onChange={() => choose("own")} />
            <span><span class="strong">Own numbers</span><span class="small soft">{policy ? "Beginning with the rules in force." : "For each name of each device."}</span></span>
          </label>
        </fieldset>
        {!preset && (
          <>
            <fieldset class="numbers">
              <legend>Keep one for each of so many</legend>
              {FIELDS.map(({ period, words }) => (
                <div key={period} class="field">
                  <label for={`${id}-${period}`}>{words}</label>
                  {field(period, typed.value.counts[period], (value) => { typed.value = { ...typed.value, counts: { ...typed.value.counts, [period]: value } }; }, `${id}-counts`)}
                </div>
              ))}
            </fieldset>
            <p class="hint small soft" id={`${id}-counts`}>A day without a backup does not count. Nothing is no rule; “all” is every one of them.</p>
            <div class="numbers">
              <div class="field"><label for={`${id}-within`}>Everything of the last</label>{field("within", typed.value.within, (within) => { typed.value = { ...typed.value, within }; }, `${id}-span`)}<p class="hint" id={`${id}-span`}>Such as 2d, 3w, 6m or 1y.</p></div>
              <div class="field"><label for={`${id}-floorLast`}>Guard the last</label>{field("floorLast", typed.value.floorLast, (floorLast) => { typed.value = { ...typed.value, floorLast }; }, `${id}-last`)}<p class="hint" id={`${id}-last`}>Of each name, also from forgetting.</p></div>
              <div class="field"><label for={`${id}-floorAge`}>Guard so many days</label>{field("floorAge", typed.value.floorAge, (floorAge) => { typed.value = { ...typed.value, floorAge }; }, `${id}-age`)}<p class="hint" id={`${id}-age`}>What is younger, also from forgetting.</p></div>
            </div>
          </>
        )}
        {policy && (
          <Notice title="What stays as it is">
            {beside.length > 0 && <ul class="bullets soft">{beside.map((line) => <li key={line}>{line}</li>)}</ul>}
            <p class="soft">{beside.length > 0 ? "These rules, and tags" : "Tags"}, holds, the time zone, the time until data is freed and the share of a check are set by <code>copal policy set</code>.</p>
          </Notice>
        )}
        <div class="row">
          <button type="submit" class={isShown ? "button" : "button main"}>Show what would go</button>
          <button type="button" class="button plain" onClick={done}>Leave the rules as they are</button>
        </div>
      </form>
      {isShown && forecast.foresight.at === "asking" && <p class="soft" role="status">Weighing every backup…</p>}
      {isShown && forecast.foresight.at === "failed" && <ProblemNotice problem={forecast.foresight.problem} />}
      {isShown && forecast.foresight.at === "here" && <Preview keeping={keeping} foresight={forecast.foresight.value} />}
    </section>
  );
}

function summary(rules: Rules): string {
  const floor = floorWords(rules);
  const [first, ...others] = [...ruleWords(rules), ...(floor ? [`Guarded: ${floor}`] : [])];
  return `${[first, ...others.map((line) => line.charAt(0).toLowerCase() + line.slice(1))].join("; ")}.`;
}

function typedRules(typed: ReturnType<typeof typedOf>): Rules {
  const read = rulesOf(typed);
  return "rules" in read ? read.rules : PRESETS[0]!.rules;
}

const WRONG: Record<string, string> = {
  within: "A number and a unit, such as 2d, 3w, 6m or 1y.",
  floorLast: "A whole number.",
  floorAge: "A number of days.",
};
