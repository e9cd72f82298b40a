/** A preview: text and pictures as far as they are safe to show, judged by their bytes. Everything shown was verified. */

import { useSignal } from "@preact/signals";
import { useEffect, useState } from "preact/hooks";
import type { Entry, Preview as Previewed, Snapshot } from "../../../core/api";
import type { App } from "../../app";
import { ask, type Asked } from "../../asked";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Empty, ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { shown, size, stamp } from "../../words";
import { VersionsButton } from "./versions-button";

export function Preview({ app, snapshot, entry, close }: { app: App; snapshot: Snapshot; entry: Entry; close: () => void }) {
  const asked = useSignal<Asked<Previewed>>({ at: "asking" });
  const load = () => {
    asked.value = { at: "asking" };
    void ask(app.core.preview(snapshot.id, entry.id, PREVIEW_MAX), (answer) => { asked.value = answer; });
  };
  useEffect(load, [entry.id]);
  const canAskWhere = app.staging.stage.value.at === "open" && app.staging.stage.value.environment.canAskWhere;
  const download = () => void app.jobs.add(entry.name, "download", app.core.download(snapshot.id, [entry.id], { askWhere: canAskWhere }));
  return (
    <Dialog title={shown(entry.name)} close={close} broad
      footer={<><button type="button" class="button" onClick={close}>Close</button><VersionsButton app={app} snapshot={snapshot} entry={entry} /><button type="button" class="button main" onClick={download}><Icon name="download" size={18} />Download</button></>}>
      <p class="soft small preview-facts">{size(entry.size)}{entry.modified === null ? "" : ` · changed ${stamp(entry.modified)}`}{entry.mode === null || snapshot.fromBrowser ? "" : <> · <span class="code">{entry.mode}</span></>}</p>
      <div class="preview">
        {asked.value.at === "asking" && <div class="preview-wait"><Spinner label="Fetching and verifying…" /></div>}
        {asked.value.at === "failed" && <ProblemNotice problem={asked.value.problem} retry={load} />}
        {asked.value.at === "here" && <Content preview={asked.value.value} name={entry.name} />}
      </div>
    </Dialog>
  );
}

export function Content({ preview, name }: { preview: Previewed; name: string }) {
  if (preview.total === 0) return <Empty icon="file" title="This file is empty" />;
  if (preview.kind === "image" && preview.mediaType && SAFE_IMAGES.has(preview.mediaType)) {
    if (preview.bytes.length < preview.total) return <Empty icon="image" title="This picture is too large to show"><p>Download it to see it.</p></Empty>;
    return <Picture bytes={preview.bytes} mediaType={preview.mediaType} name={name} />;
  }
  if (preview.kind === "text") return <Text preview={preview} />;
  return <Empty icon="file" title="There is no preview of this kind of file"><p>Download it to open it with the right program.</p></Empty>;
}

function Text({ preview }: { preview: Previewed }) {
  const part = preview.bytes.subarray(0, TEXT_MAX);
  const text = new TextDecoder().decode(part);
  return (
    <>
      <pre class="text" tabIndex={0} aria-label="Content">{text}</pre>
      {part.length < preview.total && <p class="small soft">The first {size(part.length)} of {size(preview.total)}.</p>}
    </>
  );
}

function Picture({ bytes, mediaType, name }: { bytes: Uint8Array; mediaType: string; name: string }) {
  const [address, setAddress] = useState<string | null>(null);
  const [broken, setBroken] = useState(false);
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([bytes as BlobPart], { type: mediaType }));
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [bytes, mediaType]);
  if (broken) return <Empty icon="image" title="The browser cannot show this picture"><p>Its bytes are whole. Download it to open it.</p></Empty>;
  return address === null ? null : <img class="picture" src={address} alt={`Picture ${name}`} onError={() => setBroken(true)} />;
}

/** SVG is not among them: it is a document, and is shown as text. */
const SAFE_IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);
const PREVIEW_MAX = 16 * 1024 * 1024;
const TEXT_MAX = 256 * 1024;
