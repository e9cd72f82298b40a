import { beforeEach, expect, test, vi } from "vitest";

import type { Opened } from "../../src/core/coordinator/opened";
import type { Desk } from "../../src/core/administration/confirmed";
import type { Decision, Plan } from "../../src/core/keeping";

interface State {
  /** The newest change, and the change with the policy. */
  head: number;
  policy: number;
  /** Whether the only snapshot would go. */
  goes: boolean;
}
const server = vi.hoisted(() => ({ root: "roots/1", states: {} as Record<string, State> }));

vi.mock("../../src/core/administration/engine", () => ({
  Keeping: class {
    readonly #state: State;
    readonly root = 1;
    readonly kept = 1;
    readonly policyName = undefined;
    constructor(_version: number, _bytes: Uint8Array, root: string) { this.#state = server.states[root]!; }
    get head() { return this.#state.head; }
    policy = () => ({ change: this.#state.policy, counts: [], spans: [], dayFloor: null, tags: [], zone: "", grace: 0, checkParts: 1, floorLast: 0, floorAge: 0, hold: null });
    lingers = () => null;
    held = () => [];
    tagIds = () => [];
    foresee = () => ({ ...this.foreseeRelease(), policy: Uint8Array.of(1) });
    foreseeRelease = () => ({ snapshots: [{ id: "x", series: "s", time: 1, goes: this.#state.goes, reasons: [], protection: null }], freed: [], held: [], lingers: null });
    free = () => {};
  },
}));

const { keepings } = await import("../../src/core/administration/keeping");

const RULES = { rules: { counts: {} }, terms: {} } as unknown as Plan;
const RELEASE: Plan = { release: ["x"] };

/** A page of the owner's; `before` happens once the page has checked and before the change is signed. */
function page(before = () => {}) {
  const signed: Decision[] = [];
  const site = {
    known: { source: { version: 1, bytes: new Uint8Array() } },
    gateway: { newestRoot: async () => server.root, time: async () => 5_000_000n, read: async () => null },
    readNewest: async (make: (root: string) => unknown) => make(server.root),
  };
  const desk = {
    site: site as unknown as Opened,
    books: () => ({ everything: async () => ({ facts: [], root: 1 }) }),
    sign: async (decision: Decision, _device: string | null, check: (own: number | null) => Promise<void>) => {
      before();
      await check(null);
      signed.push(decision);
      return { state: "done", unchanged: [] };
    },
  };
  return { desk: desk as unknown as Desk, signed };
}

beforeEach(() => {
  server.root = "roots/1";
  server.states = {
    "roots/1": { head: 5, policy: 3, goes: false }, "roots/2": { head: 6, policy: 3, goes: true }, "roots/3": { head: 5, policy: 3, goes: false }, "roots/4": { head: 6, policy: 6, goes: true },
    "roots/5": { head: 6, policy: 3, goes: false }, "roots/6": { head: 6, policy: 6, goes: false },
  };
});

const becomes = async (desk: Desk, plan: Plan) => (await keepings.foresee(desk, plan)).series[0]!.snapshots[0]!.becomes;

test("a plan is weighed against the newest state, also if the page has read an older one", async () => {
  const { desk } = page();
  await keepings.kept(desk);
  expect(await becomes(desk, RULES)).toBe("stays");
  server.root = "roots/2";
  expect([await becomes(desk, RULES), await becomes(desk, RELEASE)]).toEqual(["goes", "goes"]);
});

test.each([["rules", RULES], ["a release", RELEASE]])("of %s nothing is signed once a change lets go what was said to stay, such as one that has removed a pin", async (_, plan) => {
  const early = page();
  const { decision } = await keepings.foresee(early.desk, plan);
  server.root = "roots/2";
  await expect(keepings.decide(early.desk, decision, null)).rejects.toMatchObject({ problem: { code: "policy-changed" } });
  server.root = "roots/1";
  const late = page(() => (server.root = "roots/2"));
  await expect(keepings.decide(late.desk, decision, null)).rejects.toMatchObject({ problem: { code: "policy-changed" } });
  expect([early.signed, late.signed]).toEqual([[], []]);
});

test.each([["rules", RULES], ["a release", RELEASE]])("of %s a change that lets nothing more go is no hindrance, such as one by which a backup proves packs", async (_, plan) => {
  const early = page();
  const { decision } = await keepings.foresee(early.desk, plan);
  const late = page(() => (server.root = "roots/5"));
  await keepings.decide(late.desk, decision, null);
  server.root = "roots/5";
  await keepings.decide(early.desk, decision, null);
  expect([early.signed, late.signed]).toEqual([[decision], [decision]]);
});

test("rules undo no others that somebody has set meanwhile, also if the same would go, and a release does not undo any", async () => {
  const { desk, signed } = page();
  const { decision: rules } = await keepings.foresee(desk, RULES);
  const { decision: release } = await keepings.foresee(desk, RELEASE);
  server.root = "roots/6";
  await keepings.kept(desk);
  await expect(keepings.decide(desk, rules, null)).rejects.toMatchObject({ problem: { code: "policy-changed" } });
  await keepings.decide(desk, release, null);
  expect(signed).toEqual([release]);
});

test("a state with new backups and without new changes is no reason not to sign", async () => {
  const { desk, signed } = page(() => (server.root = "roots/3"));
  const { decision } = await keepings.foresee(desk, RULES);
  await keepings.decide(desk, decision, null);
  expect(signed).toEqual([decision]);
});

test("rules that were made from another policy than the one in force are not weighed", async () => {
  const { desk } = page();
  await keepings.kept(desk);
  server.root = "roots/4";
  for (let tries = 0; tries < 2; tries++) await expect(keepings.foresee(desk, RULES)).rejects.toMatchObject({ problem: { code: "policy-changed" } });
  expect(await becomes(desk, RELEASE)).toBe("goes");
  await keepings.kept(desk);
  expect(await becomes(desk, RULES)).toBe("goes");
});
