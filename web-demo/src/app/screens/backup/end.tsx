/** The end of a backup: what was saved, whether the service has verified it, what was not saved and why. */

import { useEffect } from "preact/hooks";
import type { LeftOut, Session } from "../../../core/api";
import type { App } from "../../app";
import type { Backing } from "../../backing";
import { LEFT_OUT, leftOutWords, reasonWords, troubles } from "../../plain";
import { Icon } from "../../parts/icon";
import { Badge, Notice, ProblemNotice } from "../../parts/notice";
import { say } from "../../parts/say";
import { viewOf } from "../../route";
import { count, counted, shown, size, span } from "../../words";

export function Done({ app, state, session }: { app: App; state: Extract<Backing, { at: "done" }>; session: Session }) {
  const { result, options } = state;
  const verified = result.receipt === "verified";
  const isWhole = troubles(result.leftOut) === 0;
  useEffect(() => say(`${verified ? "The backup is done, and verified by the service." : "The backup is stored."}${isWhole ? "" : " Not everything was saved as it is."}`), [verified, isWhole]);
  const saved = result.bytes > 0 ? 1 - result.storedBytes / result.bytes : 0;
  return (
    <div class="page stack wide">
      <div class="card padded stack">
        <div class="verdict">
          <span class={`verdict-icon ${isWhole ? "good" : "warn"}`}><Icon name={isWhole ? "check" : "warning"} size={28} /></span>
          <div class="grow">
            <h1 class="wrap"><bdi>{shown(options.label)}</bdi> is backed up{isWhole ? "" : ", with exceptions"}</h1>
            <p class="soft">{counted(result.files, "file")}, {size(result.bytes)}, in {span(result.seconds * 1000)}{result.resumed ? ", going on from an earlier run" : ""}.</p>
          </div>
        </div>
        <div class="receipt">
          {verified
            ? <Badge tone="good" icon="shield">Verified by the service</Badge>
            : <Badge tone="calm" icon="clock">Stored, waiting for the service to verify it</Badge>}
          <span class="small soft">{verified ? "All that was uploaded is there, whole and unaltered." : "This changes here by itself. You may close the page."}</span>
        </div>
      </div>
      <dl class="figures">
        <div><dt>Uploaded</dt><dd>{size(result.storedBytes)} <small>{saved > 0.005 && result.storedBytes > 0 ? `instead of ${size(result.bytes)}` : ""}</small></dd></div>
        <div><dt>New data</dt><dd>{size(result.newBytes)}</dd></div>
        <div><dt>Stored already</dt><dd>{size(Math.max(0, result.bytes - result.newBytes))}</dd></div>
        <div><dt>New files</dt><dd>{count(result.newFiles)}</dd></div>
        <div><dt>Changed files</dt><dd>{count(result.changedFiles)}</dd></div>
        <div><dt>Unchanged files</dt><dd>{count(result.unchangedFiles)}</dd></div>
      </dl>
      <NotSaved leftOut={result.leftOut} />
      {state.blindTo.includes("odd-names") && (
        <p class="faint small">If there are files or folders with unusual names, they are not in it: this browser hides them of a picked folder. Drop the folder on the page, or choose it as a list, to save them too.</p>
      )}
      <div class="row">
        <button type="button" class="button main" onClick={() => app.backing.choose()}>Back up something else</button>
        <button type="button" class="button" onClick={() => void app.backing.again()}>Back it up again</button>
        {session.role === "full" && <button type="button" class="button plain" onClick={() => app.route.go(viewOf("restore"))}>See all snapshots</button>}
      </div>
    </div>
  );
}

export function Ended({ app, state }: { app: App; state: Extract<Backing, { at: "ended" }> }) {
  const { problem, progress, options } = state;
  const cancelled = problem.code === "cancelled";
  const goesOn = cancelled || problem.canRetry;
  const secured = progress?.securedBytes ?? 0;
  const kept = secured > 0 ? `${size(secured)} of this backup are safe. The next backup of this folder does not send them again.` : "Nothing of this backup is safe yet.";
  useEffect(() => say(cancelled ? "The backup was stopped." : `The backup stopped. ${problem.title}`), [cancelled, problem.title]);
  return (
    <div class="page stack wide">
      <header class="page-head">
        <h1 class="wrap">{cancelled ? "Stopped" : "The backup did not finish"}</h1>
        <p class="soft"><bdi>{shown(options.label)}</bdi></p>
      </header>
      {cancelled
        ? <Notice title="You stopped this backup"><p class="soft">{kept} Earlier backups are not affected.</p></Notice>
        : <ProblemNotice problem={{ ...problem, canRetry: false }} />}
      {!cancelled && <p class="soft">{kept} Earlier backups are not affected.</p>}
      {progress && <NotSaved leftOut={progress.leftOut} />}
      <div class="row">
        {goesOn && <button type="button" class="button main" onClick={() => void app.backing.again()}>{cancelled ? "Go on" : "Try again"}</button>}
        <button type="button" class="button" onClick={() => app.backing.choose()}>Choose another folder</button>
      </div>
    </div>
  );
}

function NotSaved({ leftOut }: { leftOut: LeftOut }) {
  if (troubles(leftOut) === 0 && leftOut.excluded === 0) return null;
  const bad = leftOut.examples.filter((one) => one.why !== "excluded");
  const more = troubles(leftOut) - bad.length;
  return (
    <Notice tone={troubles(leftOut) > 0 ? "warn" : "calm"} title={troubles(leftOut) > 0 ? "Not everything was saved as it is" : "Left out"}>
      <p class="soft">{leftOutWords(leftOut)}</p>
      {leftOut.changing > 0 && <p class="soft">A growing log is saved up to that moment. Any other file may be a mixture of old and new: close the program that writes to it, and back up again.</p>}
      {bad.length > 0 && (
        <details>
          <summary><Icon name="forward" size={16} />Which ones</summary>
          <ul class="inside stack tight named" tabIndex={0} aria-label="What was not saved">
            {bad.map((one, i) => <li key={i}><span class="code"><bdi>{shown(one.path)}</bdi></span> <span class="small soft">{LEFT_OUT[one.why]}{one.detail ? `: ${reasonWords(one.detail)}` : ""}</span></li>)}
            {more > 0 && <li class="small soft">and {counted(more, "other")}</li>}
          </ul>
        </details>
      )}
    </Notice>
  );
}
