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
import { shell } from "../../words/shell";
import { unlock } from "../../words/unlock";

const Keys = later(() => import("./keys/keys").then((part) => part.Keys));

export function Settings({ app, session }: { app: App; session: Session }) {
  const settings = app.settings.value;
  const view = app.route.view.value;
  if (session.role === "full" && view.screen === "settings" && view.keys) return <Keys app={app} />;
  return (
    <div class="page stack wide">
      <header class="page-head"><h1>{shell.screens.settings}</h1><p class="soft">{words.scope(session.role === "full")}</p></header>
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
            <h2>{words.keys.title}</h2>
            <p class="small soft">{words.keys.hint}</p>
          </div>
          <button type="button" class="button" onClick={() => app.route.go({ screen: "settings", keys: true })}>{words.keys.show}</button>
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
      <div><h2>{words.colours.title}</h2></div>
      <Choice<Choices["theme"]> label={words.colours.title} value={settings.theme} change={(theme) => void app.changeSettings({ theme })} options={[
        { value: "system", words: <><Icon name="device" size={16} />{words.colours.system}</> },
        { value: "light", words: <><Icon name="sun" size={16} />{words.colours.light}</> },
        { value: "dark", words: <><Icon name="moon" size={16} />{words.colours.dark}</> },
      ]} />
    </section>
  );
}

function Speaking({ app, settings }: { app: App; settings: Choices }) {
  const change = (language: Choices["language"]) => void app.changeSettings({ language });
  return (
    <section class="card padded setting">
      <div><h2>{unlock.language}</h2></div>
      <Choice<Choices["language"]> label={unlock.language} value={settings.language} change={change} options={[
        { value: "system", words: words.browsers },
        ...(Object.entries(LANGUAGES) as [Language, string][]).map(([value, name]) => ({ value, words: <bdi lang={value}>{name}</bdi> })),
      ]} />
    </section>
  );
}

const IDLE = [5, 15, 60, 240, 0];

function Locking({ app, settings: { idleMinutes } }: { app: App; settings: Choices }) {
  return (
    <section class="card padded setting">
      <div>
        <h2 id="idle">{words.locking.title}</h2>
        <p class="small soft">{words.locking.hint}</p>
      </div>
      <div class="row">
        <select class="input narrow" aria-labelledby="idle" value={String(idleMinutes)} onChange={(event) => void app.changeSettings({ idleMinutes: Number(event.currentTarget.value) })}>
          {[...(IDLE.includes(idleMinutes) ? [] : [idleMinutes]), ...IDLE].map((minutes) => <option key={minutes} value={String(minutes)}>{words.locking.after(minutes)}</option>)}
        </select>
        <button type="button" class="button" onClick={() => void app.lock()}><Icon name="lock" size={18} />{shell.soon.lock}</button>
      </div>
    </section>
  );
}

function Speed({ app, settings }: { app: App; settings: Choices }) {
  return (
    <section class="card padded setting">
      <div>
        <h2>{words.compression.title}</h2>
        <p class="small soft">{words.compression.hint}</p>
      </div>
      <Choice<Choices["compression"]> label={words.compression.title} value={settings.compression} change={(compression) => void app.changeSettings({ compression })}
        options={[{ value: "fast", words: words.compression.fast }, { value: "balanced", words: words.compression.balanced }]} />
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
        <h2>{words.notifying.title}</h2>
        <p class="small soft">{words.notifying.hint}</p>
        {isForbidden.value && <p class="small field-problem" role="alert">{words.notifying.forbidden}</p>}
      </div>
      <Choice<"on" | "off"> label={words.notifying.title} value={settings.notify ? "on" : "off"} change={(choice) => void change(choice)}
        options={[{ value: "on", words: words.on }, { value: "off", words: words.off }]} />
    </section>
  );
}

const STALE = [0, 2, 7, 14, 30];

function Stale({ app, settings }: { app: App; settings: Choices }) {
  const { staleDays, quietSeries } = settings;
  return (
    <section class="card padded setting">
      <div>
        <h2 id="stale">{words.stale.title}</h2>
        <p class="small soft">{words.stale.hint}</p>
        {quietSeries.length > 0 && <p class="small soft">{words.stale.quiet(quietSeries.length)} <button type="button" class="button plain small" onClick={() => void app.changeSettings({ quietSeries: [] })}>{words.stale.expectAll}</button></p>}
      </div>
      <select class="input narrow" aria-labelledby="stale" value={String(staleDays)} onChange={(event) => void app.changeSettings({ staleDays: Number(event.currentTarget.value) })}>
        {[...(STALE.includes(staleDays) ? [] : [staleDays]), ...STALE].map((days) => <option key={days} value={String(days)}>{words.stale.after(days)}</option>)}
      </select>
    </section>
  );
}

const PRICES = [
  { price: null, offer: "none" },
  { price: 0.023, offer: "s3" },
  { price: 0.001, offer: "disk" },
] as const;

function Price({ app, settings: { price } }: { app: App; settings: Choices }) {
  const isOwn = useSignal(false);
  const own = isOwn.value || !PRICES.some((one) => one.price === price);
  return (
    <section class="card padded setting">
      <div>
        <h2 id="price">{words.price.title}</h2>
        <p class="small soft">{words.price.hint}</p>
      </div>
      <div class="row">
        <select class="input narrow" aria-labelledby="price" value={own ? "own" : String(price)} onChange={(event) => {
          const { value } = event.currentTarget;
          isOwn.value = value === "own";
          if (value !== "own") void app.changeSettings({ price: value === "null" ? null : Number(value) });
        }}>
          {PRICES.map(({ price, offer }) => <option key={offer} value={String(price)}>{words.price.offers[offer]}</option>)}
          <option value="own">{words.price.another}</option>
        </select>
        {own && <input class="input price" type="number" min={0} max={1000} step="any" aria-label={words.price.dollars} value={price ?? ""} onChange={(event) => { const { value } = event.currentTarget; void app.changeSettings({ price: value === "" ? null : Number(value) }); }} />}
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
      say(isOn ? words.offline.kept : words.offline.removed);
    } catch (thrown) {
      problem.value = problemOf(thrown);
    }
    busy.value = false;
  };
  return (
    <section class="card padded setting">
      <div>
        <h2>{words.offline.title}</h2>
        <p class="small soft">{words.offline.hint}</p>
        {busy.value && <p class="small soft" role="status"><Spinner label={settings.offline ? words.offline.removing : words.offline.keeping} /></p>}
        {problem.value && <ProblemNotice problem={problem.value} />}
      </div>
      <Choice<"on" | "off"> label={words.offline.title} value={settings.offline ? "on" : "off"} change={(choice) => { if (!busy.value) void change(choice === "on"); }}
        options={[{ value: "on", words: words.on }, { value: "off", words: words.off }]} />
    </section>
  );
}

function Device({ session }: { session: Session }) {
  const { device } = words;
  return (
    <section class="card padded stack">
      <h2>{unlock.thisDevice}</h2>
      <dl class="pairs">
        <dt>{device.may}</dt><dd>{session.role === "full" ? device.everything : device.addOnly}</dd>
        {session.deviceName && <><dt>{device.name}</dt><dd><bdi>{session.deviceName}</bdi></dd></>}
        <dt>{device.client}</dt><dd class="code">{session.client ?? device.registers}</dd>
        <dt>{device.repository}</dt><dd class="code">{session.repository.id}</dd>
        <dt>{device.owner}</dt><dd class="code">{session.repository.owner}</dd>
        <dt>{device.signingKey}</dt><dd>{session.keyInBrowserVault ? device.inVault : device.inStorage}</dd>
      </dl>
      {session.warnings.map((problem) => <ProblemNotice key={problem.code} problem={problem} tone="warn" urgent={false} />)}
    </section>
  );
}

function Forgetting({ app, session }: { app: App; session: Session }) {
  const { forgetting } = words;
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
      say(forgetting.done);
    } catch (thrown) {
      problem.value = problemOf(thrown);
    }
    busy.value = false;
    asking.value = null;
  };
  return (
    <section class="card padded stack">
      <h2>{forgetting.title}</h2>
      {problem.value && <ProblemNotice problem={problem.value} />}
      {done.value && <Notice tone="good" title={forgetting.cacheGone}><p class="soft">{forgetting.harmless}</p></Notice>}
      <div class="setting plain">
        <div><h3>{forgetting.kept}</h3><p class="small soft">{forgetting.keptHint}</p></div>
        <button type="button" class="button" disabled={app.isWorking} onClick={() => { asking.value = "caches"; }}>{forgetting.cache}</button>
      </div>
      {session.client !== null && (
        <div class="setting plain">
          <div><h3>{forgetting.asDevice}</h3><p class="small soft">{forgetting.deviceHint(session.role === "full")}</p></div>
          <button type="button" class="button bad" disabled={app.isWorking} onClick={() => { asking.value = "device"; }}>{unlock.forgetDevice}</button>
        </div>
      )}
      {asking.value && (
        <Dialog title={forgetting.ask[asking.value].title} close={() => { asking.value = null; }}
          footer={<>
            <button type="button" class="button" onClick={() => { asking.value = null; }}>{forgetting.keep}</button>
            <button type="button" class="button bad" disabled={busy.value} onClick={() => void act()}>{busy.value ? forgetting.busy : forgetting.forget}</button>
          </>}>
          <p>{forgetting.ask[asking.value].means}</p>
        </Dialog>
      )}
    </section>
  );
}
