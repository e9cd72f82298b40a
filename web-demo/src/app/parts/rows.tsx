/** Rows: a list of any length of which only what is in view is made, moved through with the keyboard. For screen readers it is a
 * grid; tiles, of which several stand in one line, are options to choose from. */

import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import { browse as words } from "../../words/browse";
import { keyAlong } from "../way";
import { scrollTo, step, windowOf } from "../window";

export interface RowsProps<Row> {
  label: string;
  rows: readonly Row[];
  /** Of one row, in pixels; rows are all of one height. */
  rowHeight: number;
  /** Names the style that says how wide the columns are. */
  look: string;
  columns: number;
  /** The least width of a tile, in pixels, where rows are tiles. */
  tile?: number;
  head?: ComponentChildren;
  keyOf: (row: Row) => string;
  cells: (row: Row) => ComponentChildren;
  open?: (row: Row) => void;
  isSelected?: (row: Row) => boolean;
  toggle?: (row: Row) => void;
  toggleAll?: () => void;
  up?: () => void;
  /** The list gets the focus when its screen is opened. */
  isLanding?: boolean;
  /** The key of the row to begin at, once it is there. Without one it is the first. */
  beginAt?: string | null;
}

export function Rows<Row>(props: RowsProps<Row>) {
  const { rows, rowHeight } = props;
  const box = useRef<HTMLDivElement>(null);
  const [scroll, setScroll] = useState(0);
  const [{ height, width }, setRoom] = useState({ height: 640, width: 0 });
  const [active, setActive] = useState(0);
  const hasBegun = useRef(false);
  const name = useId();
  const shown = Math.min(rows.length, ROWS_MAX);
  const headHeight = props.head ? HEAD : 0;
  const isTiled = props.tile !== undefined;
  const across = props.tile === undefined ? 1 : Math.max(1, Math.floor(width / props.tile));
  const lines = Math.ceil(shown / across);
  const view = windowOf(scroll, height - headHeight, rowHeight, lines, isTiled ? 2 : undefined);
  const [first, end] = [view.first * across, Math.min(shown, view.end * across)];

  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const measure = () => setRoom({ height: element.clientHeight, width: element.clientWidth });
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    measure();
    return () => observer.disconnect();
  }, []);

  const move = (to: number) => {
    setActive(to);
    const element = box.current;
    if (element) element.scrollTop = scrollTo(Math.floor(to / across), element.scrollTop, height - headHeight, rowHeight);
  };

  useEffect(() => {
    if (hasBegun.current || !props.beginAt) return;
    const at = rows.findIndex((row) => props.keyOf(row) === props.beginAt);
    if (at < 0 || at >= shown) return;
    hasBegun.current = true;
    move(at);
  }, [rows]);

  const pressed = (event: KeyboardEvent) => {
    // The head has buttons of its own.
    if (event.target !== box.current) return;
    hasBegun.current = true;
    const to = step(keyAlong(event.key), active, shown, Math.max(1, Math.floor(height / rowHeight) - 1), across);
    const row = rows[active];
    if (to !== null) move(to);
    else if (event.key === "Enter" && row !== undefined && props.open) props.open(row);
    else if (event.key === " " && row !== undefined && props.toggle) props.toggle(row);
    else if (event.key === "a" && (event.ctrlKey || event.metaKey) && props.toggleAll) props.toggleAll();
    else if (event.key === "Backspace" && props.up) props.up();
    else return;
    event.preventDefault();
  };

  const clicked = (event: MouseEvent) => {
    const target = event.target as Element;
    const line = target.closest<HTMLElement>("[data-row]");
    const index = Number(line?.dataset["row"] ?? "-1");
    const row = rows[index];
    if (row === undefined) return;
    setActive(index);
    if (props.toggle && (target.closest("[data-tick]") || event.ctrlKey || event.metaKey)) props.toggle(row);
    else props.open?.(row);
  };

  return (
    <div ref={box} class={`rows ${props.look}`} role={isTiled ? "listbox" : "grid"} tabIndex={0} data-landing={props.isLanding || undefined} aria-label={props.label}
      aria-rowcount={isTiled ? undefined : rows.length + (props.head ? 1 : 0)} aria-colcount={isTiled ? undefined : props.columns} aria-multiselectable={props.toggle ? true : undefined}
      aria-activedescendant={active >= first && active < end ? `${name}-${active}` : undefined}
      onScroll={(event) => setScroll(event.currentTarget.scrollTop)} onKeyDown={pressed} onClick={clicked}>
      {props.head && <div class="line head" role="row" aria-rowindex={1}>{props.head}</div>}
      <div role={isTiled ? "presentation" : "rowgroup"} class="window" style={{ height: `${lines * rowHeight}px` }}>
        <div role="presentation" class={isTiled ? "tiles" : undefined} style={{ transform: `translateY(${view.top}px)`, ...(isTiled ? { gridTemplateColumns: `repeat(${across}, minmax(0, 1fr))`, gridAutoRows: `${rowHeight}px` } : {}) }}>
          {rows.slice(first, end).map((row, i) => {
            const index = first + i;
            const selected = props.isSelected?.(row);
            return (
              <div key={props.keyOf(row)} id={`${name}-${index}`} class={`${isTiled ? "tile" : "line"}${index === active ? " active" : ""}`} role={isTiled ? "option" : "row"} data-row={index}
                {...(isTiled ? { "aria-posinset": index + 1, "aria-setsize": rows.length } : { "aria-rowindex": index + 1 + (props.head ? 1 : 0) })} aria-selected={props.toggle ? Boolean(selected) : undefined}>
                {props.cells(row)}
              </div>
            );
          })}
        </div>
      </div>
      {rows.length > shown && <p class="rows-end soft small">{words.tooMany}</p>}
    </div>
  );
}

/** Browsers do not lay out what is higher than some ten million pixels. */
const ROWS_MAX = 200_000;
const HEAD = 38;
