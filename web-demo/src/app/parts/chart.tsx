/** A chart of a size over time, with the same numbers as a table behind it. */

import { useEffect, useRef, useState } from "preact/hooks";
import { status } from "../../words/status";
import { nearest, sizeTicks, thinned, timeTicks } from "../scale";
import { turned } from "../way";
import { day, size, stamp } from "../words";
import { Icon } from "./icon";

export interface Point {
  time: number;
  bytes: number;
}

export function SizeChart({ points, label, height = FULL }: { points: readonly Point[]; label: string; height?: number }) {
  const box = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(640);
  const [near, setNear] = useState<number | null>(null);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);

  const shown = thinned(points, 400);
  const first = shown[0];
  const last = shown[shown.length - 1];
  if (!first || !last) return null;
  const ticks = sizeTicks(Math.max(...shown.map((point) => point.bytes)));
  const top = ticks[ticks.length - 1] ?? 1;
  const right = width - 14;
  const x = (time: number) => turned(LEFT + ((right - LEFT) * (time - first.time)) / Math.max(1, last.time - first.time), width);
  const y = (bytes: number) => height - BOTTOM - ((height - BOTTOM - TOP) * bytes) / top;
  const line = shown.map((point, i) => `${i === 0 ? "M" : "L"}${x(point.time).toFixed(1)} ${y(point.bytes).toFixed(1)}`).join("");
  const now = Date.now();
  const words = status.chart;
  const point = near === null ? null : shown[near];

  const moved = (event: PointerEvent) => {
    const at = turned(event.clientX - (box.current?.getBoundingClientRect().left ?? 0), width);
    const time = first.time + ((at - LEFT) / (right - LEFT)) * (last.time - first.time);
    setNear(nearest(shown.map((one) => one.time), time));
  };

  return (
    <figure class="chart">
      <div ref={box} class="chart-box" onPointerMove={moved} onPointerLeave={() => setNear(null)}>
        <svg width={width} height={height} role="img" aria-label={words.about(label, size(first.bytes), day(first.time, now), size(last.bytes), day(last.time, now))}>
          {ticks.map((tick) => (
            <g key={tick}>
              <line class="grid" x1={turned(LEFT, width)} x2={turned(right, width)} y1={y(tick)} y2={y(tick)} />
              <text class="axis" x={turned(LEFT - 8, width)} y={y(tick) + 4} text-anchor="end">{tick === 0 ? "0" : size(tick).replace(/[.,]0+ /, " ")}</text>
            </g>
          ))}
          {timeTicks(first.time, last.time, width < 400 ? 2 : width < 560 ? 3 : 5).map((time, i, all) => (
            <text key={time} class="axis" x={x(time)} y={height - 6} text-anchor={i === 0 ? "start" : i === all.length - 1 ? "end" : "middle"}>{day(time, now)}</text>
          ))}
          <path class="area" d={`${line}L${x(last.time).toFixed(1)} ${y(0)}L${x(first.time).toFixed(1)} ${y(0)}Z`} />
          <path class="line" d={line} />
          {shown.length === 1 && <circle class="dot" cx={x(first.time)} cy={y(first.bytes)} r={4} />}
          {point && <><line class="cross" x1={x(point.time)} x2={x(point.time)} y1={TOP} y2={y(0)} /><circle class="dot" cx={x(point.time)} cy={y(point.bytes)} r={4} /></>}
        </svg>
        {point && (
          <div class="tip" aria-hidden="true" style={{ transform: `translateX(${Math.min(width - 150, Math.max(0, x(point.time) - 75))}px)` }}>
            <strong>{size(point.bytes)}</strong> <span>{stamp(point.time)}</span>
          </div>
        )}
      </div>
      <details>
        <summary><Icon name="forward" size={16} />{words.asTable}</summary>
        <div class="inside scroll-x chart-table" tabIndex={0} role="region" aria-label={words.table(label)}>
          <table class="table">
            <thead><tr><th scope="col">{words.time}</th><th scope="col" class="number">{words.size}</th></tr></thead>
            <tbody>{thinned(points, 200).reverse().map((one) => <tr key={one.time}><td>{stamp(one.time)}</td><td class="number">{size(one.bytes)}</td></tr>)}</tbody>
          </table>
        </div>
      </details>
    </figure>
  );
}

const FULL = 220;
const LEFT = 74;
const TOP = 12;
const BOTTOM = 28;
