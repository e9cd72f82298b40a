/** Alarms: what needs a person, at the top of the status. */

import type { ProblemCode } from "../../../core/api";
import type { App } from "../../app";
import { Notice } from "../../parts/notice";

export function Alarms({ app }: { app: App }) {
  const found = app.alarms.value;
  if (found.length === 0) return null;
  const read = (warning: ProblemCode) => void app.changeSettings({ readWarnings: [...(app.settings.value?.readWarnings ?? []), warning] });
  const settle = (series: string) => void app.changeSettings({ quietSeries: [...(app.settings.value?.quietSeries ?? []), series] });
  return (
    <section class="stack tight" aria-label="Alarms">
      {found.map(({ id, tone, title, advice, series, warning, isHold }) => (
        <Notice key={id} tone={tone} title={`${title}.`}
          acts={series !== undefined ? <button type="button" class="button small" aria-label={`Expect no more of it: ${title}`} onClick={() => settle(series)}>Expect no more of it</button>
            : isHold ? <button type="button" class="button small" aria-label={`Look at it: ${title}`} onClick={() => app.route.go({ screen: "restore", kept: true })}>Look at it</button>
            : warning !== undefined ? <button type="button" class="button small" onClick={() => read(warning)}>I have read it</button> : undefined}>
          <p class="soft">{advice}</p>
        </Notice>
      ))}
    </section>
  );
}
