/** A QR code, in ink on paper whatever the page's colours are: cameras expect it so. */

export function Square({ picture, label }: { picture: { width: number; dark: Uint8Array }; label: string }) {
  const { width, dark } = picture;
  const size = width + 2 * QUIET;
  let ink = "";
  for (let at = 0; at < dark.length; ) {
    const begin = at;
    const row = Math.floor(at / width);
    while (at < dark.length && dark[at] && Math.floor(at / width) === row) at += 1;
    if (at > begin) ink += `M${(begin % width) + QUIET} ${row + QUIET}h${at - begin}v1h-${at - begin}z`;
    else at += 1;
  }
  return (
    <svg class="square" role="img" aria-label={label} viewBox={`0 0 ${size} ${size}`} shape-rendering="crispEdges">
      <rect class="square-paper" width={size} height={size} />
      <path class="square-ink" d={ink} />
    </svg>
  );
}

/** Modules of empty paper around it, as the standard wants. */
const QUIET = 4;
