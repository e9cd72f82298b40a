/** Something that was asked for: what stands in its place until it is here, or why it cannot be had. */

import type { ComponentChildren } from "preact";
import type { Asked as State } from "../asked";
import { ProblemNotice } from "./notice";
import { unseen } from "./unseen";

export function Asked<Value>({ asked, waiting, retry, children }: {
  asked: State<Value>;
  waiting: ComponentChildren;
  retry?: () => void;
  children: (value: Value) => ComponentChildren;
}) {
  if (asked.at === "failed") return <ProblemNotice problem={asked.problem} retry={retry} />;
  return <>{asked.at === "asking" ? waiting : children(asked.value)}</>;
}

/** Stands for a list that is on its way. */
export function Bones({ says, lines }: { says: string; lines: number }) {
  return <div class="rows-bones" role="status">{unseen(says)}{Array.from({ length: lines }, (_, i) => <div key={i} class="bone" />)}</div>;
}
