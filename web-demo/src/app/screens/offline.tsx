/** Offline: the list of snapshots as the server told it last. Nothing can be done with it but look. */

import { useSignal } from "@preact/signals";
import type { LastKnown, Snapshot } from "../../core/api";
import { parts } from "../../words/parts";
import { settings } from "../../words/settings";
import { shell } from "../../words/shell";
import { unlock } from "../../words/unlock";
import type { App } from "../app";
import { Dialog } from "../parts/dialog";
import { Icon, Mark } from "../parts/icon";
import { Empty, Notice } from "../parts/notice";
import { Rows } from "../parts/rows";
import { moment, shown, size, whenAmong } from "../words";

export function Offline({ app, known }: { app: App; known: LastKnown }) {
  const { snapshots, time } = known;
  const { lastKnown: words } = settings;
  const looked = useSignal<Snapshot | null>(null);
  const made = whenAmong(snapshots);
  // The keys are nowhere yet: the passphrase opens the repository once the server answers.
  const again = async () => {
    await app.lock();
    await app.staging.start();
  };
  return (
    <div class="shell alone">
      <header class="side">
        <p class="brand"><Mark /><span>Copal</span></p>
        <div class="side-foot"><p class="small faint">{words.offline}</p></div>
        <button type="button" class="button small lock" onClick={() => void app.lock()}><Icon name="lock" size={16} /><span>{shell.lock}</span></button>
      </header>
      <main id="content" tabIndex={-1}>
        <div class="page fill">
          <header class="page-head"><h1>{words.heading(moment(time))}</h1></header>
          <Notice tone="warn" icon="offline" title={words.title}
            acts={<button type="button" class="button small" onClick={() => void again()}>{unlock.askServer}</button>}>
            <p class="soft">{words.untilItAnswers}</p>
          </Notice>
          {snapshots.length === 0
            ? <Empty icon="restore" title={words.noneThen} />
            : <Rows<Snapshot> label={words.label(moment(time))} rows={snapshots} rowHeight={68} look="last-known" columns={2} keyOf={({ id }) => id} isLanding
                open={(snapshot) => { looked.value = snapshot; }} cells={(snapshot) => <Cells snapshot={snapshot} made={made(snapshot, Date.now())} />} />}
        </div>
      </main>
      {looked.value && <Looked snapshot={looked.value} time={time} close={() => { looked.value = null; }} />}
    </div>
  );
}

function Cells({ snapshot, made }: { snapshot: Snapshot; made: string }) {
  return (
    <>
      <div role="gridcell" class="two">
        <span class="strong clip">{made}</span>
        <span class="small soft clip"><bdi>{shown(snapshot.source)}</bdi> · <bdi>{shown(snapshot.device)}</bdi>{snapshot.tags.map((tag) => <span key={tag} class="tag">{shown(tag)}</span>)}</span>
      </div>
      <div role="gridcell" class="two facts">
        <span>{size(snapshot.bytes)}</span>
        <span class="small soft">{settings.lastKnown.files(snapshot.files)}</span>
      </div>
    </>
  );
}

function Looked({ snapshot, time, close }: { snapshot: Snapshot; time: number; close: () => void }) {
  const { lastKnown: words } = settings;
  return (
    <Dialog title={shown(snapshot.source)} close={close} footer={<button type="button" class="button" onClick={close}>{parts.close}</button>}>
      <div class="stack">
        <Notice icon="offline" title={words.needsServer}><p class="soft">{words.onServerAlone(moment(time))}</p></Notice>
        <dl class="pairs">
          <dt>{words.made}</dt><dd>{moment(snapshot.time)}</dd>
          <dt>{words.device}</dt><dd><bdi>{shown(snapshot.device)}</bdi></dd>
          <dt>{words.holds}</dt><dd>{words.files(snapshot.files)}, {size(snapshot.bytes)}</dd>
          {snapshot.tags.length > 0 && <><dt>{words.tags}</dt><dd>{snapshot.tags.map(shown).join(", ")}</dd></>}
          <dt>{words.pinned}</dt><dd>{snapshot.pinned ? words.yes : words.no}</dd>
          {snapshot.troubles.unreadable > 0 && <><dt>{words.lacks}</dt><dd>{words.unread(snapshot.troubles.unreadable)}</dd></>}
        </dl>
      </div>
    </Dialog>
  );
}
