/** Scales: which values stand beside a chart's axes. */

/** Round sizes from 0 up to at least `max`, three to six of them: 1, 2, 5 times a power of ten in a unit of 1,024. */
export function sizeTicks(max: number): number[] {
  if (!(max > 0)) return [0, 1024];
  const unit = 1024 ** Math.min(6, Math.max(0, Math.floor(Math.log(max) / Math.log(1024))));
  const rough = max / unit / 4;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5, 10].find((factor) => factor * power >= rough) ?? 10) * power * unit;
  const ticks = [0];
  while ((ticks[ticks.length - 1] ?? 0) < max) ticks.push(ticks.length * step);
  return ticks;
}

/** At most `most` times from first to last, evenly apart, both ends included. */
export function timeTicks(first: number, last: number, most: number): number[] {
  if (last <= first) return [first];
  const number = Math.max(2, most);
  return Array.from({ length: number }, (_, i) => first + ((last - first) * i) / (number - 1));
}

/** The index of the value of a rising list that is nearest to `wanted`. */
export function nearest(values: readonly number[], wanted: number): number {
  let low = 0;
  let high = values.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? 0) < wanted) low = middle + 1;
    else high = middle;
  }
  const before = values[low - 1];
  return before !== undefined && wanted - before <= (values[low] ?? 0) - wanted ? low - 1 : low;
}

/** At most `most` points, the first and the last among them: more than there are pixels tells nobody anything. */
export function thinned<Point>(points: readonly Point[], most: number): Point[] {
  if (points.length <= most) return points.slice();
  return Array.from({ length: most }, (_, i) => points[Math.round((i * (points.length - 1)) / (most - 1))] as Point);
}
