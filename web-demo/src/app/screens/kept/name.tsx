/** The name of a series, as a part of a sentence. */

import { kept as words } from "../../../words/kept";
import { shown } from "../../words";

/** What a series is called; by its first letters where nothing of it can be read. */
export function Name({ source, device, series }: { source: string | null; device: string | null; series: string }) {
  if (source === null) return <span class="soft">{words.nameless(<span class="code">{series.slice(0, 8)}</span>)}</span>;
  return <><bdi>{shown(source)}</bdi>{device !== null && <span class="soft"> · <bdi>{shown(device)}</bdi></span>}</>;
}
