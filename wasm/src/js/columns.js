const UTF8 = new TextEncoder();

export function inColumns(facts) {
  const sizes = new Float64Array(facts.length);
  const times = new Float64Array(facts.length);
  const kinds = new Uint8Array(facts.length);
  const paths = facts.map(({ path, size, modified, kind }, at) => {
    sizes[at] = size;
    times[at] = modified;
    if (kind === "directory") kinds[at] = 1;
    return path;
  });
  return { paths: UTF8.encode(paths.join("\0")), sizes, times, kinds };
}
