/** Marks: forgetting snapshots, bringing them back, pinning and tagging them. What is signed is asked first, by name. */

import { useSignal } from "@preact/signals";
import type { Guard, Snapshot } from "../../../core/api";
import type { App } from "../../app";
import { type Act, type Outcome, type Question, forgettable, tagsOf, typedTags } from "../../marking";
import { useDeviceName } from "../../parts/device-name";
import { Field, FormDialog } from "../../parts/form";
import { Icon, type IconName } from "../../parts/icon";
import { Notice, ProblemNotice, type Tone } from "../../parts/notice";
import { say } from "../../parts/say";
import { marks as words } from "../../../words/marks";
import { parts } from "../../../words/parts";
import { day, shown, span } from "../../words";

/** What can be done to the snapshots that are ticked. */
export function Marks({ app, ticked, done }: { app: App; ticked: readonly Snapshot[]; done: () => void }) {
  const { marking } = app;
  const outcome = marking.outcome.value && told(marking.outcome.value);
  const isForgotten = marking.forgotten.value !== null;
  const isOffered = (act: Act) => (act !== "pin" && act !== "unpin") || ticked.some(({ pinned }) => pinned === (act === "unpin"));
  const acts = isForgotten ? FORGOTTEN : KEPT.filter(({ act }) => isOffered(act));
  return (
    <>
      {outcome && <Notice tone={outcome.tone} title={outcome.title}><p class="soft">{outcome.advice}</p></Notice>}
      {ticked.length > 0 && (
        <div class="row marks" role="group" aria-label={words.withTicked}>
          <span class="small soft">{words.ticked(ticked.length)}</span>
          {acts.map(({ act, icon }) => (
            <button key={act} type="button" class={act === "forget" ? "button small bad" : "button small"} onClick={() => void marking.begin(act, ticked)}><Icon name={icon} size={16} />{words.begin[act]}</button>
          ))}
          <button type="button" class="button small plain" onClick={done}>{words.tickNone}</button>
        </div>
      )}
      {marking.question.value && <Ask app={app} question={marking.question.value} />}
    </>
  );
}

function Ask({ app, question }: { app: App; question: Question }) {
  const { act, snapshots, guard, isSigning, problem } = question;
  const { marking } = app;
  const device = useDeviceName(app);
  const removed = useSignal<readonly string[]>([]);
  const typed = useSignal("");
  const left = act === "forget" ? forgettable(snapshots) : snapshots;
  const add = typedTags(typed.value).filter((tag) => !snapshots.every(({ tags }) => tags.includes(tag)));
  const isEmpty = left.length === 0 || (act === "tag" && add.length === 0 && removed.value.length === 0) || device.name === "";
  const sign = async () => {
    if (isEmpty) return;
    await marking.sign({ add, remove: [...removed.value] }, device.name);
    if (marking.outcome.value) say(told(marking.outcome.value).title);
  };
  return (
    <FormDialog title={words.ask[act](left.length)} close={() => marking.cancel()} submit={() => void sign()} isBusy={isSigning} isReady={!isEmpty && guard?.at !== "asking"}
      isBad={act === "forget"} act={isSigning ? parts.signing : words.sign[act]}>
      <ul class="named">{snapshots.map((snapshot) => <Named key={snapshot.id} app={app} snapshot={snapshot} note={noteOf(act, snapshot, guard?.at === "here" ? guard.value : null)} />)}</ul>
      <p>{words.says[act]}</p>
      {act === "forget" && <Stays guard={guard} />}
      {act === "tag" && (
        <>
          {tagsOf(snapshots).length > 0 && (
            <div class="row" role="group" aria-label={words.tagsToRemove}>
              <span class="small soft">{words.remove}</span>
              {tagsOf(snapshots).map((tag) => (
                <button key={tag} type="button" class="button small removed" aria-pressed={removed.value.includes(tag)} onClick={() => { removed.value = removed.value.includes(tag) ? removed.value.filter((one) => one !== tag) : [...removed.value, tag]; }}><bdi>{shown(tag)}</bdi></button>
              ))}
            </div>
          )}
          <Field label={words.addTags} hint={words.commas} maxLength={1_000} placeholder={words.tagExamples} onInput={(event) => { typed.value = event.currentTarget.value; }} />
        </>
      )}
      {device.field}
      {problem && <ProblemNotice problem={problem} />}
    </FormDialog>
  );
}

/** One of the snapshots that are signed about. */
function Named({ app, snapshot, note }: { app: App; snapshot: Snapshot; note: string | null }) {
  return (
    <li>
      <span class="strong">{app.whenMade.value(snapshot, Date.now())}</span> <bdi>{shown(snapshot.source)}</bdi> · <bdi>{shown(snapshot.device)}</bdi>
      {note && <span class="small soft">{note}</span>}
    </li>
  );
}

function Stays({ guard }: { guard: Question["guard"] }) {
  if (guard?.at === "asking") return <p class="small soft" role="status">{words.asking}</p>;
  if (guard?.at !== "here") return <Notice tone="warn" title={words.untold}><p class="soft">{words.untoldWhy}</p></Notice>;
  const { grace } = guard.value;
  return <p class="small soft">{words.bringBack(span((grace ?? DAY) * 1000))}</p>;
}

function noteOf(act: Act, snapshot: Snapshot, guard: Guard | null): string | null {
  if (act !== "forget") return null;
  if (snapshot.pinned) return words.isPinned;
  const stays = guard?.stays.find(({ id }) => id === snapshot.id);
  switch (stays?.by) {
    case "hold": return words.stays.hold;
    case "last": return words.stays.last;
    case "young": return words.stays.young(day(stays.until ?? 0, Date.now()));
    default: return null;
  }
}

/** Says what became of it. */
export function told({ act, state, changed, unchanged }: Outcome): { tone: Tone; title: string; advice: string } {
  if (state === "waiting") return { tone: "warn", title: words.stored, advice: words.storedWhy };
  const title = words.done(act, changed);
  if (unchanged > 0) return { tone: "warn", title, advice: words.unchanged(unchanged, act === "undelete") };
  return { tone: "good", title, advice: words.after[act] };
}

/** Seconds that prune leaves what nothing needs, without a policy. */
const DAY = 86_400;

const KEPT: readonly { act: Act; icon: IconName }[] = [
  { act: "pin", icon: "pin" },
  { act: "unpin", icon: "pin" },
  { act: "tag", icon: "tag" },
  { act: "forget", icon: "trash" },
];
const FORGOTTEN: typeof KEPT = [{ act: "undelete", icon: "restore" }];
