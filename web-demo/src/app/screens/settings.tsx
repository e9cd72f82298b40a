/** Settings: of this browser, not of the repository. */

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Session, Settings as Choices } from "../../core/api";
import type { App } from "../app";
import { useAct } from "../parts/act";
import { Choice } from "../parts/choice";
import { FormDialog } from "../parts/form";
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
        <Setting title={words.keys.title} hint={words.keys.hint}>
          <button type="button" class="button" onClick={() => app.route.go({ screen: "settings", keys: true })}>{words.keys.show}</button>
        </Setting>
      )}
      <Device session={session} />
      <Forgetting app={app} session={session} />
    </div>
  );
}

function Setting({ id, title, hint, more, children }: { id?: string; title: string; hint?: string; more?: ComponentChildren; children: ComponentChildren }) {
  return (
    <section class="card padded setting">
      <div>
        <h2 id={id}>{title}</h2>
        {hint && <p class="small soft">{hint}</p>}
        {more}
      </div>
      {children}
    </section>
  );
}

function Look({ app, settings }: { app: App; settings: Choices }) {
  return (
    <Setting title={words.colours.title}>
      <Choice<Choices["theme"]> label={words.colours.title} value={settings.theme} change={(theme) => void app.changeSettings({ theme })} options={[
        { value: "system", words: <><Icon name="device" size={16} />{words.colours.system}</> },
        { value: "light", words: <><Icon name="sun" size={16} />{words.colours.light}</> },
        { value: "dark", words: <><Icon name="moon" size={16} />{words.colours.dark}</> },
      ]} />
    </Setting>
  );
}

function Speaking({ app, settings }: { app: App; settings: Choices }) {
  const change = (language: Choices["language"]) => void app.changeSettings({ language });
  return (
    <Setting title={unlock.language}>
      <Choice<Choices["language"]> label={unlock.language} value={settings.language} change={change} options={[
        { value: "system", words: words.browsers },
        ...(Object.entries(LANGUAGES) as [Language, string][]).map(([value, name]) => ({ value, words: <bdi lang={value}>{name}</bdi> })),
      ]} />
    </Setting>
  );
}

const IDLE = [5, 15, 60, 240, 0];

function Locking({ app, settings: { idleMinutes } }: { app: App; settings: Choices }) {
  return (
    <Setting id="idle" title={words.locking.title} hint={words.locking.hint}>
      <div class="row">
        <select class="input narrow" aria-labelledby="idle" value={String(idleMinutes)} onChange={(event) => void app.changeSettings({ idleMinutes: Number(event.currentTarget.value) })}>
          {[...(IDLE.includes(idleMinutes) ? [] : [idleMinutes]), ...IDLE].map((minutes) => <option key={minutes} value={String(minutes)}>{words.locking.after(minutes)}</option>)}
        </select>
        <button type="button" class="button" onClick={() => void app.lock()}><Icon name="lock" size={18} />{shell.soon.lock}</button>
      </div>
    </Setting>
  );
}

function Speed({ app, settings }: { app: App; settings: Choices }) {
  return (
    <Setting title={words.compression.title} hint={words.compression.hint}>
      <Choice<Choices["compression"]> label={words.compression.title} value={settings.compression} change={(compression) => void app.changeSettings({ compression })}
        options={[{ value: "fast", words: words.compression.fast }, { value: "balanced", words: words.compression.balanced }]} />
    </Setting>
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
    <Setting title={words.notifying.title} hint={words.notifying.hint} more={isForbidden.value && <p class="small field-problem" role="alert">{words.notifying.forbidden}</p>}>
      <Choice<"on" | "off"> label={words.notifying.title} value={settings.notify ? "on" : "off"} change={(choice) => void change(choice)}
        options={[{ value: "on", words: words.on }, { value: "off", words: words.off }]} />
    </Setting>
  );
}

const STALE = [0, 2, 7, 14, 30];

function Stale({ app, settings }: { app: App; settings: Choices }) {
  const { staleDays, quietSeries } = settings;
  return (
    <Setting id="stale" title={words.stale.title} hint={words.stale.hint}
      more={quietSeries.length > 0 && <p class="small soft">{words.stale.quiet(quietSeries.length)} <button type="button" class="button plain small" onClick={() => void app.changeSettings({ quietSeries: [] })}>{words.stale.expectAll}</button></p>}>
      <select class="input narrow" aria-labelledby="stale" value={String(staleDays)} onChange={(event) => void app.changeSettings({ staleDays: Number(event.currentTarget.value) })}>
        {[...(STALE.includes(staleDays) ? [] : [staleDays]), ...STALE].map((days) => <option key={days} value={String(days)}>{words.stale.after(days)}</option>)}
      </select>
    </Setting>
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
    <Setting id="price" title={words.price.title} hint={words.price.hint}>
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
    </Setting>
  );
}

function Offline({ app, settings }: { app: App; settings: Choices }) {
  const { isBusy, problem, act } = useAct();
  const change = (isOn: boolean) => act(async () => {
    await app.setOffline(isOn);
    say(isOn ? words.offline.kept : words.offline.removed);
  });
  return (
    <Setting title={words.offline.title} hint={words.offline.hint} more={<>
      {isBusy.value && <p class="small soft" role="status"><Spinner label={settings.offline ? words.offline.removing : words.offline.keeping} /></p>}
      {problem.value && <ProblemNotice problem={problem.value} />}
    </>}>
      <Choice<"on" | "off"> label={words.offline.title} value={settings.offline ? "on" : "off"} change={(choice) => void change(choice === "on")}
        options={[{ value: "on", words: words.on }, { value: "off", words: words.off }]} />
    </Setting>
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
  const done = useSignal(false);
  const { isBusy, problem, act } = useAct();
  const forget = async (what: "caches" | "device") => {
    await act(async () => {
      if (what === "caches") await app.core.forgetCaches();
      if (what === "device") {
        await app.core.forgetDevice();
        location.reload();
      }
      if (what === "caches") await app.loadSettings();
      done.value = what === "caches";
      say(forgetting.done);
    });
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
        <FormDialog title={forgetting.ask[asking.value].title} close={() => { asking.value = null; }} cancel={forgetting.keep} submit={() => void forget(asking.value!)}
          isReady={!isBusy.value} isBad act={isBusy.value ? forgetting.busy : forgetting.forget}>
          <p>{forgetting.ask[asking.value].means}</p>
        </FormDialog>
      )}
    </section>
  );
}
