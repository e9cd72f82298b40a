/** A paper: a PDF, page by page, as pictures that a worker has drawn. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Entry, Preview, Snapshot } from "../../../core/api";
import { preview as words } from "../../../words/preview";
import type { App } from "../../app";
import { Papers, type Failure, type Page } from "../../papers/papers";
import { Icon } from "../../parts/icon";
import { Empty, ProblemNotice } from "../../parts/notice";
import { Spinner } from "../../parts/progress";
import { count, shown } from "../../words";

export function Paper({ app, snapshot, entry, preview }: { app: App; snapshot: Snapshot; entry: Entry; preview: Preview }) {
  const [pages, setPages] = useState(0);
  const [drawn, setDrawn] = useState<Page | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [wanted, setWanted] = useState(1);
  const papers = useRef<Papers | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    if (preview.total > TOTAL) return;
    const made = new Papers(preview.total, (start, end) => app.core.part(snapshot.id, entry.id, start, Math.min(end, preview.total)), {
      opened: setPages, drawn: setDrawn, failed: setFailure,
    });
    papers.current = made;
    return () => made.end();
  }, [app, snapshot.id, entry.id]);
  useEffect(() => {
    if (pages > 0) papers.current?.draw(wanted, Math.min(WIDTH, (box.current?.clientWidth ?? WIDTH) * devicePixelRatio));
  }, [pages, wanted]);
  useEffect(() => {
    if (!drawn || !canvas.current) return;
    [canvas.current.width, canvas.current.height] = [drawn.picture.width, drawn.picture.height];
    canvas.current.parentElement?.scrollTo(0, 0);
    canvas.current.getContext("bitmaprenderer")?.transferFromImageBitmap(drawn.picture);
  }, [drawn]);
  if (failure?.why === "problem") return <ProblemNotice problem={failure.problem} />;
  if (failure?.why === "locked") return <Empty icon="lock" title={words.paper.locked.title}><p>{words.paper.locked.advice}</p></Empty>;
  if (failure || preview.total > TOTAL) return <Empty icon="file" title={words.paper.unshown}><p>{words.isWhole}</p></Empty>;
  return (
    <div ref={box} class="paper">
      {drawn === null ? <div class="preview-wait"><Spinner label={words.paper.drawing} /></div> : (
        <>
          <div class="sheet-of-paper" tabIndex={0} role="region" aria-label={words.paper.page(drawn.page)}>
            <canvas ref={canvas} role="img" aria-label={words.paper.pageOf(drawn.page, shown(entry.name))} />
            <p class="unseen">{drawn.text}</p>
          </div>
          {pages > 1 && (
            <div class="row firm center-row">
              <button type="button" class="button small" disabled={wanted === 1} onClick={() => setWanted(wanted - 1)}><Icon name="up" size={16} />{words.paper.before}</button>
              <span class="small soft nowrap" role="status">{words.paper.pageOf(count(wanted), count(pages))}</span>
              <button type="button" class="button small" disabled={wanted === pages} onClick={() => setWanted(wanted + 1)}>{words.paper.next}<Icon name="down" size={16} /></button>
            </div>
          )}
        </>
      )}
    </div>
  );
}

/** Pixels of a page's width. */
const WIDTH = 1_800;
/** Bytes of a file: its reader keeps a place for each. */
const TOTAL = 256 * 1024 * 1024;
