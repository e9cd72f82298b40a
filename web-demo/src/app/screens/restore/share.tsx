/** Sharing: makes a link to files of a snapshot, and shows it once. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Measure, Problem, Run, ShareProgress, ShareResult } from "../../../core/api";
import { problemOf } from "../../../core/problem";
import { LENGTH_MOST } from "../../../core/share/list";
import type { App, ToShare } from "../../app";
import { Choice } from "../../parts/choice";
import { Dialog } from "../../parts/dialog";
import { Field } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { Notice, ProblemNotice } from "../../parts/notice";
import { Progress } from "../../parts/progress";
import { say } from "../../parts/say";
import { parts } from "../../../words/parts";
import { problems } from "../../../words/problems";
import { shares as words } from "../../../words/shares";
import { rate, remaining, shown, size, when, within } from "../../words";

type State =
  | { at: "asked"; problem: Problem | null }
  | { at: "running"; progress: ShareProgress | null; isStopping: boolean }
  | { at: "made"; result: ShareResult };

export function Share({ app, what }: { app: App; what: ToShare }) {
  const [state, setState] = useState<State>({ at: "asked", problem: null });
  const [days, setDays] = useState(7);
  const [openings, setOpenings] = useState(5);
  const [measure, setMeasure] = useState<Measure | null>(null);
  const name = useRef(what.title);
  const running = useRef<Run<ShareProgress, ShareResult> | null>(null);
  const form = useId();
  useEffect(() => {
    let current = true;
    app.core.measure(what.snapshot, what.entries).then((answer) => { if (current) setMeasure(answer); }, () => undefined);
    return () => {
      current = false;
      running.current?.cancel();
    };
  }, []);

  const make = async (event: Event) => {
    event.preventDefault();
    setState({ at: "running", progress: null, isStopping: false });
    try {
      const run = await app.core.share(what.snapshot, what.entries, { label: name.current.trim() || what.title, days, count: openings });
      running.current = run;
      run.onProgress((progress) => setState((now) => (now.at === "running" ? { ...now, progress } : now)));
      const result = await run.done;
      setState({ at: "made", result });
      say(words.saysMade);
    } catch (thrown) {
      const problem = problemOf(thrown);
      setState({ at: "asked", problem: problem.code === "cancelled" ? null : problem });
    } finally {
      running.current = null;
    }
  };
  const stop = () => {
    running.current?.cancel();
    setState((now) => (now.at === "running" ? { ...now, isStopping: true } : now));
  };
  const close = () => { if (state.at !== "running") app.sharing.value = null; };
  const isTooLarge = measure !== null && measure.bytes > LENGTH_MOST;

  return (
    <Dialog title={state.at === "made" ? words.isMade : words.share(shown(what.title))} close={close} firm={state.at !== "asked"}
      footer={state.at === "asked" ? <>
        <button type="button" class="button" onClick={close}>{parts.cancel}</button>
        <button type="submit" form={form} class="button main" disabled={isTooLarge || measure?.files === 0}>{words.make}</button>
      </> : state.at === "running" ? <button type="button" class="button" disabled={state.isStopping || running.current === null} onClick={stop}>{state.isStopping ? parts.stopping : words.stop}</button>
        : <button type="button" class="button" onClick={close}>{words.done}</button>}>
      {state.at === "asked" && (
        <form id={form} class="stack" onSubmit={(event) => void make(event)}>
          {state.problem && <ProblemNotice problem={state.problem} />}
          <Field label={words.name} hint={measure === null ? words.counting : words.counted(measure.files, size(measure.bytes))} maxLength={200} defaultValue={what.title} onInput={(event) => { name.current = event.currentTarget.value; }} />
          {isTooLarge && <Notice tone="warn" title={words.tooLarge(size(LENGTH_MOST))}><p class="soft">{words.chooseLess}</p></Notice>}
          <div class="field"><span class="label">{words.endsAfter}</span><div><Choice<number> label={words.endsAfter} value={days} change={setDays} options={[1, 7, 30].map((value) => ({ value, words: words.days(value) }))} /></div></div>
          <div class="field"><span class="label">{words.mayBeOpened}</span><div><Choice<number> label={words.mayBeOpened} value={openings} change={setOpenings} options={[1, 5, 1000].map((value) => ({ value, words: words.times(value) }))} /></div></div>
          <div class="stack tight small soft">
            <p>{words.whoReads(strong)}</p>
            <p>{words.whatServerLearns(strong)}</p>
          </div>
        </form>
      )}
      {state.at === "running" && <Going name={what.title} progress={state.progress} />}
      {state.at === "made" && <Made result={state.result} openings={openings} />}
    </Dialog>
  );
}

function Going({ name, progress }: { name: string; progress: ShareProgress | null }) {
  const part = progress && progress.bytes.total > 0 ? progress.bytes.done / progress.bytes.total : null;
  const isWaiting = progress !== null && (progress.state === "offline" || progress.state === "retrying");
  return (
    <div class="stack tight">
      <Progress part={part} label={words.sharing(name)} state={isWaiting ? "halted" : "running"} />
      <p class="small soft row ends firm">
        <span class="clip">{progress === null ? parts.gettingReady : isWaiting ? parts.goesOn(progress.problem ? problems[progress.problem.code].title : parts.noAnswer) : words.stored(size(progress.bytes.done), size(progress.bytes.total))}</span>
        <span class="clip">{progress?.state === "running" ? `${rate(progress.rate)} · ${remaining(progress.eta === null ? null : progress.eta * 1000)}` : ""}</span>
      </p>
      <p class="small soft">{words.keepOpen}</p>
    </div>
  );
}

function Made({ result, openings }: { result: ShareResult; openings: number }) {
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  useEffect(() => field.current?.select(), []);
  const copy = async () => {
    field.current?.select();
    await navigator.clipboard.writeText(result.link).then(() => { setCopied(true); say(words.saysCopied); }, () => undefined);
  };
  const left = [...result.damaged.map(({ path }) => ({ path, why: words.why.damaged })), ...result.skipped.map(({ path, why }) => ({ path, why: why === "link" ? words.why.link : words.why.other }))];
  return (
    <div class="stack">
      <p>{words.opens(result.files, size(result.bytes), openings, within(when(result.ends, Date.now())))}</p>
      <div class="row firm">
        <input ref={field} class="input code grow" readOnly aria-label={words.link} value={result.link} onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="button main" onClick={() => void copy()}><Icon name={copied ? "check" : "link"} size={18} />{copied ? words.copied : words.copy}</button>
      </div>
      <Notice title={words.onlyNow}>
        <p class="soft">{words.onlyNowWhy}</p>
      </Notice>
      {left.length > 0 && (
        <Notice tone="warn" title={words.entriesLeftOut(left.length)}>
          <ul class="named small" tabIndex={0} aria-label={words.leftOut}>{left.slice(0, SHOWN).map(({ path, why }) => <li key={path}><span class="code"><bdi>{shown(path)}</bdi></span> <span class="soft">{why}</span></li>)}</ul>
        </Notice>
      )}
    </div>
  );
}

function strong(words: string) {
  return <span class="strong">{words}</span>;
}

/** Names of what was left out that are shown. */
const SHOWN = 100;
