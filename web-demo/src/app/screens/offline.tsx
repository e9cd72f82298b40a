/** Offline: the list of snapshots as the server told it last. Nothing can be done with it but look. */

import { useSignal } from "@preact/signals";
import type { LastKnown, Snapshot } from "../../core/api";
import type { App } from "../app";
import { Dialog } from "../parts/dialog";
import { Icon, Mark } from "../parts/icon";
import { Empty, Notice } from "../parts/notice";
import { Rows } from "../parts/rows";
import { counted, shown, size, stamp, whenAmong } from "../words";

export function Offline({ app, known }: { app: App; known: LastKnown }) {
  const { snapshots, time } = known;
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
        <div class="side-foot"><p class="small faint">Offline</p></div>
        <button type="button" class="button small lock" onClick={() => void app.lock()}><Icon name="lock" size={16} /><span>Lock</span></button>
      </header>
      <main id="content" tabIndex={-1}>
        <div class="page fill">
          <header class="page-head"><h1>Snapshots as of {stamp(time)}</h1></header>
          <Notice tone="warn" icon="offline" title="Offline: this is the last known list"
            acts={<button type="button" class="button small" onClick={() => void again()}>Ask the server again</button>}>
            <p class="soft">It may have changed since. What is in the snapshots lies on the server: nothing can be opened, restored or backed up until it answers.</p>
          </Notice>
          {snapshots.length === 0
            ? <Empty icon="restore" title="There was no snapshot then" />
            : <Rows<Snapshot> label={`Snapshots as of ${stamp(time)}, offline`} rows={snapshots} rowHeight={68} look="last-known" columns={2} keyOf={({ id }) => id} isLanding
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
        <span class="small soft">{counted(snapshot.files, "file")}</span>
      </div>
    </>
  );
}

function Looked({ snapshot, time, close }: { snapshot: Snapshot; time: number; close: () => void }) {
  return (
    <Dialog title={shown(snapshot.source)} close={close} footer={<button type="button" class="button" onClick={close}>Close</button>}>
      <div class="stack">
        <Notice icon="offline" title="What is in it needs the server"><p class="soft">Files lie on the server alone. This browser keeps what stands here, as of {stamp(time)}.</p></Notice>
        <dl class="pairs">
          <dt>Made</dt><dd>{stamp(snapshot.time)}</dd>
          <dt>Device</dt><dd><bdi>{shown(snapshot.device)}</bdi></dd>
          <dt>Holds</dt><dd>{counted(snapshot.files, "file")}, {size(snapshot.bytes)}</dd>
          {snapshot.tags.length > 0 && <><dt>Tags</dt><dd>{snapshot.tags.map(shown).join(", ")}</dd></>}
          <dt>Pinned</dt><dd>{snapshot.pinned ? "yes" : "no"}</dd>
          {snapshot.troubles.unreadable > 0 && <><dt>Lacks</dt><dd>{counted(snapshot.troubles.unreadable, "entry", "entries")} that could not be read</dd></>}
        </dl>
      </div>
    </Dialog>
  );
}
