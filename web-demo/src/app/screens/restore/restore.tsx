/** Restoring: the list of snapshots, one of them, what differs between two, a file's versions, a search in all, what is kept, or shares. */

import type { Session } from "../../../core/api";
import { restore as words } from "../../../words/restore";
import { shell } from "../../../words/shell";
import type { App } from "../../app";
import { Icon } from "../../parts/icon";
import { later } from "../../parts/later";
import { Notice } from "../../parts/notice";
import { viewOf, type View } from "../../route";
import { Browse } from "./browse";
import { Snapshots } from "./snapshots";
import { Tray } from "./tray";

const Compare = later(() => import("./compare").then(({ Compare }) => Compare));
const Seek = later(() => import("./seek").then(({ Seek }) => Seek));
const Versions = later(() => import("./versions").then(({ Versions }) => Versions));
const Share = later(() => import("./share").then(({ Share }) => Share));
const Shares = later(() => import("./shares").then(({ Shares }) => Shares));

export function Restore({ app, session, view }: { app: App; session: Session; view: Extract<View, { screen: "restore" }> }) {
  if (session.role === "write-only") return <WriteOnly app={app} />;
  if ("kept" in view) return <WhatIsKept app={app} />;
  return (
    <div class="page fill">
      {"compare" in view
        ? <Compare app={app} before={view.compare.before} after={view.compare.after} />
        : "versions" in view ? <Versions app={app} snapshot={view.versions.snapshot} entry={view.versions.entry} />
        : "seek" in view ? <Seek app={app} />
        : "shares" in view ? <Shares app={app} />
        : view.snapshot === null ? <Snapshots app={app} /> : <Browse app={app} snapshot={view.snapshot} crumbs={view.crumbs} at={view.at ?? null} />}
      <Tray app={app} />
      {app.sharing.value && <Share app={app} what={app.sharing.value} />}
    </div>
  );
}

function WhatIsKept({ app }: { app: App }) {
  return (
    <div class="page stack wide">
      <header class="page-head">
        <div><button type="button" class="button small plain" onClick={() => app.route.go(viewOf("restore"))}><Icon name="back" size={16} />{words.snapshots}</button></div>
        <h1>{words.kept.title}</h1>
        <p class="soft">{words.kept.lead}</p>
      </header>
      <Kept app={app} />
    </div>
  );
}

const Kept = later(() => import("../kept/kept").then((part) => part.Kept));

function WriteOnly({ app }: { app: App }) {
  return (
    <div class="page stack wide">
      <h1>{shell.screens.restore}</h1>
      <Notice icon="lock" title={words.writeOnly.title}>
        <p class="soft">{words.writeOnly.why}</p>
        <p class="soft">{words.writeOnly.instead(<code>copal</code>)}</p>
      </Notice>
      <div class="row"><button type="button" class="button" onClick={() => app.route.go(viewOf("backup"))}>{words.writeOnly.backUp}</button></div>
    </div>
  );
}
