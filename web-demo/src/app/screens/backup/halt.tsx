/** A halt: the network or the server is away, and when it tries again. */

import { useEffect, useState } from "preact/hooks";
import type { Problem } from "../../../core/api";
import { Icon } from "../../parts/icon";

export function Halt({ problem, retryAt, offline }: { problem: Problem | null; retryAt: number | null; offline: boolean }) {
  const seconds = useSecondsUntil(retryAt);
  const title = problem?.title ?? (offline ? "There is no network" : "The server did not answer");
  return (
    <div class="halt">
      <Icon name="offline" />
      <div class="grow">
        <p class="strong clip">{title}</p>
        <p class="small soft">{offline && seconds === null ? "It goes on by itself when the network is back. Nothing is lost." : seconds === null || seconds === 0 ? "Trying again…" : `Trying again in ${seconds} s. Nothing is lost.`}</p>
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
