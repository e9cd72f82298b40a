/** Keys: what opens the repository, and how an owner changes that. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Key } from "../../../core/api";
import type { App } from "../../app";
import { ask, type Asked } from "../../asked";
import { Icon } from "../../parts/icon";
import { Badge, ProblemNotice } from "../../parts/notice";
import { viewOf } from "../../route";
import { day } from "../../words";
import { AskKey, type Wanted } from "./ask";

export function Keys({ app }: { app: App }) {
  const list = useSignal<Asked<Key[]>>({ at: "asking" });
  const wanted = useSignal<Wanted | null>(null);
  const load = () => ask(app.core.administer("keys"), (asked) => { list.value = asked; });
  useEffect(() => void load(), []);
  const { value } = list;
  const begin = (next: Wanted) => { wanted.value = next; };
  return (
    <div class="page stack wide">
      <header class="page-head">
        <div class="crumbs"><button type="button" class="crumb crumb-part" onClick={() => app.route.go(viewOf("settings"))}><Icon name="back" size={16} />Settings</button></div>
        <h1>Passphrases and recovery codes</h1>
        <p class="soft">Each of these opens the whole repository: every backup of every device. They belong to the repository, not to this browser.</p>
      </header>
      <div class="row wrap">
        <button type="button" class="button" onClick={() => begin({ act: "passphrase", replaces: null })}><Icon name="plus" size={18} />Add a passphrase</button>
        <button type="button" class="button" onClick={() => begin({ act: "recovery-code", replaces: null })}><Icon name="plus" size={18} />Make a recovery code</button>
      </div>
      {value.at === "asking" ? <div class="rows-bones" role="status"><span class="unseen">Reading the keys</span>{[0, 1].map((i) => <div key={i} class="bone" />)}</div>
        : value.at === "failed" ? <ProblemNotice problem={value.problem} retry={() => { list.value = { at: "asking" }; void load(); }} />
        : <ul class="stack tight devices">{value.value.map((key) => <One key={key.slot} about={key} isOnly={value.value.filter(({ kind }) => kind !== null).length === 1} begin={begin} />)}</ul>}
      {wanted.value && <AskKey app={app} wanted={wanted.value} close={() => { wanted.value = null; void load(); }} />}
    </div>
  );
}

export const KINDS = { passphrase: "Passphrase", "recovery-code": "Recovery code", "key-file": "Key file" } as const;

function One({ about, isOnly, begin }: { about: Key; isOnly: boolean; begin: (wanted: Wanted) => void }) {
  const { slot, kind, created, faults, isCurrent } = about;
  const id = slot.slice(0, 8);
  return (
    <li class="card padded device">
      <Icon name={kind === "recovery-code" ? "list" : "lock"} size={24} />
      <div class="grow">
        <h2 class="wrap">{kind === null ? "Damaged key" : KINDS[kind]} {isCurrent && <Badge tone="calm">Opened this page</Badge>}</h2>
        <p class="small soft">{created === null ? "" : `Made ${day(created, Date.now())} · `}<span class="code">{id}</span></p>
        {kind === null ? <p class="small soft">No copy of it is whole, so it opens nothing.</p>
          : faults.length > 0 ? <p class="small soft">One of its two copies is {faults[0]}. It opens with the other one, and <code>copal repair</code> writes it again.</p>
          : <p class="small soft">Both copies are whole</p>}
      </div>
      <div class="device-state">
        {faults.length > 0 && <Badge tone={kind === null ? "bad" : "warn"} icon="warning">{kind === null ? "Damaged" : `One copy ${faults[0]}`}</Badge>}
        <div class="row firm">
          {(kind === "passphrase" || kind === "recovery-code") && <button type="button" class="button small" onClick={() => begin({ act: kind, replaces: about })}>Replace<span class="unseen"> {KINDS[kind]} {id}</span></button>}
          {!(isOnly && kind !== null) && <button type="button" class="button small bad" onClick={() => begin({ act: "remove", about })}>Remove<span class="unseen"> {kind === null ? "" : KINDS[kind]} {id}</span></button>}
        </div>
      </div>
    </li>
  );
}
