/** The shell: what stands around every screen, and which screen that is. */

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import type { Session } from "../core/api";
import type { App } from "./app";
import { keepFocus, land } from "./focus";
import { Dialog } from "./parts/dialog";
import { Icon, Mark, type IconName } from "./parts/icon";
import { later, loadParts } from "./parts/later";
import { Notice, ProblemNotice } from "./parts/notice";
import { said } from "./parts/say";
import { partOf } from "./backing";
import { viewOf, type Screen } from "./route";
import { Backup } from "./screens/backup/backup";
import { Starting, Unreachable, Unsupported } from "./screens/start";
import { Unlock } from "./screens/unlock";
import { preferred, speak } from "../words/language";
import { shell as words } from "../words/shell";
import { countdown, percent } from "./words";

const Restore = later(() => import("./screens/restore/restore").then((part) => part.Restore));
const Devices = later(() => import("./screens/devices").then((part) => part.Devices));
const Settings = later(() => import("./screens/settings").then((part) => part.Settings));
const Onto = later(() => import("./screens/restore/onto").then((part) => part.Onto));
const Offline = later(() => import("./screens/offline").then((part) => part.Offline));
const Status = later(() => import("./screens/status/status").then((part) => part.Status));

const ICONS: Record<Screen, IconName> = { backup: "backup", restore: "restore", status: "status", devices: "device", settings: "settings" };

export function Shell({ app }: { app: App }) {
  useSignalEffect(() => {
    const { theme = "system", language: chosen = "system" } = app.settings.value ?? {};
    void speak(chosen === "system" ? preferred(navigator.languages) : chosen).catch(() => {});
    if (theme === "system") delete document.documentElement.dataset["theme"];
    else document.documentElement.dataset["theme"] = theme;
  });
  useEffect(() => keepFocus(document.body), []);
  const stage = app.staging.stage.value;
  const hasNames = stage.at === "open" || stage.at === "offline";
  useEffect(() => {
    if (!hasNames) return;
    const signs = ["pointerdown", "pointermove", "keydown", "wheel"] as const;
    const touched = () => app.core.touch();
    for (const sign of signs) addEventListener(sign, touched, { passive: true });
    return () => { for (const sign of signs) removeEventListener(sign, touched); };
  }, [app, hasNames]);
  return (
    <>
      <div class="unseen" role="status" aria-live="polite">{said.value}</div>
      {stage.at === "starting" && <Starting />}
      {stage.at === "unsupported" && <Unsupported app={app} missing={stage.missing} />}
      {stage.at === "unreachable" && <Unreachable app={app} problem={stage.problem} asking={stage.asking} retry={() => void app.staging.start()} />}
      {stage.at === "locked" && <Unlock app={app} stage={stage} />}
      {stage.at === "offline" && <Offline app={app} known={stage.known} />}
      {stage.at === "open" && <Open app={app} session={stage.session} />}
      {hasNames && <LockSoon app={app} />}
    </>
  );
}

function Open({ app, session }: { app: App; session: Session }) {
  const view = app.route.view.value;
  const content = useRef<HTMLElement>(null);
  const first = useRef(true);
  const leaving = useSignal(false);
  useSignalEffect(() => {
    const backing = app.backing.state.value;
    const part = backing.at === "running" ? partOf(backing.progress) : null;
    document.title = part === null ? words.title(words.screens[app.route.view.value.screen]) : words.titleRunning(percent(Math.floor(part * 1e6), 1e6));
  });
  useEffect(() => {
    // What a person sees first is not kept waiting by it.
    const timer = setTimeout(() => void loadParts(), 1_000);
    return () => clearTimeout(timer);
  }, []);
  const before = useRef<Element | null>(null);
  useLayoutEffect(() => { before.current = document.activeElement; }, [view]);
  useEffect(() => {
    // Whoever reads with the ears hears where they are; at the very first nothing is taken from them, nor from whoever has gone on
    // by now.
    const now = document.activeElement;
    const hasGoneOn = now !== before.current && now !== document.body && !now?.matches("h1, h2, [data-landing]");
    if (!first.current && !hasGoneOn) land(document);
    first.current = false;
    window.scrollTo(0, 0);
  }, [view]);
  useEffect(() => {
    const leave = (event: BeforeUnloadEvent) => { if (app.isWorking) event.preventDefault(); };
    addEventListener("beforeunload", leave);
    return () => removeEventListener("beforeunload", leave);
  }, [app]);

  const lock = () => {
    if (app.isWorking) leaving.value = true;
    else void app.lock();
  };
  return (
    <div class="shell">
      <a class="skip" href="#content" onClick={(event) => { event.preventDefault(); content.current?.focus(); }}>{words.skip}</a>
      <header class="side">
        <p class="brand"><Mark /><span>Copal</span></p>
        <nav aria-label={words.navigation}>
          <ul>
            {(Object.keys(ICONS) as Screen[]).filter((screen) => screen !== "devices" || session.role === "full").map((screen) => <Tab key={screen} app={app} screen={screen} current={view.screen === screen} />)}
          </ul>
        </nav>
        <div class="side-foot">
          <p class="small faint">{session.role === "full" ? words.unlocked : words.writeOnly}</p>
          <p class="small clip"><bdi>{session.deviceName ?? words.repository(session.repository.id.slice(0, 8))}</bdi></p>
        </div>
        <button type="button" class="button small lock" onClick={lock}><Icon name="lock" size={16} /><span>{words.lock}</span></button>
      </header>
      <main id="content" ref={content} tabIndex={-1}>
        <Banners app={app} session={session} />
        {view.screen === "backup" && <Backup app={app} session={session} />}
        {view.screen === "restore" && <Restore app={app} session={session} view={view} />}
        {view.screen === "status" && <Status app={app} session={session} />}
        {view.screen === "devices" && <Devices app={app} session={session} />}
        {view.screen === "settings" && <Settings app={app} session={session} />}
      </main>
      <DropAnywhere app={app} />
      {app.jobs.question.value && <Onto question={app.jobs.question.value} />}
      {leaving.value && (
        <Dialog title={words.whileRunning.title} close={() => { leaving.value = false; }}
          footer={<>
            <button type="button" class="button" onClick={() => { leaving.value = false; }}>{words.whileRunning.goOn}</button>
            <button type="button" class="button main" onClick={() => { leaving.value = false; void app.lock(); }}>{words.whileRunning.lock}</button>
          </>}>
          <p>{words.whileRunning.loses}</p>
        </Dialog>
      )}
    </div>
  );
}

function Tab({ app, screen, current }: { app: App; screen: Screen; current: boolean }) {
  const backing = app.backing.state.value;
  const part = screen === "backup" && backing.at === "running" ? partOf(backing.progress) : undefined;
  const jobs = screen === "restore" ? app.jobs.jobs.value.filter((job) => job.end === null).length : 0;
  const alarms = screen === "status" ? app.alarms.value : [];
  return (
    <li>
      <a class="tab" href={`#${screen}`} aria-current={current ? "page" : undefined} onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        app.route.go(viewOf(screen));
      }}>
        <Icon name={ICONS[screen]} />
        <span>{words.screens[screen]}</span>
        {part !== undefined && <span class="tab-note">{part === null ? "…" : percent(Math.floor(part * 1e6), 1e6)}<span class="unseen"> {words.done}</span></span>}
        {alarms.length > 0 && <span class={`tab-note ${alarms.some(({ tone }) => tone === "bad") ? "bad" : "warn"}`}>{alarms.length}<span class="unseen"> {words.alarms(alarms.length)}</span></span>}
        {jobs > 0 && <span class="tab-note">{jobs}<span class="unseen"> {words.running}</span></span>}
      </a>
    </li>
  );
}

function Banners({ app, session }: { app: App; session: Session }) {
  const offline = useComputed(() => !app.staging.online.value);
  const settings = app.settings.value;
  if (app.staging.elsewhere.value) {
    return <div class="banner"><Notice tone="warn" title={words.elsewhere.title}><p class="soft">{words.elsewhere.advice}</p></Notice></div>;
  }
  const unread = settings === null ? [] : session.warnings.filter(({ code }) => !settings.readWarnings.includes(code));
  if (settings !== null && unread.length > 0 && !SAYS_ITSELF.has(app.route.view.value.screen)) {
    const read = () => void app.changeSettings({ readWarnings: [...settings.readWarnings, ...unread.map(({ code }) => code)] });
    return (
      <div class="banner stack tight">
        {unread.map((problem) => <ProblemNotice key={problem.code} problem={problem} tone="warn" urgent={false} />)}
        <div><button type="button" class="button small" onClick={read}>{words.read}</button></div>
      </div>
    );
  }
  if (offline.value && app.backing.state.value.at !== "running") {
    return <div class="banner"><Notice tone="warn" icon="offline" title={words.noNetwork}><p class="soft">{words.waits}</p></Notice></div>;
  }
  return null;
}

/** Screens that show the session's warnings in a place of their own. */
const SAYS_ITSELF: ReadonlySet<Screen> = new Set(["settings", "status"]);

function LockSoon({ app }: { app: App }) {
  const seconds = app.staging.lockSoon.value;
  if (seconds === null) return null;
  const stay = () => { app.staging.lockSoon.value = null; app.core.touch(); };
  return (
    <Dialog title={words.soon.title} close={stay} firm
      footer={<>
        <button type="button" class="button" onClick={() => void app.lock()}>{words.soon.lock}</button>
        <button type="button" class="button main" autofocus onClick={stay}>{words.soon.stay}</button>
      </>}>
      <p>{words.soon.locksIn(<span class="strong">{countdown(seconds * 1000)}</span>)}</p>
    </Dialog>
  );
}

/** Folders and files may be dropped anywhere while a backup can begin. */
function DropAnywhere({ app }: { app: App }) {
  const over = useSignal(false);
  useEffect(() => {
    const can = () => app.backing.state.value.at !== "running" && !document.querySelector("dialog[open]");
    const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
    let depth = 0;
    const enter = (event: DragEvent) => { if (hasFiles(event)) { depth += 1; over.value = can(); } };
    const leave = (event: DragEvent) => { if (hasFiles(event)) { depth = Math.max(0, depth - 1); if (depth === 0) over.value = false; } };
    // Without this the browser would leave the page and open the file.
    const hover = (event: DragEvent) => { if (hasFiles(event)) event.preventDefault(); };
    const drop = (event: DragEvent) => {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      depth = 0;
      over.value = false;
      if (!can()) return;
      void app.backing.take(app.core.folderFromDrop(event.dataTransfer));
      if (app.route.view.value.screen !== "backup") app.route.go(viewOf("backup"));
    };
    addEventListener("dragenter", enter);
    addEventListener("dragleave", leave);
    addEventListener("dragover", hover);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragenter", enter);
      removeEventListener("dragleave", leave);
      removeEventListener("dragover", hover);
      removeEventListener("drop", drop);
    };
  }, [app, over]);
  if (!over.value) return null;
  return <div class="drop-over" aria-hidden="true"><div><Icon name="backup" size={44} /><p>{words.drop}</p></div></div>;
}
