/** The end of a backup: what was saved, whether the service has verified it, what was not saved and why. */

import { useEffect } from "preact/hooks";
import type { LeftOut, Session } from "../../../core/api";
import type { App } from "../../app";
import type { Backing } from "../../backing";
import { leftOutWords, reasonWords, troubles } from "../../plain";
import { Icon } from "../../parts/icon";
import { Badge, Notice, ProblemNotice } from "../../parts/notice";
import { say } from "../../parts/say";
import { viewOf } from "../../route";
import { count, shown, size, span } from "../../words";
import { backup } from "../../../words/backup";
import { parts } from "../../../words/parts";
import { plain } from "../../../words/plain";
import { problems } from "../../../words/problems";

export function Done({ app, state, session }: { app: App; state: Extract<Backing, { at: "done" }>; session: Session }) {
  const words = backup.end;
  const { result, options } = state;
  const verified = result.receipt === "verified";
  const isWhole = troubles(result.leftOut) === 0;
  useEffect(() => say(`${verified ? words.doneVerified : words.doneStored}${isWhole ? "" : ` ${words.notWhole}.`}`), [verified, isWhole]);
  const saved = result.bytes > 0 ? 1 - result.storedBytes / result.bytes : 0;
  return (
    <div class="page stack wide">
      <div class="card padded stack">
        <div class="verdict">
          <span class={`verdict-icon ${isWhole ? "good" : "warn"}`}><Icon name={isWhole ? "check" : "warning"} size={28} /></span>
          <div class="grow">
            <h1 class="wrap">{words.title(<bdi>{shown(options.label)}</bdi>, isWhole)}</h1>
            <p class="soft">{words.summary(plain.files(result.files), size(result.bytes), span(result.seconds * 1000), result.resumed)}</p>
          </div>
        </div>
        <div class="receipt">
          {verified
            ? <Badge tone="good" icon="shield">{words.verified}</Badge>
            : <Badge tone="calm" icon="clock">{words.waits}</Badge>}
          <span class="small soft">{verified ? words.verifiedHint : words.waitsHint}</span>
        </div>
      </div>
      <dl class="figures">
        <div><dt>{backup.uploaded}</dt><dd>{size(result.storedBytes)} <small>{saved > 0.005 && result.storedBytes > 0 ? words.insteadOf(size(result.bytes)) : ""}</small></dd></div>
        <div><dt>{words.newData}</dt><dd>{size(result.newBytes)}</dd></div>
        <div><dt>{backup.storedAlready}</dt><dd>{size(Math.max(0, result.bytes - result.newBytes))}</dd></div>
        <div><dt>{words.newFiles}</dt><dd>{count(result.newFiles)}</dd></div>
        <div><dt>{words.changedFiles}</dt><dd>{count(result.changedFiles)}</dd></div>
        <div><dt>{backup.unchangedFiles}</dt><dd>{count(result.unchangedFiles)}</dd></div>
      </dl>
      <NotSaved leftOut={result.leftOut} />
      {state.blindTo.includes("odd-names") && <p class="faint small">{words.oddNames}</p>}
      <div class="row">
        <button type="button" class="button main" onClick={() => app.backing.choose()}>{words.another}</button>
        <button type="button" class="button" onClick={() => void app.backing.again()}>{state.opensAnew ? words.again : backup.unfinished.chooseAgain}</button>
        {session.role === "full" && <button type="button" class="button plain" onClick={() => app.route.go(viewOf("restore"))}>{words.snapshots}</button>}
      </div>
    </div>
  );
}

export function Ended({ app, state }: { app: App; state: Extract<Backing, { at: "ended" }> }) {
  const words = backup.end;
  const { problem, progress, options } = state;
  const cancelled = problem.code === "cancelled";
  const goesOn = cancelled || problem.canRetry;
  const secured = progress?.securedBytes ?? 0;
  const kept = `${secured > 0 ? words.isSafe(size(secured)) : words.nothingSafe} ${words.earlier}`;
  useEffect(() => say(cancelled ? words.wasStopped : words.failed(problems[problem.code].title)), [cancelled, problem.code]);
  return (
    <div class="page stack wide">
      <header class="page-head">
        <h1 class="wrap">{cancelled ? words.stopped : words.notFinished}</h1>
        <p class="soft"><bdi>{shown(options.label)}</bdi></p>
      </header>
      {cancelled
        ? <Notice title={words.youStopped}><p class="soft">{kept}</p></Notice>
        : <ProblemNotice problem={{ ...problem, canRetry: false }} />}
      {!cancelled && <p class="soft">{kept}</p>}
      {progress && <NotSaved leftOut={progress.leftOut} />}
      <div class="row">
        {goesOn && <button type="button" class="button main" onClick={() => void app.backing.again()}>{cancelled ? backup.goOn : parts.tryAgain}</button>}
        <button type="button" class="button" onClick={() => app.backing.choose()}>{words.anotherFolder}</button>
      </div>
    </div>
  );
}

function NotSaved({ leftOut }: { leftOut: LeftOut }) {
  const words = backup.end;
  if (troubles(leftOut) === 0 && leftOut.excluded === 0) return null;
  const bad = leftOut.examples.filter((one) => one.why !== "excluded");
  const more = troubles(leftOut) - bad.length;
  return (
    <Notice tone={troubles(leftOut) > 0 ? "warn" : "calm"} title={troubles(leftOut) > 0 ? words.notWhole : words.leftOut}>
      <p class="soft">{leftOutWords(leftOut)}</p>
      {leftOut.changing > 0 && <p class="soft">{words.changing}</p>}
      {bad.length > 0 && (
        <details>
          <summary><Icon name="forward" size={16} />{parts.which}</summary>
          <ul class="inside stack tight named" tabIndex={0} aria-label={words.notSaved}>
            {bad.map((one, i) => <li key={i}><span class="code"><bdi>{shown(one.path)}</bdi></span> <span class="small soft">{plain.leftOut[one.why]}{one.detail ? `: ${reasonWords(one.detail)}` : ""}</span></li>)}
            {more > 0 && <li class="small soft">{parts.others(more)}</li>}
          </ul>
        </details>
      )}
    </Notice>
  );
}
