/** Before anything can be done: starting, a browser that cannot, a server that does not answer. */

import type { ComponentChildren } from "preact";
import type { MissingFeature, Problem, ProblemCode } from "../../core/api";
import { plain } from "../../words/plain";
import { LANGUAGES, language, type Language, speak } from "../../words/language";
import { parts } from "../../words/parts";
import { unlock as words } from "../../words/unlock";
import type { App } from "../app";
import { Mark } from "../parts/icon";
import { Notice, ProblemNotice } from "../parts/notice";
import { Spinner } from "../parts/progress";

export function Starting() {
  return (
    <main class="gate" id="content">
      <div class="splash"><h1 class="unseen">Copal</h1><Mark size={52} /><div class="late soft"><Spinner label={words.starting} /></div></div>
    </main>
  );
}

export function Unsupported({ app, missing }: { app: App; missing: MissingFeature[] }) {
  return (
    <main class="gate" id="content">
      <div class="gate-box">
        <GateHead title={words.cannotRun} />
        <Notice tone="warn" title={words.itLacks} urgent>
          <ul class="bullets">{missing.map((feature) => <li key={feature}>{plain.missing[feature]}</li>)}</ul>
        </Notice>
        <p class="soft">{words.useAnother(<code>copal</code>)}</p>
        <Languages app={app} />
      </div>
    </main>
  );
}

/** `app`: none where there is no core. */
export function Unreachable({ app, problem, asking, retry }: { app?: App; problem: Problem; asking: boolean; retry: () => void }) {
  const { code } = problem;
  const title = AWAY.has(code) ? words.away : code === "no-repository" ? words.noRepository : code === "unsupported" ? words.cannotRun : words.couldNotStart;
  return (
    <main class="gate" id="content">
      <div class="gate-box">
        <GateHead title={title} />
        <ProblemNotice problem={{ ...problem, canRetry: false }} tone="warn" />
        <button type="button" class="button main large full" disabled={asking} onClick={retry}>
          {asking ? <Spinner label={words.asking} /> : parts.tryAgain}
        </button>
        <Languages app={app} />
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

/** At the foot of a page that nobody may be able to read. Keeps what is chosen in the settings, where there are any. */
export function Languages({ app }: { app: App | undefined }) {
  const choose = (chosen: Language) => {
    void speak(chosen).catch(() => {});
    void app?.changeSettings({ language: chosen });
  };
  return (
    <div class="languages" role="group" aria-label={words.language}>
      {(Object.entries(LANGUAGES) as [Language, string][]).map(([value, name]) => (
        <button key={value} type="button" class="button small" lang={value} aria-pressed={value === language()} onClick={() => choose(value)}>{name}</button>
      ))}
    </div>
  );
}

/** The server cannot be asked. */
const AWAY: ReadonlySet<ProblemCode> = new Set(["offline", "server-gone", "server-failed", "busy"]);
