/** Forecast: what would go and what stays, and why; then the question whether it is to be signed. */

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Foreseen, ForeseenSeries, Foresight, Kept, Plan, Policy, Rules } from "../../../core/api";
import { USUAL } from "../../../core/keeping";
import { kept as words } from "../../../words/kept";
import { parts } from "../../../words/parts";
import type { App } from "../../app";
import type { Forecast, Keeping } from "../../keeping";
import { Asked } from "../../parts/asked";
import { useDeviceName } from "../../parts/device-name";
import { FormDialog } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { Badge, Notice, ProblemNotice } from "../../parts/notice";
import { when } from "../../words";
import { Name } from "./name";
import { weakerWords } from "./weaker";
import { becomesWords, besideWords, floorWords, holdWords, lingerWords, ruleWords, secondsWords, termWords } from "./words";

export function Preview({ keeping, policy, plan, foresight }: { keeping: Keeping; policy: Policy | null; plan: Plan; foresight: Foresight }) {
  const { goes } = sums(foresight);
  const shown = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => { shown.current?.scrollIntoView({ block: "nearest" }); shown.current?.focus({ preventScroll: true }); }, [foresight]);
  return (
    <div class="stack preview-rules" ref={shown} tabIndex={-1}>
      <Sums foresight={foresight} />
      <Weaker policy={policy} plan={plan} />
      <Series foresight={foresight} />
      <div><button type="button" class={goes > 0 ? "button bad" : "button main"} onClick={() => keeping.askToSign(true)}>{words.forecast.signThese}</button></div>
    </div>
  );
}

/** What would be protected less than it is today. */
function Weaker({ policy, plan }: { policy: Policy | null; plan: Plan }) {
  const lines = "rules" in plan ? weakerWords(policy, plan.rules, plan.terms) : [];
  if (lines.length === 0) return null;
  return <Notice tone="warn" title={words.weaker.title}><ul class="bullets soft">{lines.map((line) => <li key={line}>{line}</li>)}</ul></Notice>;
}

/** The whole of it in a few sentences. */
function Sums({ foresight }: { foresight: Foresight }) {
  const { holds, lingers, freed } = foresight;
  const { goes, later, stays } = sums(foresight);
  const { forecast } = words;
  const now = Date.now();
  return (
    <div class="stack tight">
      <h3><span role="status">{goes === 0 ? forecast.nothingGoes(stays + later) : forecast.wouldGo(goes, stays + later)}</span></h3>
      {later > 0 && lingers && <p>{forecast.later(later, when(lingers.until, now))}</p>}
      {freed > 0 && <p>{forecast.freed(freed)}</p>}
      {lingers && later === 0 && <p class="small soft">{lingerWords(lingers, now)}</p>}
      {holds.length > 0 && <Notice tone="warn" title={forecast.holds(holds.length)}><p class="soft">{forecast.holdsAbout(holds.length)}</p></Notice>}
    </div>
  );
}

/** Series by series; those of which something goes are open. */
function Series({ foresight: { series } }: { foresight: Foresight }) {
  if (series.length === 0) return <p class="soft">{words.forecast.none}</p>;
  return <div class="card list forecast">{series.map((one) => <One key={one.series} series={one} isAlone={series.length === 1} />)}</div>;
}

function One({ series, isAlone }: { series: ForeseenSeries; isAlone: boolean }) {
  const { snapshots } = series;
  const goes = snapshots.filter(({ becomes }) => becomes === "goes").length;
  const { forecast } = words;
  const isOpen = useSignal(isAlone);
  const now = Date.now();
  return (
    <details open={isAlone} onToggle={(event) => { isOpen.value = event.currentTarget.open; }}>
      <summary>
        <Icon name="forward" size={16} />
        <span class="grow wrap"><Name {...series} /></span>
        <span class="small">{goes > 0 && <span class="strong">{forecast.go(goes)}, </span>}{forecast.stay(snapshots.length - goes)}</span>
      </summary>
      {isOpen.value && (
        <div class="scroll-x" tabIndex={0} role="region" aria-label={forecast.table}>
          <table class="table">
            <thead><tr>{Object.values(forecast.columns).map((column) => <th key={column} scope="col">{column}</th>)}</tr></thead>
            <tbody>{snapshots.slice(0, ROWS_MAX).map((one) => <Row key={one.id} one={one} now={now} />)}</tbody>
          </table>
          {snapshots.length > ROWS_MAX && <p class="small soft rows-end">{forecast.newestOf(ROWS_MAX, snapshots.length)}</p>}
        </div>
      )}
    </details>
  );
}

function Row({ one, now }: { one: Foreseen; now: number }) {
  return (
    <tr>
      <td class="nowrap">{when(one.time, now)}</td>
      <td><Badge {...LOOKS[one.becomes]}>{words.forecast.becomes[one.becomes]}</Badge></td>
      <td class="small soft">{becomesWords(one, now)}</td>
    </tr>
  );
}

/** What is signed, once more, and by whom. */
export function Ask({ app, keeping, kept, forecast, signed }: { app: App; keeping: Keeping; kept: Kept; forecast: Forecast; signed: () => void }) {
  const { plan, foresight, isSigning, problem } = forecast;
  const device = useDeviceName(app);
  const isRelease = "release" in plan;
  const goes = foresight.at === "here" ? sums(foresight.value).goes : 0;
  useEffect(() => () => { if (keeping.outcome.value !== null) signed(); }, []);
  const { ask } = words;
  const act = isRelease ? ask.release : ask.set;
  return (
    <FormDialog title={act.title} broad={isRelease} close={() => keeping.askToSign(false)} submit={() => { if (device.name !== "") void keeping.sign(device.name); }}
      isBusy={isSigning} isReady={foresight.at === "here"} isBad={goes > 0} act={isSigning ? parts.signing : act.sign}>
      {isRelease ? <Released kept={kept} ids={plan.release} /> : (
        <>
          <ul class="named bullets" tabIndex={0} aria-label={words.change.title}>{linesOf(kept.policy, plan).map((line) => <li key={line}>{line}</li>)}</ul>
          <p class="small soft">{ask.counts(floorWords(plan.rules))}</p>
          <Weaker policy={kept.policy} plan={plan} />
        </>
      )}
      <Asked asked={foresight} waiting={<p class="small soft" role="status">{words.weighing}</p>}>
        {(foreseen) => <><Sums foresight={foreseen} />{isRelease && goes > 0 && <Series foresight={{ ...foreseen, series: foreseen.series.filter(({ snapshots }) => snapshots.some(({ becomes }) => becomes === "goes")) }} />}</>}
      </Asked>
      {goes > 0 && <p class="small soft">{ask.broughtBack(secondsWords(("rules" in plan ? plan.terms.grace : undefined) ?? (kept.policy ?? USUAL).grace))}</p>}
      {device.field}
      {problem && <ProblemNotice problem={problem} />}
    </FormDialog>
  );
}

/** All that would be signed, a line for each. */
function linesOf(policy: Policy | null, { rules, terms }: Extract<Plan, { rules: Rules }>): string[] {
  const after = { ...(policy ?? { ...USUAL, spans: [], dayFloor: null }), ...terms };
  return [...ruleWords(rules), ...besideWords(after), words.rules.pinned, holdWords(after.hold), ...termWords(after)];
}

function Released({ kept, ids }: { kept: Kept; ids: readonly string[] }) {
  const now = Date.now();
  return (
    <>
      <ul class="named">{kept.holds.filter(({ snapshot }) => ids.includes(snapshot)).map((hold) => <li key={hold.snapshot}><span class="strong">{when(hold.time, now)}</span> <Name {...hold} /></li>)}</ul>
      <p>{words.ask.releases}</p>
    </>
  );
}

function sums({ series }: Foresight): { goes: number; later: number; stays: number } {
  const all = series.flatMap(({ snapshots }) => snapshots);
  const number = (becomes: Foreseen["becomes"]) => all.filter((one) => one.becomes === becomes).length;
  return { goes: number("goes"), later: number("later"), stays: number("stays") };
}

/** Rows of one series that are drawn. */
const ROWS_MAX = 1_000;
const LOOKS = { goes: { tone: "bad", icon: "trash" }, later: { tone: "warn", icon: "clock" }, stays: { tone: "good", icon: "check" } } as const;
