/** A preview: text, pictures, documents, sound and film as far as they are safe to show, judged by their bytes. Everything shown was verified. */

import { useSignal } from "@preact/signals";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry, Preview as Previewed, Snapshot } from "../../../core/api";
import { parts } from "../../../words/parts";
import { preview as words } from "../../../words/preview";
import type { App } from "../../app";
import { ask, type Asked as State } from "../../asked";
import { paint } from "../../colours/colours";
import { Asked } from "../../parts/asked";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Empty } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { keyAlong } from "../../way";
import { count, shown, size, moment } from "../../words";
import { Paper } from "./paper";
import { Player } from "./player";
import { VersionsButton } from "./versions-button";

/** `among`: the entries beside it; `show` turns to another one of them. */
export function Preview({ app, snapshot, entry, among, show, close }: { app: App; snapshot: Snapshot; entry: Entry; among: readonly Entry[]; show: (entry: Entry) => void; close: () => void }) {
  const asked = useSignal<State<Previewed>>({ at: "asking" });
  const newest = useRef(entry.id);
  newest.current = entry.id;
  const load = () => {
    asked.value = { at: "asking" };
    // Whoever leafs on wants no answer of the page before.
    void ask(app.core.preview(snapshot.id, entry.id, PREVIEW_MAX), (answer) => { if (newest.current === entry.id) asked.value = answer; });
  };
  useEffect(load, [entry.id]);
  const canAskWhere = app.staging.stage.value.at === "open" && app.staging.stage.value.environment.canAskWhere;
  const download = () => void app.jobs.add(entry.name, "download", app.core.download(snapshot.id, [entry.id], { askWhere: canAskWhere }));
  const files = among.filter(({ kind }) => kind === "file");
  const at = files.findIndex(({ id }) => id === entry.id);
  const pixels = asked.value.at === "here" ? asked.value.value.pixels : null;
  return (
    <Dialog title={shown(entry.name)} close={close} broad
      footer={<>
        {files.length > 1 && at >= 0 && <Leaf files={files} at={at} show={show} />}
        <button type="button" class="button" onClick={close}>{parts.close}</button>
        <VersionsButton app={app} snapshot={snapshot} entry={entry} />
        <button type="button" class="button main" onClick={download}><Icon name="download" size={18} />{words.download}</button>
      </>}>
      <p class="soft small preview-facts">{size(entry.size)}{pixels ? ` · ${count(pixels.width)} × ${count(pixels.height)}` : ""}{entry.modified === null ? "" : ` · ${words.changed(moment(entry.modified))}`}{entry.mode === null || snapshot.fromBrowser ? "" : <> · <span class="code">{entry.mode}</span></>}</p>
      <div class="preview">
        <Asked asked={asked.value} waiting={<div class="preview-wait"><Spinner label={words.fetching} /></div>} retry={load}>
          {(preview) => <Content key={entry.id} app={app} snapshot={snapshot} entry={entry} preview={preview} />}
        </Asked>
      </div>
    </Dialog>
  );
}

/** Goes to the file before or after, also by the arrow keys where nothing else takes them. */
function Leaf({ files, at, show }: { files: readonly Entry[]; at: number; show: (entry: Entry) => void }) {
  const turn = (by: number) => {
    const entry = files[at + by];
    if (entry) show(entry);
  };
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const by = { ArrowLeft: -1, ArrowRight: 1 }[keyAlong(event.key)];
      if (by === undefined || event.ctrlKey || event.altKey || event.metaKey || (event.target as Element).closest("audio, video, pre")) return;
      event.preventDefault();
      turn(by);
    };
    addEventListener("keydown", pressed);
    return () => removeEventListener("keydown", pressed);
  });
  return (
    <div class="row firm leaf">
      <button type="button" class="button icon" aria-label={words.fileBefore} disabled={at === 0} onClick={() => turn(-1)}><Icon name="back" size={18} /></button>
      <span class="small soft nowrap" role="status">{words.place(count(at + 1), count(files.length))}</span>
      <button type="button" class="button icon" aria-label={words.nextFile} disabled={at === files.length - 1} onClick={() => turn(1)}><Icon name="forward" size={18} /></button>
    </div>
  );
}

/** What a file shows of itself. */
export function Content({ app, snapshot, entry, preview }: { app: App; snapshot: Snapshot; entry: Entry; preview: Previewed }) {
  if (preview.total === 0) return <Empty icon="file" title={words.isEmpty} />;
  if (preview.kind === "image" && preview.mediaType && SAFE_IMAGES.has(preview.mediaType)) {
    if (preview.bytes.length < preview.total) return <Empty icon="image" title={words.tooLarge.title}><p>{words.tooLarge.advice}</p></Empty>;
    return <Picture bytes={preview.bytes} mediaType={preview.mediaType} name={entry.name} />;
  }
  if (preview.kind === "audio" || preview.kind === "video") return <Player app={app} snapshot={snapshot} entry={entry} preview={preview} />;
  if (preview.kind === "pdf") return <Paper app={app} snapshot={snapshot} entry={entry} preview={preview} />;
  if (preview.kind === "text") return <Plain preview={preview} name={entry.name} />;
  return <Empty icon="file" title={words.unknown.title}><p>{words.unknown.advice}</p></Empty>;
}

function Plain({ preview, name }: { preview: Previewed; name: string }) {
  const part = preview.bytes.subarray(0, TEXT_MAX);
  const text = new TextDecoder().decode(part);
  const element = useRef<HTMLPreElement>(null);
  useEffect(() => {
    const node = element.current?.firstChild;
    return node instanceof Text ? paint(node, name) : undefined;
  }, [text, name]);
  return (
    <>
      <pre ref={element} class="text" tabIndex={0} aria-label={words.content}>{text}</pre>
      {part.length < preview.total && <p class="small soft">{words.first(size(part.length), size(preview.total))}</p>}
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
  if (broken) return <Empty icon="image" title={words.broken}><p>{words.isWhole}</p></Empty>;
  return address === null ? null : <img class="picture" src={address} alt={words.picture(name)} onError={() => setBroken(true)} />;
}

/** SVG is not among them: it is a document, and is shown as text. */
const SAFE_IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"]);
const PREVIEW_MAX = 16 * 1024 * 1024;
const TEXT_MAX = 256 * 1024;
