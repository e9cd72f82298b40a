/** Settings: of this browser, not of the repository. */

import { useSignal } from "@preact/signals";
import type { Problem, Session, Settings as Choices } from "../../core/api";
import { problemOf } from "../../core/problem";
import type { App } from "../app";
import { Choice } from "../parts/choice";
import { Dialog } from "../parts/dialog";
import { Icon } from "../parts/icon";
import { later } from "../parts/later";
import { Notice, ProblemNotice } from "../parts/notice";
import { Spinner } from "../parts/progress";
import { say } from "../parts/say";
import { askToNotify, canNotify } from "../telling";
import { LANGUAGES, type Language } from "../../words/language";
import { settings as words } from "../../words/settings";
import { counted } from "../words";

const Keys = later(() => import("./keys/keys").then((part) => part.Keys));

export function Settings({ app, session }: { app: App; session: Session }) {
  const settings = app.settings.value;
  const view = app.route.view.value;
  if (session.role === "full" && view.screen === "settings" && view.keys) return <Keys app={app} />;
  return (
    <div class="page stack wide">
      <header class="page-head"><h1>Settings</h1><p class="soft">They hold for this browser only{session.role === "full" ? ", except the keys of the repository" : ""}.</p></header>
      {settings && <Look app={app} settings={settings} />}
      {settings && <Speaking app={app} settings={settings} />}
      {settings && <Locking app={app} settings={settings} />}
      {settings && <Speed app={app} settings={settings} />}
      {settings && canNotify() && <Notifying app={app} settings={settings} />}
      {settings && <Stale app={app} settings={settings} />}
      {settings && session.role === "full" && <Price app={app} settings={settings} />}
      {settings && session.role === "full" && <Offline app={app} settings={settings} />}
      {session.role === "full" && (
        <section class="card padded setting">
          <div>
            <h2>Passphrases and recovery codes</h2>
            <p class="small soft">What opens the repository: change the passphrase, or make a code to keep on paper.</p>
          </div>
          <button type="button" class="button" onClick={() => app.route.go({ screen: "settings", keys: true })}>Show them</button>
        </section>
      )}
      <Device session={session} />
      <Forgetting app={app} session={session} />
    </div>
  );
}

function Look({ app, settings }: { app: App; settings: Choices }) {
  return (
    <section class="card padded setting">
      <div><h2>Colours</h2></div>
      <Choice<Choices["theme"]> label="Colours" value={settings.theme} change={(theme) => void app.changeSettings({ theme })} options={[
        { value: "system", words: <><Icon name="device" size={16} />System</> },
        { value: "light", words: <><Icon name="sun" size={16} />Light</> },
        { value: "dark", words: <><Icon name="moon" size={16} />Dark</> },
      ]} />
    </section>
  );
}

const IDLE = [
  { minutes: 5, words: "5 minutes" },
  { minutes: 15, words: "15 minutes" },
  { minutes: 60, words: "1 hour" },
  { minutes: 240, words: "4 hours" },
  { minutes: 0, words: "Never" },
];

function Speaking({ app, settings }: { app: App; settings: Choices }) {
  const change = (language: Choices["language"]) => void app.changeSettings({ language });
  return (
    <section class="card padded setting">
      <div><h2>{words.language}</h2></div>
      <Choice<Choices["language"]> label={words.language} value={settings.language} change={change} options={[
        { value: "system", words: words.browsers },
        ...(Object.entries(LANGUAGES) as [Language, string][]).map(([value, name]) => ({ value, words: <span lang={value}>{name}</span> })),
      ]} />
    </section>
  );
}

function Locking({ app, settings }: { app: App; settings: Choices }) {
  const known = IDLE.some((one) => one.minutes === settings.idleMinutes);
  return (
    <section class="card padded setting">
      <div>
        <h2 id="idle">Lock by itself</h2>
        <p class="small soft">When nobody touches the page for so long. Not while a backup or a download runs.</p>
      </div>
      <div class="row">
        <select class="input narrow" aria-labelledby="idle" value={String(settings.idleMinutes)} onChange={(event) => void app.changeSettings({ idleMinutes: Number(event.currentTarget.value) })}>
          {!known && <option value={String(settings.idleMinutes)}>{settings.idleMinutes} minutes</option>}
          {IDLE.map((one) => <option key={one.minutes} value={String(one.minutes)}>{one.words}</option>)}
        </select>
        <button type="button" class="button" onClick={() => void app.lock()}><Icon name="lock" size={18} />Lock now</button>
      </div>
    </section>
  );
}

function Speed({ app, settings }: { app: App; settings: Choices }) {
  return (
    <section class="card padded setting">
      <div>
        <h2>Compression</h2>
        <p class="small soft">Fast makes a backup quicker where the network is quick; balanced stores less.</p>
      </div>
      <Choice<Choices["compression"]> label="Compression" value={settings.compression} change={(compression) => void app.changeSettings({ compression })}
        options={[{ value: "fast", words: "Fast" }, { value: "balanced", words: "Balanced" }]} />
    </section>
  );
}

function Notifying({ app, settings }: { app: App; settings: Choices }) {
  const isForbidden = useSignal(false);
  const change = async (choice: "on" | "off") => {
    const notify = choice === "on" && (await askToNotify());
    isForbidden.value = choice === "on" && !notify;
    await app.changeSettings({ notify });
  };
  return (
    <section class="card padded setting">
      <div>
        <h2>Notifications</h2>
        <p class="small soft">When a backup ends or something needs you, while you look at something else. The system shows the backup's name, and why it failed if it did.</p>
        {isForbidden.value && <p class="small field-problem" role="alert">This browser forbids it. Allow notifications for this page in the browser's settings first.</p>}
      </div>
      <Choice<"on" | "off"> label="Notifications" value={settings.notify ? "on" : "off"} change={(choice) => void change(choice)}
        options={[{ value: "on", words: "On" }, { value: "off", words: "Off" }]} />
    </section>
  );
}

const STALE = [0, 2, 7, 14, 30];

function Stale({ app, settings }: { app: App; settings: Choices }) {
  const { staleDays, quietSeries } = settings;
  return (
    <section class="card padded setting">
      <div>
        <h2 id="stale">Say when backups stop coming</h2>
        <p class="small soft">Of a folder that this browser remembers, or of any device that used to back up. Status shows it.</p>
        {quietSeries.length > 0 && <p class="small soft">You expect no more of {counted(quietSeries.length, "series", "series")}. <button type="button" class="button plain small" onClick={() => void app.changeSettings({ quietSeries: [] })}>Expect all again</button></p>}
      </div>
      <select class="input narrow" aria-labelledby="stale" value={String(staleDays)} onChange={(event) => void app.changeSettings({ staleDays: Number(event.currentTarget.value) })}>
        {!STALE.includes(staleDays) && <option value={String(staleDays)}>After {staleDays} days</option>}
        {STALE.map((days) => <option key={days} value={String(days)}>{days === 0 ? "Never" : `After ${days} days`}</option>)}
      </select>
    </section>
  );
}

const PRICES = [
  { price: null, words: "Not shown" },
  { price: 0.023, words: "S3 Standard, $0.023" },
  { price: 0.001, words: "Own disk, about $0.001" },
] as const;

function Price({ app, settings: { price } }: { app: App; settings: Choices }) {
  const isOwn = useSignal(false);
  const own = isOwn.value || !PRICES.some((one) => one.price === price);
  return (
    <section class="card padded setting">
      <div>
        <h2 id="price">What storage costs</h2>
        <p class="small soft">For a GB and month, in dollars. Status multiplies it with what is stored. A disk of your own: its price and power over some five years.</p>
      </div>
      <div class="row">
        <select class="input narrow" aria-labelledby="price" value={own ? "own" : String(price)} onChange={(event) => {
          const { value } = event.currentTarget;
          isOwn.value = value === "own";
          if (value !== "own") void app.changeSettings({ price: value === "null" ? null : Number(value) });
        }}>
          {PRICES.map((one) => <option key={String(one.price)} value={String(one.price)}>{one.words}</option>)}
          <option value="own">Another price</option>
        </select>
        {own && <input class="input price" type="number" min={0} max={1000} step="any" aria-label="Dollars for a GB and month" value={price ?? ""} onChange={(event) => { const { value } = event.currentTarget; void app.changeSettings({ price: value === "" ? null : Number(value) }); }} />}
      </div>
    </section>
  );
}

function Offline({ app, settings }: { app: App; settings: Choices }) {
  const busy = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const change = async (isOn: boolean) => {
    [busy.value, problem.value] = [true, null];
    try {
      await app.setOffline(isOn);
      say(isOn ? "Kept." : "Removed.");
    } catch (thrown) {
      problem.value = problemOf(thrown);
    }
    busy.value = false;
  };
  return (
    <section class="card padded setting">
      <div>
        <h2>Open without a network</h2>
        <p class="small soft">This browser then keeps the page, and the list of snapshots as it last was, sealed under your passphrase. Whoever takes this computer can try to guess the passphrase on it, as with any copy of a key slot.</p>
        {busy.value && <p class="small soft" role="status"><Spinner label={settings.offline ? "Removing…" : "Keeping…"} /></p>}
        {problem.value && <ProblemNotice problem={problem.value} />}
      </div>
      <Choice<"on" | "off"> label="Open without a network" value={settings.offline ? "on" : "off"} change={(choice) => { if (!busy.value) void change(choice === "on"); }}
        options={[{ value: "on", words: "On" }, { value: "off", words: "Off" }]} />
    </section>
  );
}

function Device({ session }: { session: Session }) {
  return (
    <section class="card padded stack">
      <h2>This device</h2>
      <dl class="pairs">
        <dt>May</dt><dd>{session.role === "full" ? "back up, restore, see everything" : "add backups only"}</dd>
        {session.deviceName && <><dt>Name</dt><dd><bdi>{session.deviceName}</bdi></dd></>}
        <dt>Client</dt><dd class="code">{session.client ?? "registers with its first backup"}</dd>
        <dt>Repository</dt><dd class="code">{session.repository.id}</dd>
        <dt>Owner</dt><dd class="code">{session.repository.owner}</dd>
        <dt>Signing key</dt><dd>{session.keyInBrowserVault ? "in the browser's key store; no page can read it" : "in this browser's private storage"}</dd>
      </dl>
      {session.warnings.map((problem) => <ProblemNotice key={problem.code} problem={problem} tone="warn" urgent={false} />)}
    </section>
  );
}

function Forgetting({ app, session }: { app: App; session: Session }) {
  const asking = useSignal<"caches" | "device" | null>(null);
  const busy = useSignal(false);
  const done = useSignal(false);
  const problem = useSignal<Problem | null>(null);
  const act = async () => {
    const what = asking.value;
    busy.value = true;
    problem.value = null;
    try {
      if (what === "caches") await app.core.forgetCaches();
      if (what === "device") {
        await app.core.forgetDevice();
        location.reload();
      }
      if (what === "caches") await app.loadSettings();
      done.value = what === "caches";
      say("Forgotten.");
    } catch (thrown) {
      problem.value = problemOf(thrown);
    }
    busy.value = false;
    asking.value = null;
  };
  return (
    <section class="card padded stack">
      <h2>Forget</h2>
      {problem.value && <ProblemNotice problem={problem.value} />}
      {done.value && <Notice tone="good" title="The cache is gone"><p class="soft">Your backups are not affected. The next one reads its files again, and uploads only what is new.</p></Notice>}
      <div class="setting plain">
        <div><h3>What this browser keeps</h3><p class="small soft">The copy of the index, what the last backups looked like, remembered folders, what opens without a network. Deleting it is harmless.</p></div>
        <button type="button" class="button" disabled={app.isWorking} onClick={() => { asking.value = "caches"; }}>Forget the cache</button>
      </div>
      {session.client !== null && (
        <div class="setting plain">
          <div><h3>This browser as a device</h3><p class="small soft">Its keys are deleted too. Backups stay; {session.role === "full" ? "the passphrase registers it anew." : "to add more it has to be enrolled again."}</p></div>
          <button type="button" class="button bad" disabled={app.isWorking} onClick={() => { asking.value = "device"; }}>Forget this device</button>
        </div>
      )}
      {asking.value && (
        <Dialog title={asking.value === "caches" ? "Forget the cache?" : "Forget this device?"} close={() => { asking.value = null; }}
          footer={<>
            <button type="button" class="button" onClick={() => { asking.value = null; }}>Keep</button>
            <button type="button" class="button bad" disabled={busy.value} onClick={() => void act()}>{busy.value ? "Forgetting…" : "Forget"}</button>
          </>}>
          <p>{asking.value === "caches"
            ? "No backup is lost. Folders have to be chosen again, and the next backup reads every file once."
            : "No backup is lost, but this browser can no longer add any. The owner still lists it until it is revoked."}</p>
        </Dialog>
      )}
    </section>
  );
}
