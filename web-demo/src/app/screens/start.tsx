/** Before anything can be done: starting, a browser that cannot, a server that does not answer. */

import type { ComponentChildren } from "preact";
import type { MissingFeature, Problem, ProblemCode } from "../../core/api";
import { MISSING } from "../plain";
import { Mark } from "../parts/icon";
import { Notice, ProblemNotice } from "../parts/notice";
import { Spinner } from "../parts/progress";

export function Starting() {
  return (
    <main class="gate" id="content">
      <div class="splash"><h1 class="unseen">Copal</h1><Mark size={52} /><div class="late soft"><Spinner label="Starting…" /></div></div>
    </main>
  );
}

export function Unsupported({ missing }: { missing: MissingFeature[] }) {
  return (
    <main class="gate" id="content">
      <div class="gate-box">
        <GateHead title="This browser cannot run Copal" />
        <Notice tone="warn" title="It lacks" urgent>
          <ul class="bullets">{missing.map((feature) => <li key={feature}>{MISSING[feature]}</li>)}</ul>
        </Notice>
        <p class="soft">Use a current Firefox, Chrome, Edge or Safari. What is stored is not affected, and the <code>copal</code> command reaches it from any computer.</p>
      </div>
    </main>
  );
}

export function Unreachable({ problem, asking, retry }: { problem: Problem; asking: boolean; retry: () => void }) {
  return (
    <main class="gate" id="content">
      <div class="gate-box">
        <GateHead title={TITLES[problem.code] ?? "Copal could not start"} />
        <ProblemNotice problem={{ ...problem, canRetry: false }} tone="warn" />
        <button type="button" class="button main large full" disabled={asking} onClick={retry}>
          {asking ? <Spinner label="Asking again…" /> : "Try again"}
        </button>
      </div>
    </main>
  );
}

export function GateHead({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <header class="gate-head">
      <Mark size={44} />
      <h1>{title}</h1>
      {children}
    </header>
  );
}

const AWAY = "The backup server does not answer";
const TITLES: Partial<Record<ProblemCode, string>> = {
  offline: AWAY,
  "server-gone": AWAY,
  "server-failed": AWAY,
  busy: AWAY,
  "no-repository": "There is no repository here yet",
  unsupported: "This browser cannot run Copal",
};
