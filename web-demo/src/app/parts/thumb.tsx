/** A tile of a gallery: a small picture of a file, or what it is, and its name. */

import { useEffect, useState } from "preact/hooks";
import type { Entry } from "../../core/api";
import { preview as words } from "../../words/preview";
import { Thumbs, type Thumb as Shown } from "../thumbs";
import { shown, size } from "../words";
import { Icon, type IconName } from "./icon";

export function Tile({ thumbs, snapshot, entry, icon, kind }: { thumbs: Thumbs; snapshot: string; entry: Entry; icon: IconName; kind: string }) {
  return (
    <>
      <span class="tile-picture">{Thumbs.mayHave(entry) ? <Thumb thumbs={thumbs} snapshot={snapshot} entry={entry} /> : <span class={`kind ${entry.kind}`}><Icon name={icon} size={44} /></span>}</span>
      <span class="tile-words">
        <span class="clip"><span class="unseen">{kind} </span><bdi>{shown(entry.name)}</bdi></span>
        <span class="small faint clip">{entry.kind === "file" ? size(entry.size) : kind}</span>
      </span>
    </>
  );
}

function Thumb({ thumbs, snapshot, entry }: { thumbs: Thumbs; snapshot: string; entry: Entry }) {
  const [thumb, setThumb] = useState<Shown>(null);
  useEffect(() => {
    const stop = thumbs.want(snapshot, entry.id).subscribe(setThumb);
    return () => {
      stop();
      thumbs.leave(snapshot, entry.id);
    };
  }, [thumbs, snapshot, entry.id]);
  if (thumb === null) return <span class="bone" />;
  if ("address" in thumb) return <img src={thumb.address} alt="" decoding="async" draggable={false} />;
  const why = thumb.why === "no-picture" ? null : words.noThumb[thumb.why];
  return (
    <span class={thumb.why === "damaged" ? "kind damaged" : "kind"}>
      <Icon name={thumb.why === "damaged" ? "warning" : why === null ? "file" : "image"} size={44} />
      {why !== null && <span class="small">{why}</span>}
    </span>
  );
}
