/** Keys: what opens the repository, and how an owner changes that. */

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Key } from "../../../core/api";
import type { App } from "../../app";
import { ask, type Asked as State } from "../../asked";
import { Asked, Bones } from "../../parts/asked";
import { Icon } from "../../parts/icon";
import { Badge } from "../../parts/notice";
import { viewOf } from "../../route";
import { day } from "../../words";
import { keys as words } from "../../../words/keys";
import { shell } from "../../../words/shell";
import { AskKey, type Wanted } from "./ask";

export function Keys({ app }: { app: App }) {
  const list = useSignal<State<Key[]>>({ at: "asking" });
  const wanted = useSignal<Wanted | null>(null);
  const load = () => ask(app.core.administer("keys"), (asked) => { list.value = asked; });
  useEffect(() => void load(), []);
  const begin = (next: Wanted) => { wanted.value = next; };
  return (
    <div class="page stack wide">
      <header class="page-head">
        <div class="crumbs"><button type="button" class="crumb crumb-part" onClick={() => app.route.go(viewOf("settings"))}><Icon name="back" size={16} />{shell.screens.settings}</button></div>
        <h1>{words.title}</h1>
        <p class="soft">{words.about}</p>
      </header>
      <div class="row wrap">
        <button type="button" class="button" onClick={() => begin({ act: "passphrase", replaces: null })}><Icon name="plus" size={18} />{words.addPassphrase}</button>
        <button type="button" class="button" onClick={() => begin({ act: "recovery-code", replaces: null })}><Icon name="plus" size={18} />{words.makeCode}</button>
      </div>
      <Asked asked={list.value} waiting={<Bones says={words.reading} lines={2} />} retry={() => { list.value = { at: "asking" }; void load(); }}>
        {(keys) => <ul class="stack tight devices">{keys.map((key) => <One key={key.slot} about={key} isOnly={keys.filter(({ kind }) => kind !== null).length === 1} begin={begin} />)}</ul>}
      </Asked>
      {wanted.value && <AskKey app={app} wanted={wanted.value} close={() => { wanted.value = null; void load(); }} />}
    </div>
  );
}

function One({ about, isOnly, begin }: { about: Key; isOnly: boolean; begin: (wanted: Wanted) => void }) {
  const { slot, kind, created, faults: [fault], isCurrent } = about;
  const id = slot.slice(0, 8);
  const called = kind === null ? words.damagedKey : words.kinds[kind];
  return (
    <li class="card padded device">
      <Icon name={kind === "recovery-code" ? "list" : "lock"} size={24} />
      <div class="grow">
        <h2 class="wrap">{called} {isCurrent && <Badge tone="calm">{words.openedThisPage}</Badge>}</h2>
        <p class="small soft">{created === null ? "" : `${words.made(day(created, Date.now()))} · `}<span class="code">{id}</span></p>
        {kind === null ? <p class="small soft">{words.noCopy}</p>
          : fault ? <p class="small soft">{words.faulty(fault, <code>copal repair</code>)}</p>
          : <p class="small soft">{words.bothWhole}</p>}
      </div>
      <div class="device-state">
        {fault && <Badge tone={kind === null ? "bad" : "warn"} icon="warning">{kind === null ? words.damaged : words.oneCopy[fault]}</Badge>}
        <div class="row firm">
          {(kind === "passphrase" || kind === "recovery-code") && <button type="button" class="button small" onClick={() => begin({ act: kind, replaces: about })}>{words.replace}<span class="unseen"> {called} {id}</span></button>}
          {!(isOnly && kind !== null) && <button type="button" class="button small bad" onClick={() => begin({ act: "remove", about })}>{words.remove}<span class="unseen"> {kind === null ? "" : called} {id}</span></button>}
        </div>
      </div>
    </li>
  );
}
