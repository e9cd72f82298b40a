/** Watching: what is asked, what is shown, and what the system tells. */

import { expect, test } from "vitest";
import type { Core, Session, Watched } from "../../src/core/api";
import type { Alarm } from "../../src/app/alarms";
import { Watching } from "../../src/app/watching";
import { held } from "./harness/kept";
import { administering, DAY, FULL, NOW, scripted, SETTINGS, snapshots, WATCHED } from "./harness/scripted";

function page(watched: () => Promise<Watched>, { isLookedAt = false, notify = true } = {}) {
  const state = { shown: [] as readonly Alarm[], told: [] as string[], named: 0, session: FULL as Session | null, settings: { ...SETTINGS, notify } };
  const core: Core = scripted({ watched });
  const watching = new Watching({
    core, session: () => state.session, settings: () => state.settings, remembered: async () => [], now: () => NOW,
    snapshots: async () => { state.named += 1; return snapshots(); },
    show: (alarms) => { state.shown = alarms; },
    notifier: { isLookedAt: () => isLookedAt, isAllowed: () => true, show: (title) => void state.told.push(title) },
  });
  return { state, watching };
}

const DAMAGE: Watched = { ...WATCHED, lastCheck: { time: NOW, outcome: "damage" } };
const MISSED: Watched = { ...WATCHED, rhythms: [{ series: "s2", client: "c", times: [9, 10, 11].map((days) => NOW - days * DAY) }] };

test("names are asked for only where a series is missed", async () => {
  const good = page(async () => WATCHED);
  await good.watching.look();
  expect(good.state.named).toBe(0);
  const bad = page(async () => MISSED);
  await bad.watching.look();
  expect([bad.state.named, bad.state.shown.length]).toEqual([1, 1]);
});

test("what is new while nobody looks is told once, and what was there at first is not", async () => {
  let now = WATCHED;
  const { state, watching } = page(async () => now);
  await watching.look();
  now = DAMAGE;
  await watching.look();
  await watching.look();
  expect(state.told).toEqual(["The last check found damage"]);
  const first = page(async () => DAMAGE);
  await first.watching.look();
  expect([first.state.told, first.state.shown.length]).toEqual([[], 1]);
});

test("nothing is told of what the person sees or did not ask for", async () => {
  for (const options of [{ isLookedAt: true }, { notify: false }]) {
    let now = WATCHED;
    const { state, watching } = page(async () => now, options);
    await watching.look();
    now = DAMAGE;
    await watching.look();
    expect([state.told, state.shown.length]).toEqual([[], 1]);
  }
});

test("a look that comes after a lock shows nothing, and a server that is away changes nothing", async () => {
  let answer!: (watched: Watched) => void;
  const { state, watching } = page(() => new Promise((resolve) => { answer = resolve; }));
  const looking = watching.look();
  [state.session] = [null];
  watching.forget();
  answer(DAMAGE);
  await looking;
  expect(state.shown).toEqual([]);
  let isAway = false;
  const other = page(async () => { if (isAway) throw new Error(); return DAMAGE; });
  await other.watching.look();
  isAway = true;
  await other.watching.look();
  expect(other.state.shown).toHaveLength(1);
});

test("a change of the settings is judged at once", async () => {
  const { state, watching } = page(async () => MISSED);
  await watching.look();
  state.settings = { ...state.settings, quietSeries: ["s2"] };
  watching.judge();
  expect(state.shown).toEqual([]);
});

test("holds are asked for once somebody looks closely, and stay where they cannot be told for a moment", async () => {
  let asked = 0;
  let isAway = false;
  const state = { shown: [] as readonly Alarm[] };
  const core: Core = scripted({ watched: async () => WATCHED, administer: administering({ holds: async () => { asked += 1; if (isAway) throw new Error(); return held().holds; } }) });
  const watching = new Watching({
    core, session: () => FULL, settings: () => SETTINGS, remembered: async () => [], now: () => NOW, snapshots: async () => [],
    show: (alarms) => { state.shown = alarms; }, notifier: { isLookedAt: () => true, isAllowed: () => false, show: () => undefined },
  });
  await watching.look();
  expect([asked, state.shown.length]).toEqual([0, 0]);
  await watching.lookClosely();
  expect(state.shown.map(({ title }) => title)).toEqual(["Pictures of Firefox on the laptop has changed a lot at once", "desk: /home/mara of desk has changed a lot at once"]);
  isAway = true;
  await watching.look();
  expect([asked, state.shown.length]).toEqual([2, 2]);
});
