/** Shares: the links that still open something, and what ends one. */

import { useEffect, useRef, useState } from "preact/hooks";
import type { Problem, Share } from "../../../core/api";
import { problemOf } from "../../../core/problem";
import type { App } from "../../app";
import { ask, type Asked } from "../../asked";
import { Dialog } from "../../parts/dialog";
import { Icon } from "../../parts/icon";
import { Badge, Empty, ProblemNotice } from "../../parts/notice";
import { say } from "../../parts/say";
import { viewOf } from "../../route";
import { parts } from "../../../words/parts";
import { restore } from "../../../words/restore";
import { shares as words } from "../../../words/shares";
import { shown, size, when, within } from "../../words";

export function Shares({ app }: { app: App }) {
  const [asked, setAsked] = useState<Asked<Share[]>>({ at: "asking" });
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
        <nav aria-label={restore.whereYouAre} class="crumbs"><button type="button" class="crumb" onClick={() => app.route.go(viewOf("restore"))}>{restore.snapshots}</button></nav>
        <h1 ref={heading} tabIndex={-1}>{restore.shares}</h1>
        <p class="soft">{words.about}</p>
      </header>
      {asked.at === "asking" ? <div class="rows-bones" role="status"><span class="unseen">{words.reading}</span>{[0, 1].map((i) => <div key={i} class="bone" />)}</div>
        : asked.at === "failed" ? <ProblemNotice problem={asked.problem} retry={() => void load()} />
        : asked.value.length === 0 ? <Empty icon="link" title={words.none}><p>{words.noneWhy}</p></Empty>
        : <ul class="stack tight devices">{asked.value.map((share) => <One key={share.id} share={share} revoke={() => setRevoking(share)} />)}</ul>}
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
  const [isAsking, setAsking] = useState(false);
  const [problem, setProblem] = useState<Problem | null>(null);
  const revoke = async () => {
    setAsking(true);
    setProblem(null);
    try {
      await app.core.revokeShare(share.id);
      say(words.revoked);
      done(true);
    } catch (thrown) {
      setProblem(problemOf(thrown));
      setAsking(false);
    }
  };
  return (
    <Dialog title={words.revokeWhich(called(share))} close={() => { if (!isAsking) done(false); }}
      footer={<>
        <button type="button" class="button" disabled={isAsking} onClick={() => done(false)}>{parts.cancel}</button>
        <button type="button" class="button bad" disabled={isAsking} onClick={() => void revoke()}>{isAsking ? words.revoking : words.revoke}</button>
      </>}>
      <div class="stack tight">
        <p>{words.revokeSays}</p>
        <p class="small soft">{words.revokeStays}</p>
        {problem && <ProblemNotice problem={problem} />}
      </div>
    </Dialog>
  );
}

function Name({ share }: { share: Share }) {
  return share.label === null ? <span class="code">{called(share)}</span> : <bdi>{called(share)}</bdi>;
}

function called({ label, id }: Share): string {
  return label === null ? id.slice(0, 8) : shown(label);
}
