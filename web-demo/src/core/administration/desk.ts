//! Desk: where the owner decides about the repository itself. The coordinator loads it, and a module of the engine with it, when
//! somebody asks for such a thing; most people never do.

import moduleUrl from "../../../../wasm/pkg/administration_bg.wasm?url";
import type { Acts } from "../administration";
import { compiled } from "../coordinator/starting";
import { type Desk, confirming } from "./confirmed";
import { initSync } from "./engine";
import { inviting } from "./inviting";
import { keys } from "./keys";
import { keepings } from "./keeping";

export async function start(): Promise<void> {
  initSync({ module: await compiled(moduleUrl) });
}

type WithDesk<Call> = Call extends (...args: infer Args) => infer Answer ? (desk: Desk, ...args: Args) => Answer : never;

/** What may be asked for here. */
export const acts: { [Name in keyof Acts]: WithDesk<Acts[Name]> } = { ...confirming, ...keys, ...inviting, ...keepings };
