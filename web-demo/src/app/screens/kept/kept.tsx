/** What is kept: the rules in force, in words, what holds them up, and the way to other rules. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Hold, Kept as Facts, Policy } from "../../../core/api";
import { kept as words } from "../../../words/kept";
import type { App } from "../../app";
import "../../../style/kept.css";
import { Keeping } from "../../keeping";
import { Icon } from "../../parts/icon";
import { Notice, ProblemNotice } from "../../parts/notice";
import { shown, when } from "../../words";
import { Change } from "./change";
import { Ask } from "./forecast";
import { Name } from "./name";
import { besideWords, floorWords, holdWords, keepsAll, lingerWords, otherWords, ruleWords, secondsWords, suspicionWords } from "./words";

export function Kept({ app }: { app: App }) {
  const keeping = useMemo(() => new Keeping(app.core), [app]);
  const changing = useSignal(false);
  useEffect(() => { void keeping.load(); return () => keeping.dropAnswers(); }, [keeping]);
  const asked = keeping.kept.value;
  const outcome = keeping.outcome.value;
  if (asked.at === "asking") return <div class="stack" role="status"><span class="unseen">{words.reading}</span><div class="bone verdict-bone" /><div class="bone chart-bone" /></div>;
  if (asked.at === "failed") return <ProblemNotice problem={asked.problem} retry={() => void keeping.load()} />;
  const kept = asked.value;
  const forecast = keeping.forecast.value;
  return (
    <>
      {outcome && <Notice tone={outcome === "waiting" ? "warn" : "good"} title={words.outcomes[outcome].title}><p class="soft">{words.outcomes[outcome].about}</p></Notice>}
      {kept.holds.length > 0 && <Holds keeping={keeping} holds={kept.holds} />}
      <InForce kept={kept} />
      {changing.value
        ? <Change key={kept.policy?.change} keeping={keeping} kept={kept} done={() => { changing.value = false; keeping.cancel(); }} />
        : <div><button type="button" class="button" onClick={() => { changing.value = true; keeping.outcome.value = null; }}>{kept.policy ? words.changeRules : words.setRules}</button></div>}
      {forecast?.isAsked && <Ask app={app} keeping={keeping} kept={kept} forecast={forecast} signed={() => { changing.value = false; }} />}
    </>
  );
}

/** What is suspicious, why, and that nothing of it goes. */
function Holds({ keeping, holds }: { keeping: Keeping; holds: readonly Hold[] }) {
  const now = Date.now();
  return (
    <section class="card padded stack holds">
      <div class="verdict">
        <span class="verdict-icon bad"><Icon name="warning" size={28} /></span>
        <div class="grow">
          <h2 class="verdict-words">{words.holds.title(holds.length)}</h2>
          <p class="soft">{words.holds.about(holds.length)}</p>
        </div>
      </div>
      <ul class="stack tight">
        {holds.map((hold) => (
          <li key={hold.snapshot} class="row ends hold">
            <div class="grow">
              <p><span class="strong">{when(hold.time, now)}</span> <Name {...hold} /></p>
              <p class="small soft">{suspicionWords(hold.why)}</p>
            </div>
            <button type="button" class="button small" onClick={() => void keeping.foresee({ release: [hold.snapshot] })}>{words.holds.release}<span class="unseen"> {shown(hold.source ?? hold.snapshot.slice(0, 8))}, {when(hold.time, now)}</span></button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function InForce({ kept: { policy, lingers, snapshots } }: { kept: Facts }) {
  const { inForce } = words;
  if (!policy) {
    return (
      <section class="card padded stack">
        <h2>{inForce.everything}</h2>
        <p class="soft">{inForce.noRules(snapshots)}</p>
      </section>
    );
  }
  const lines = [...ruleWords(policy), ...besideWords(policy)];
  return (
    <section class="card padded stack">
      <div>
        <h2>{inForce.title}</h2>
        <p class="small soft">{inForce.about}</p>
      </div>
      {keepsAll(policy)
        ? <p>{inForce.letNothingGo}</p>
        : <ul class="bullets">{lines.map((line) => <li key={line}>{line}</li>)}<li>{words.rules.pinned}</li></ul>}
      <Guarded policy={policy} />
      {lingers && <Notice icon="clock"><p class="soft">{lingerWords(lingers, Date.now())}</p></Notice>}
      <details>
        <summary><Icon name="forward" size={16} />{inForce.everythingElse}</summary>
        <ul class="inside bullets small soft">{[holdWords(policy.hold), ...otherWords(policy)].map((line) => <li key={line}>{line}</li>)}</ul>
      </details>
    </section>
  );
}

function Guarded({ policy }: { policy: Policy }) {
  const floor = floorWords(policy);
  return <p class="small soft">{floor === null ? words.inForce.unguarded(secondsWords(policy.grace)) : words.inForce.guarded(floor)}</p>;
}
