/** Running: how far it is, what it is doing, and what is safe already. Every place keeps its size, so that nothing jumps. */

import { useEffect } from "preact/hooks";
import type { BackupProgress } from "../../../core/api";
import type { App } from "../../app";
import { partOf, type Backing } from "../../backing";
import { leftOutWords, phaseWords, troubles } from "../../plain";
import { Icon } from "../../parts/icon";
import { Badge } from "../../parts/notice";
import { Progress } from "../../parts/progress";
import { say } from "../../parts/say";
import { count, percent, rate, remaining, shown, size } from "../../words";
import { backup } from "../../../words/backup";
import { parts } from "../../../words/parts";
import { plain } from "../../../words/plain";
import { Halt } from "./halt";

type State = Extract<Backing, { at: "running" }>;

export function Running({ app, state }: { app: App; state: State }) {
  const words = backup.running;
  const { progress, asked } = state;
  const part = partOf(progress);
  const paused = asked === "pause" || progress?.state === "paused";
  const doing = asked === "cancel" ? words.stopping : paused ? words.paused : phaseWords(progress);
  useSpoken(doing, progress, part);

  return (
    <div class="page stack wide">
      <header class="page-head">
        <h1 class="wrap">{words.title(<bdi>{shown(state.options.label)}</bdi>)}</h1>
      </header>
      <div class="card padded stack">
        <div class="row ends firm">
          <p class="strong">{asked === "cancel" ? parts.stopping : doing}</p>
          <p class="part">{part === null ? "" : percent(Math.floor(part * 1e6), 1e6)}</p>
        </div>
        <Progress part={part} label={words.progress} state={paused || progress?.state === "offline" ? "halted" : "running"} />
        <div class="now"><Now progress={progress} paused={paused} /></div>
        <div class="row ends">
          <div class="row">
            {paused
              ? <button type="button" class="button main" disabled={asked === "cancel"} onClick={() => app.backing.ask("go")}><Icon name="play" size={18} />{words.resume}</button>
              : <button type="button" class="button" disabled={asked === "cancel" || !progress} onClick={() => app.backing.ask("pause")}><Icon name="pause" size={18} />{words.pause}</button>}
            <button type="button" class="button plain" disabled={asked === "cancel"} onClick={() => app.backing.ask("cancel")}>{words.stop}</button>
          </div>
          <p class="small soft safe"><Icon name="shield" size={18} />{progress && progress.securedBytes > 0 ? words.isSafe(size(progress.securedBytes)) : words.keepOpen}</p>
        </div>
      </div>
      <Figures progress={progress} />
      <Throughput progress={progress} />
      {progress && <LeftOutSoFar progress={progress} />}
    </div>
  );
}

function Now({ progress, paused }: { progress: BackupProgress | null; paused: boolean }) {
  if (!progress) return <p class="soft small">{parts.gettingReady}</p>;
  if (progress.state === "offline" || progress.state === "retrying") return <Halt problem={progress.problem} retryAt={progress.retryAt} offline={progress.state === "offline"} />;
  if (paused) return <p class="soft small">{backup.running.pausedHint}</p>;
  return (
    <>
      <p class="small soft row ends firm">
        <span>{nowWords(progress)}</span>
        <span>{progress.rate > 0 ? rate(progress.rate) : ""}</span>
      </p>
      <p class="small faint clip path"><bdi>{progress.currentFile === null ? "\u00a0" : shown(progress.currentFile)}</bdi></p>
    </>
  );
}

function nowWords({ phase, files, eta }: BackupProgress): string {
  const words = backup.running;
  if (phase === "preparing") return words.preparing;
  if (phase === "scanning" && eta === null) return words.soFar(plain.files(files.done));
  if (phase === "verifying") return words.verifying;
  return remaining(eta === null ? null : eta * 1000);
}

function Figures({ progress }: { progress: BackupProgress | null }) {
  const words = backup.running;
  const files = progress?.files;
  const bytes = progress?.bytes;
  return (
    <dl class="figures">
      <div><dt>{words.read}</dt><dd>{size(bytes?.read ?? 0)} <small>{bytes?.total ? words.of(size(bytes.total)) : ""}</small></dd></div>
      <div><dt>{words.files}</dt><dd>{count(files?.done ?? 0)} <small>{files?.total ? words.of(count(files.total)) : ""}</small></dd></div>
      <div><dt>{backup.unchangedFiles}</dt><dd>{count(files?.unchanged ?? 0)}</dd></div>
      <div><dt>{backup.storedAlready}</dt><dd>{size((progress?.knownBytes ?? 0) + (progress?.unchangedBytes ?? 0))}</dd></div>
      <div><dt>{words.new}</dt><dd>{size(progress?.newBytes ?? 0)}</dd></div>
      <div><dt>{backup.uploaded}</dt><dd>{size(progress?.storedBytes ?? 0)} <small>{progress && progress.waitingBytes > 0 ? words.waiting(size(progress.waitingBytes)) : ""}</small></dd></div>
    </dl>
  );
}

function LeftOutSoFar({ progress }: { progress: BackupProgress }) {
  if (troubles(progress.leftOut) === 0) return null;
  return <p class="small"><Badge tone="warn" icon="warning">{backup.running.troubles}</Badge> <span class="soft">{leftOutWords({ ...progress.leftOut, excluded: 0 })} {backup.running.troublesHint}</span></p>;
}

function Throughput({ progress }: { progress: BackupProgress | null }) {
  const words = backup.running;
  return (
    <details class="throughput">
      <summary><Icon name="forward" size={16} />{words.throughput}</summary>
      <div class="inside">
        <table class="table">
          <thead><tr><th scope="col">{words.step}</th><th scope="col">{words.busy}</th><th scope="col" class="number">{words.speed}</th></tr></thead>
          <tbody>
            {(Object.keys(plain.stages) as (keyof typeof plain.stages)[]).map((key) => {
              const stage = progress?.stages[key];
              const busy = Math.min(1, stage?.busy ?? 0);
              return (
                <tr key={key}>
                  <th scope="row">{plain.stages[key]}</th>
                  <td><div class="busy"><div class="meter" aria-hidden="true"><div style={{ transform: `scaleX(${busy})` }} /></div><span>{Math.round(busy * 100)} %</span></div></td>
                  <td class="number">{stage && stage.rate > 0 ? rate(stage.rate) : "–"}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
        <p class="small faint">{progress ? words.workers(progress.workers) : "\u00a0"}</p>
      </div>
    </details>
  );
}

/** Tells a screen reader what changes, and every tenth of the way. */
function useSpoken(doing: string, progress: BackupProgress | null, part: number | null): void {
  const tenth = part === null ? 0 : Math.floor(part * 10);
  const state = progress?.state ?? "running";
  useEffect(() => say(state === "offline" ? backup.running.offline : doing), [doing, state]);
  useEffect(() => { if (tenth > 0 && tenth < 10) say(backup.running.percent(tenth * 10)); }, [tenth]);
}
