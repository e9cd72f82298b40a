/** Marks: forgetting snapshots, bringing them back, pinning and tagging them. What is signed is asked first, by name. */

import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import type { Guard, Snapshot } from "../../../core/api";
import type { App } from "../../app";
import { type Act, type Question, forgettable, tagsOf, typedTags } from "../../marking";
import { DeviceName } from "../../parts/device-name";
import { Dialog } from "../../parts/dialog";
import { Icon, type IconName } from "../../parts/icon";
import { Notice, ProblemNotice } from "../../parts/notice";
import { counted, day, shown, span } from "../../words";

/** What can be done to the snapshots that are ticked. */
export function Marks({ app, ticked, done }: { app: App; ticked: readonly Snapshot[]; done: () => void }) {
  const { marking } = app;
  const outcome = marking.outcome.value;
  const isForgotten = marking.forgotten.value !== null;
  const isOffered = (act: Act) => (act !== "pin" && act !== "unpin") || ticked.some(({ pinned }) => pinned === (act === "unpin"));
  const acts = isForgotten ? FORGOTTEN : KEPT.filter(({ act }) => isOffered(act));
  return (
    <>
      {outcome && <Notice tone={outcome.tone} title={outcome.title}><p class="soft">{outcome.words}</p></Notice>}
      {ticked.length > 0 && (
        <div class="row marks" role="group" aria-label="With the ticked snapshots">
          <span class="small soft">{counted(ticked.length, "snapshot")} ticked</span>
          {acts.map(({ act, words, icon }) => (
            <button key={act} type="button" class={act === "forget" ? "button small bad" : "button small"} onClick={() => void marking.begin(act, ticked)}><Icon name={icon} size={16} />{words}…</button>
          ))}
          <button type="button" class="button small plain" onClick={done}>Tick none</button>
        </div>
      )}
      {marking.question.value && <Ask app={app} question={marking.question.value} />}
    </>
  );
}

function Ask({ app, question }: { app: App; question: Question }) {
  const { act, snapshots, guard, isSigning, problem } = question;
  const { marking } = app;
  const stage = app.staging.stage.value;
  const unnamed = stage.at === "open" && stage.session.client === null ? stage.environment.suggestedName : null;
  const device = useSignal(unnamed ?? "");
  const removed = useSignal<readonly string[]>([]);
  const typed = useSignal("");
  const name = useId();
  const { title, button, says } = WORDS[act];
  const left = act === "forget" ? forgettable(snapshots) : snapshots;
  const add = typedTags(typed.value).filter((tag) => !snapshots.every(({ tags }) => tags.includes(tag)));
  const isEmpty = left.length === 0 || (act === "tag" && add.length === 0 && removed.value.length === 0) || (unnamed !== null && device.value.trim() === "");
  const sign = (event: Event) => {
    event.preventDefault();
    if (!isEmpty) void marking.sign({ add, remove: [...removed.value] }, unnamed === null ? null : device.value.trim());
  };
  return (
    <Dialog title={`${title} ${counted(left.length, "snapshot")}?`} close={() => marking.cancel()}
      footer={<>
        <button type="button" class="button" disabled={isSigning} onClick={() => marking.cancel()}>Cancel</button>
        <button type="submit" form={name} class={act === "forget" ? "button bad" : "button main"} disabled={isSigning || isEmpty || guard?.at === "asking"}>{isSigning ? "Signing…" : button}</button>
      </>}>
      <form id={name} class="stack tight" onSubmit={sign}>
        <ul class="named">{snapshots.map((snapshot) => <Named key={snapshot.id} app={app} snapshot={snapshot} note={noteOf(act, snapshot, guard?.at === "here" ? guard.value : null)} />)}</ul>
        <p>{says}</p>
        {act === "forget" && <Stays guard={guard} />}
        {act === "tag" && (
          <>
            {tagsOf(snapshots).length > 0 && (
              <div class="row" role="group" aria-label="Tags to remove">
                <span class="small soft">Remove:</span>
                {tagsOf(snapshots).map((tag) => (
                  <button key={tag} type="button" class="button small removed" aria-pressed={removed.value.includes(tag)} onClick={() => { removed.value = removed.value.includes(tag) ? removed.value.filter((one) => one !== tag) : [...removed.value, tag]; }}><bdi>{shown(tag)}</bdi></button>
                ))}
              </div>
            )}
            <div class="field">
              <label for={`${name}-add`}>Add tags</label>
              <input id={`${name}-add`} class="input" type="text" maxLength={1_000} autocomplete="off" placeholder="before-move, taxes" aria-describedby={`${name}-hint`} onInput={(event) => { typed.value = event.currentTarget.value; }} />
              <p class="hint" id={`${name}-hint`}>With commas between them.</p>
            </div>
          </>
        )}
        {unnamed !== null && <DeviceName id={name} value={unnamed} type={(typed) => { device.value = typed; }} />}
        {problem && <ProblemNotice problem={problem} />}
      </form>
    </Dialog>
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
  if (guard?.at === "asking") return <p class="small soft" role="status">Asking what the policy keeps…</p>;
  if (guard?.at !== "here") return <Notice tone="warn" title="What the policy keeps cannot be told"><p class="soft">Its floor and holds count all the same.</p></Notice>;
  const { grace } = guard.value;
  return <p class="small soft">You can bring them back for at least {span((grace ?? DAY) * 1000)}. For that long prune deletes nothing of theirs. What the policy’s floor or a hold protects can be brought back for as long as it is protected.</p>;
}

function noteOf(act: Act, snapshot: Snapshot, guard: Guard | null): string | null {
  if (act !== "forget") return null;
  if (snapshot.pinned) return "It is pinned, and stays: unpin it first.";
  const stays = guard?.stays.find(({ id }) => id === snapshot.id);
  switch (stays?.by) {
    case "hold": return "Its data stays: a hold keeps all backups of this name.";
    case "last": return "Its data stays: the floor keeps the last backups of each name.";
    case "young": return `Its data stays until ${day(stays.until ?? 0, Date.now())}: the floor keeps what is that young.`;
    default: return null;
  }
}

/** Seconds that prune leaves what nothing needs, without a policy. */
const DAY = 86_400;

const KEPT: readonly { act: Act; words: string; icon: IconName }[] = [
  { act: "pin", words: "Pin", icon: "pin" },
  { act: "unpin", words: "Unpin", icon: "pin" },
  { act: "tag", words: "Tags", icon: "tag" },
  { act: "forget", words: "Forget", icon: "trash" },
];
const FORGOTTEN: typeof KEPT = [{ act: "undelete", words: "Bring back", icon: "restore" }];

const WORDS: Record<Act, { title: string; button: string; says: string }> = {
  forget: { title: "Forget", button: "Sign and forget", says: "They leave the lists of every device at once, and prune may free what only they need." },
  undelete: { title: "Bring back", button: "Sign and bring back", says: "They stand in the lists of every device again." },
  pin: { title: "Pin", button: "Sign and pin", says: "They are kept, whatever the policy says, and nobody can forget them before somebody unpins them." },
  unpin: { title: "Unpin", button: "Sign and unpin", says: "From then on the policy and people may forget them." },
  tag: { title: "Change the tags of", button: "Sign", says: "Tags are names that all your devices see and the server cannot read." },
};
