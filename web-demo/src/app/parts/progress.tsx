/** Progress: a bar that tells its value to those who cannot see it. */

export function Progress({ part, label, state = "running" }: {
  /** 0 to 1, or null while nobody can say. */
  part: number | null;
  label: string;
  state?: "running" | "halted" | "bad";
}) {
  const unknown = part === null && state === "running";
  const classes = ["progress", unknown ? "unknown" : "", state === "running" ? "" : state].filter(Boolean).join(" ");
  const value = part === null ? undefined : Math.floor(100 * Math.min(1, Math.max(0, part)));
  return (
    <div class={classes} role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={100} aria-valuenow={value}>
      <div style={unknown ? undefined : { transform: `scaleX(${Math.min(1, Math.max(0, part ?? 0))})` }} />
    </div>
  );
}

export function Spinner({ label }: { label: string }) {
  return <span class="row"><span class="spinner" aria-hidden="true" /><span>{label}</span></span>;
}
