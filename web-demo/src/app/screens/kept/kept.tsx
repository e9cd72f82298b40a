/** What is kept: the rules in force, in words, what holds them up, and the way to other rules. */

import { useSignal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import type { Hold, Kept as Facts, Policy } from "../../../core/api";
import type { App } from "../../app";
import "../../../style/kept.css";
import { Keeping } from "../../keeping";
import { Icon } from "../../parts/icon";
import { Notice, ProblemNotice } from "../../parts/notice";
import { counted, shown, when } from "../../words";
import { Change } from "./change";
import { Ask } from "./forecast";
import { Name } from "./name";
import { besideWords, floorWords, holdWords, lingerWords, otherWords, ruleWords, suspicionWords } from "./words";

export function Kept({ app }: { app: App }) {
  const keeping = useMemo(() => new Keeping(app.core), [app]);
  const changing = useSignal(false);
  useEffect(() => { void keeping.load(); return () => keeping.leave(); }, [keeping]);
  const asked = keeping.kept.value;
  const outcome = keeping.outcome.value;
  if (asked.at === "asking") return <div class="stack" role="status"><span class="unseen">Reading the rules</span><div class="bone verdict-bone" /><div class="bone chart-bone" /></div>;
  if (asked.at === "failed") return <ProblemNotice problem={asked.problem} retry={() => void keeping.load()} />;
  const kept = asked.value;
  const forecast = keeping.forecast.value;
  return (
    <>
      {outcome && <Notice tone={outcome.tone} title={outcome.title}><p class="soft">{outcome.words}</p></Notice>}
      {kept.holds.length > 0 && <Holds keeping={keeping} holds={kept.holds} />}
      <InForce kept={kept} />
      {changing.value
        ? <Change keeping={keeping} kept={kept} done={() => { changing.value = false; keeping.drop(); }} />
        : <div><button type="button" class="button" onClick={() => { changing.value = true; keeping.outcome.value = null; }}>{kept.policy ? "Change the rules…" : "Set rules…"}</button></div>}
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
          <h2 class="verdict-words">{counted(holds.length, "backup")} {holds.length === 1 ? "looks" : "look"} wrong</h2>
          <p class="soft">No backup of {holds.length === 1 ? "its name" : "these names"} goes, and none that was forgotten is freed, until you release {holds.length === 1 ? "it" : "them"}. Compare {holds.length === 1 ? "it" : "each"} with the backup before it first.</p>
        </div>
      </div>
      <ul class="stack tight">
        {holds.map((hold) => (
          <li key={hold.snapshot} class="row ends hold">
            <div class="grow">
              <p><span class="strong">{when(hold.time, now)}</span> <Name {...hold} /></p>
              <p class="small soft">{suspicionWords(hold.why)}</p>
            </div>
            <button type="button" class="button small" onClick={() => void keeping.foresee({ release: [hold.snapshot] })}>Release…<span class="unseen"> {shown(hold.source ?? hold.snapshot.slice(0, 8))}, {when(hold.time, now)}</span></button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function InForce({ kept: { policy, lingers, snapshots } }: { kept: Facts }) {
  if (!policy) {
    return (
      <section class="card padded stack">
        <h2>Everything is kept</h2>
        <p class="soft">No rules are set. {snapshots === 0 ? "Every backup" : `Each of your ${counted(snapshots, "backup")}`} stays until somebody forgets it, and the repository grows with each one.</p>
      </section>
    );
  }
  const lines = [...ruleWords(policy), ...besideWords(policy)];
  return (
    <section class="card padded stack">
      <div>
        <h2>The rules in force</h2>
        <p class="small soft">They look at each name of each device by itself: no device pushes out what another has saved.</p>
      </div>
      {lines.length === 0
        ? <p>Every backup stays until somebody forgets it: no rule lets one go.</p>
        : <ul class="bullets">{lines.map((line) => <li key={line}>{line}</li>)}<li>Pinned backups</li></ul>}
      <Guarded policy={policy} />
      {lingers && <Notice icon="clock"><p class="soft">{lingerWords(lingers, Date.now())}</p></Notice>}
      <details>
        <summary><Icon name="forward" size={16} />Everything else that the policy says</summary>
        <ul class="inside bullets small soft">{[holdWords(policy.hold), ...otherWords(policy)].map((line) => <li key={line}>{line}</li>)}</ul>
      </details>
    </section>
  );
}

function Guarded({ policy }: { policy: Policy }) {
  const floor = floorWords(policy);
  return floor === null
    ? <p class="small soft">Nothing is guarded: what somebody forgets, prune frees after {otherWords(policy)[0]?.split(" for ")[1]?.replace(" at least", "")}.</p>
    : <p class="small soft">Guarded, also against forgetting: {floor}. What is forgotten of it can be brought back for as long as it is guarded.</p>;
}
