/** Shares: the links that still open something, and what ends one. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Share } from "../../../core/api";
import type { App } from "../../app";
import { ask, type Asked as State } from "../../asked";
import { useAct } from "../../parts/act";
import { Asked, Bones } from "../../parts/asked";
import { Crumbs } from "../../parts/crumbs";
import { FormDialog } from "../../parts/form";
import { Icon } from "../../parts/icon";
import { Badge, Empty, ProblemNotice } from "../../parts/notice";
import { say } from "../../parts/say";
import { restore } from "../../../words/restore";
import { shares as words } from "../../../words/shares";
import { shown, size, when, within } from "../../words";

export function Shares({ app }: { app: App }) {
  const [asked, setAsked] = useState<State<Share[]>>({ at: "asking" });
  const [revoking, setRevoking] = useState<Share | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const isThere = useRef(true);
  const load = () => ask(app.core.shares(), (answer) => { if (isThere.current) setAsked(answer); });
  useEffect(() => {
    // The page was told where it is before this part of it was there.
    heading.current?.focus();
    void load();
    return () => { isThere.current = false; };
  }, []);
  return (
    <>
      <header class="page-head">
        <Crumbs app={app} />
        <h1 ref={heading} tabIndex={-1}>{restore.shares}</h1>
        <p class="soft">{words.about}</p>
      </header>
      <Asked asked={asked} waiting={<Bones says={words.reading} lines={2} />} retry={() => void load()}>
        {(shares) => shares.length === 0 ? <Empty icon="link" title={words.none}><p>{words.noneWhy}</p></Empty>
          : <ul class="stack tight devices">{shares.map((share) => <One key={share.id} share={share} revoke={() => setRevoking(share)} />)}</ul>}
      </Asked>
      {revoking && <Revoke app={app} share={revoking} done={(isRevoked) => { setRevoking(null); if (isRevoked) void load(); }} />}
    </>
  );
}

function One({ share, revoke }: { share: Share; revoke: () => void }) {
  const { taken, ends, made, bytes } = share;
  const now = Date.now();
  const isOver = ends <= now;
  return (
    <li class="card padded device">
      <Icon name="link" size={24} />
      <div class="grow">
        <h2 class="wrap"><Name share={share} /></h2>
        <p class="small soft">{words.facts(within(when(made, now)), size(bytes), within(when(ends, now)), isOver)}</p>
      </div>
      <div class="device-state">
        {isOver ? <Badge tone="none">{words.ended}</Badge> : <Badge tone={taken >= share.count ? "none" : taken > 0 ? "calm" : "good"}>{words.opened(taken, share.count)}</Badge>}
        <div class="row firm"><button type="button" class="button small bad" onClick={revoke}>{words.revoke}<span class="unseen"> {called(share)}</span></button></div>
      </div>
    </li>
  );
}

function Revoke({ app, share, done }: { app: App; share: Share; done: (isRevoked: boolean) => void }) {
  const { isBusy, problem, act } = useAct();
  const revoke = () => act(async () => {
    await app.core.revokeShare(share.id);
    say(words.revoked);
    done(true);
  });
  return (
    <FormDialog title={words.revokeWhich(called(share))} close={() => done(false)} submit={() => void revoke()} isBusy={isBusy.value} isBad act={isBusy.value ? words.revoking : words.revoke}>
      <p>{words.revokeSays}</p>
      <p class="small soft">{words.revokeStays}</p>
      {problem.value && <ProblemNotice problem={problem.value} />}
    </FormDialog>
  );
}

function Name({ share }: { share: Share }) {
  return share.label === null ? <span class="code">{called(share)}</span> : <bdi>{called(share)}</bdi>;
}

function called({ label, id }: Share): string {
  return label === null ? id.slice(0, 8) : shown(label);
}
