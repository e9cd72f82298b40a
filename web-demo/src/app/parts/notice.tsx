/** Notices: what happened and what to do, in the place where it matters. */

import type { ComponentChildren } from "preact";
import type { Problem } from "../../core/api";
import { parts as words } from "../../words/parts";
import { problems } from "../../words/problems";
import { shown } from "../words";
import { Icon, type IconName } from "./icon";

export type Tone = "calm" | "good" | "warn" | "bad";

const ICONS: Record<Tone, IconName> = { calm: "info", good: "check", warn: "warning", bad: "warning" };

export function Notice({ tone = "calm", icon, title, children, acts, urgent = false }: {
  tone?: Tone;
  icon?: IconName;
  title?: string;
  children?: ComponentChildren;
  acts?: ComponentChildren;
  /** Said by a screen reader at once. */
  urgent?: boolean;
}) {
  return (
    <div class={`notice ${tone}`} role={urgent ? "alert" : undefined}>
      <Icon name={icon ?? ICONS[tone]} />
      <div class="body">
        {title && <p class="title">{title}</p>}
        {children}
        {acts && <div class="acts">{acts}</div>}
      </div>
    </div>
  );
}

/** A problem of the core in its own words, and a button where trying again is worth it. */
export function ProblemNotice({ problem, retry, tone = "bad", urgent = true }: {
  problem: Problem;
  retry?: (() => void) | undefined;
  tone?: Tone;
  urgent?: boolean;
}) {
  const { title, advice } = problems[problem.code];
  return (
    <Notice tone={tone} title={`${title}.`} urgent={urgent}
      acts={retry && problem.canRetry ? <button type="button" class="button small" onClick={retry}>{words.tryAgain}</button> : undefined}>
      {problem.subject && <p class="code">{shown(problem.subject)}</p>}
      {advice && <p class="soft">{advice}</p>}
    </Notice>
  );
}

export function Badge({ tone, icon, children }: { tone: Tone | "none"; icon?: IconName; children: ComponentChildren }) {
  return (
    <span class={`badge ${tone}`}>
      {icon && <Icon name={icon} size={14} />}
      {children}
    </span>
  );
}

/** Nothing to show, and how to come to something. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <Icon name={icon} size={32} />
      <h2>{title}</h2>
      {children}
    </div>
  );
}
