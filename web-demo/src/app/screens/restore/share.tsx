/** Sharing: makes a link to files of a snapshot, and shows it once. */

import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Measure, Problem, Run, ShareProgress, ShareResult } from "../../../core/api";
import { problemOf } from "../../../core/problem";
import { LENGTH_MOST } from "../../../core/share/list";
import type { App, ToShare } from "../../app";
import { Choice } from "../../parts/choice";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Notice, ProblemNotice } from "../../parts/notice";
import { Progress } from "../../parts/progress";
import { say } from "../../parts/say";
import { count, counted, rate, remaining, shown, size, when, within } from "../../words";

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
      say("The link is made.");
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
    <Dialog title={state.at === "made" ? "The link is made" : `Share ${shown(what.title)}`} close={close} firm={state.at !== "asked"}
      footer={state.at === "asked" ? <>
        <button type="button" class="button" onClick={close}>Cancel</button>
        <button type="submit" form={form} class="button main" disabled={isTooLarge || measure?.files === 0}>Make the link</button>
      </> : state.at === "running" ? <button type="button" class="button" disabled={state.isStopping || running.current === null} onClick={stop}>{state.isStopping ? "Stopping…" : "Stop"}</button>
        : <button type="button" class="button" onClick={close}>Done</button>}>
      {state.at === "asked" && (
        <form id={form} class="stack" onSubmit={(event) => void make(event)}>
          {state.problem && <ProblemNotice problem={state.problem} />}
          <div class="field">
            <label for={`${form}-name`}>Name</label>
            <input id={`${form}-name`} class="input" type="text" maxLength={200} autocomplete="off" defaultValue={what.title} aria-describedby={`${form}-hint`} onInput={(event) => { name.current = event.currentTarget.value; }} />
            <p class="hint" id={`${form}-hint`}>{measure === null ? "Counting what is in it…" : `${counted(measure.files, "file")}, ${size(measure.bytes)}.`} Whoever opens the link sees this name too.</p>
          </div>
          {isTooLarge && <Notice tone="warn" title={`A link shares at most ${size(LENGTH_MOST)}`}><p class="soft">Choose less.</p></Notice>}
          <div class="field"><span class="label">Ends after</span><div><Choice<number> label="Ends after" value={days} change={setDays} options={[{ value: 1, words: "1 day" }, { value: 7, words: "7 days" }, { value: 30, words: "30 days" }]} /></div></div>
          <div class="field"><span class="label">May be opened</span><div><Choice<number> label="May be opened" value={openings} change={setOpenings} options={[{ value: 1, words: "once" }, { value: 5, words: "5 times" }, { value: 1000, words: "1,000 times" }]} /></div></div>
          <div class="stack tight small soft">
            <p><span class="strong">Whoever has the link</span> reads these files, their names and times, without a passphrase, until it ends. So does everybody it is passed on to.</p>
            <p><span class="strong">The server</span> stores a second copy of them, encrypted anew. It learns how large it is, and when and from where it is opened. It cannot read it. No key of your backups is given away.</p>
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
      <Progress part={part} label={`Sharing ${name}`} state={isWaiting ? "halted" : "running"} />
      <p class="small soft row ends firm">
        <span class="clip">{progress === null ? "Getting ready…" : isWaiting ? `${progress.problem?.title ?? "The server did not answer"}: it goes on by itself` : `${size(progress.bytes.done)} of ${size(progress.bytes.total)} stored`}</span>
        <span class="clip">{progress?.state === "running" ? `${rate(progress.rate)} · ${remaining(progress.eta === null ? null : progress.eta * 1000)}` : ""}</span>
      </p>
      <p class="small soft">Keep this page open. Nothing can be opened before all of it is there.</p>
    </div>
  );
}

function Made({ result, openings }: { result: ShareResult; openings: number }) {
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  useEffect(() => field.current?.select(), []);
  const copy = async () => {
    field.current?.select();
    await navigator.clipboard.writeText(result.link).then(() => { setCopied(true); say("Copied."); }, () => undefined);
  };
  const left = [...result.damaged.map(({ path }) => ({ path, why: "damaged" })), ...result.skipped.map(({ path, why }) => ({ path, why: why === "link" ? "a link to another place" : "no file" }))];
  return (
    <div class="stack">
      <p>It opens {counted(result.files, "file")}, {size(result.bytes)}, {openings === 1 ? "once" : `${count(openings)} times`} until {within(when(result.ends, Date.now()))}.</p>
      <div class="row firm">
        <input ref={field} class="input code grow" readOnly aria-label="The link" value={result.link} onFocus={(event) => event.currentTarget.select()} />
        <button type="button" class="button main" onClick={() => void copy()}><Icon name={copied ? "check" : "link"} size={18} />{copied ? "Copied" : "Copy"}</button>
      </div>
      <Notice title="It is shown only here, and only now">
        <p class="soft">The key is in the link, and is kept nowhere. Send it over a way that you trust. Under “Shares” you see how often it was opened, and can revoke it.</p>
      </Notice>
      {left.length > 0 && (
        <Notice tone="warn" title={`${counted(left.length, "entry", "entries")} left out`}>
          <ul class="named small" tabIndex={0} aria-label="Left out">{left.slice(0, SHOWN).map(({ path, why }) => <li key={path}><span class="code"><bdi>{shown(path)}</bdi></span> <span class="soft">{why}</span></li>)}</ul>
        </Notice>
      )}
    </div>
  );
}

/** Names of what was left out that are shown. */
const SHOWN = 100;
