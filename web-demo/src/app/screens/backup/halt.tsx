/** A halt: the network or the server is away, and when it tries again. */

import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../../../core/api";
import { Icon } from "../../parts/icon";
import { backup } from "../../../words/backup";
import { parts } from "../../../words/parts";
import { problems } from "../../../words/problems";
import { shell } from "../../../words/shell";

export function Halt({ problem, retryAt, offline }: { problem: Problem | null; retryAt: number | null; offline: boolean }) {
  const words = backup.halt;
  const seconds = useSecondsUntil(retryAt);
  const title = problem ? problems[problem.code].title : offline ? shell.noNetwork : parts.noAnswer;
  return (
    <div class="halt">
      <Icon name="offline" />
      <div class="grow">
        <p class="strong clip">{title}</p>
        <p class="small soft">{offline && seconds === null ? words.offline : seconds === null || seconds === 0 ? words.now : words.soon(seconds)}</p>
      </div>
    </div>
  );
}

function useSecondsUntil(time: number | null): number | null {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (time === null) return;
    const timer = setInterval(() => setNow(Date.now()), 500);
    return () => clearInterval(timer);
  }, [time]);
  return time === null ? null : Math.max(0, Math.ceil((time - now) / 1000));
}
