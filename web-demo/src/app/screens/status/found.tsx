/** Found: what a check has found, in the page's language; its own words, which are English, on demand. */

import type { Findings } from "../../../core/api";
import { status as words } from "../../../words/status";
import { Icon } from "../../parts/icon";
import { shown, when, within } from "../../words";

export function Found({ findings }: { findings: readonly Findings[] }) {
  const known = findings.filter(({ kind }) => kind !== null);
  const unknown = findings.filter(({ kind }) => kind === null);
  return (
    <div class="stack tight">
      {known.length > 0 && <ul class="bullets">{known.map((one) => <Kind key={`${one.kind?.fault} ${one.kind?.thing}`} {...one} />)}</ul>}
      {unknown.map((one) => <div key=""><p>{words.findings.unknown}</p><AsWritten told={one.told} /></div>)}
      {known.length > 0 && (
        <details>
          <summary><Icon name="forward" size={16} />{words.findings.asWritten}</summary>
          <div class="inside"><AsWritten told={known.flatMap(({ told }) => told)} /></div>
        </details>
      )}
    </div>
  );
}

function Kind({ kind, count, harmed, newest }: Findings) {
  const now = Date.now();
  return (
    <li>
      {kind && words.findings.said(kind.fault, kind.thing, count)}
      {harmed > 0 && (
        <span class="small soft harmed">
          {newest.length === 0 ? words.findings.harmsUnlisted(harmed) : words.findings.harms(harmed, newest.map(({ source, time }, at) => <>{at > 0 && "; "}<bdi>{shown(source)}</bdi>, {within(when(time, now))}</>))}
        </span>
      )}
    </li>
  );
}

function AsWritten({ told }: { told: readonly string[] }) {
  return <ul class="small named" lang="en" tabIndex={0} aria-label={words.findings.asWritten}>{told.map((one, at) => <li key={at} class="wrap">{shown(one)}</li>)}</ul>;
}
