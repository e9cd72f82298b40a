/** Alarms: what needs a person, at the top of the status. */

import type { ProblemCode } from "../../../core/api";
import { alarms as words } from "../../../words/alarms";
import { shell } from "../../../words/shell";
import type { App } from "../../app";
import { Notice } from "../../parts/notice";

export function Alarms({ app }: { app: App }) {
  const found = app.alarms.value;
  if (found.length === 0) return null;
  const read = (warning: ProblemCode) => void app.changeSettings({ readWarnings: [...(app.settings.value?.readWarnings ?? []), warning] });
  const settle = (series: string) => void app.changeSettings({ quietSeries: [...(app.settings.value?.quietSeries ?? []), series] });
  return (
    <section class="stack tight" aria-label={words.title}>
      {found.map(({ id, tone, title, advice, series, warning, isHold }) => (
        <Notice key={id} tone={tone} title={`${title}.`}
          acts={series !== undefined ? <button type="button" class="button small" aria-label={words.settleWhat(title)} onClick={() => settle(series)}>{words.settle}</button>
            : isHold ? <button type="button" class="button small" aria-label={words.lookWhat(title)} onClick={() => app.route.go({ screen: "restore", kept: true })}>{words.look}</button>
            : warning !== undefined ? <button type="button" class="button small" onClick={() => read(warning)}>{shell.read}</button> : undefined}>
          <p class="soft">{advice}</p>
        </Notice>
      ))}
    </section>
  );
}
