import { describe, expect, test } from "vitest";

import { Budget, Channel } from "../../src/core/coordinator/channel";
import { Control, Rate, eta } from "../../src/core/coordinator/control";
import { lineIn, takeLink } from "../../src/core/enrollment";
import { Idle } from "../../src/core/idle";
import { type CoordinatorLike, Line } from "../../src/core/line";
import type { CoreEvent } from "../../src/core/api";
import type { FromCoordinator, ToCoordinator } from "../../src/core/rpc";
import { problem } from "../../src/core/problem";

describe("enrollment links", () => {
  const place = (hash: string) => ({ hash, pathname: "/", search: "?x" });

  test("the line is taken out of the address at once", () => {
    const written: unknown[][] = [];
    const history = { replaceState: (...args: unknown[]) => void written.push(args) };
    expect(takeLink(place("#join=COPAL1-ABC%20D"), history)).toBe("COPAL1-ABC D");
    expect(written).toEqual([[null, "", "/?x"]]);
    expect(takeLink(place("#backup"), history)).toBeNull();
    expect(written.length).toBe(1);
  });
});

describe("what is pasted", () => {
  test("may be the line or the whole link", () => {
    expect(lineIn("COPAL-JOIN-1-ABC")).toBe("COPAL-JOIN-1-ABC");
    expect(lineIn("https://backup.example/#join=COPAL-JOIN-1-ABC")).toBe("COPAL-JOIN-1-ABC");
    expect(lineIn("  http://127.0.0.1:8321/#join=COPAL-JOIN%2D1-ABC\n")).toBe("COPAL-JOIN-1-ABC\n");
    expect(lineIn("#join=100%")).toBe("100%");
  });
});

describe("idle", () => {
  function idle(isBusy = () => false) {
    let now = 0;
    let tick = () => {};
    const told: (number | null | "locked")[] = [];
    const clock = { now: () => now, every: (_: number, given: () => void) => ((tick = given), () => (tick = () => {})) };
    const watch = new Idle(clock, { limits: () => ({ idle: 10_000, warning: 3_000 }), isBusy, soon: (left) => told.push(left), lock: () => told.push("locked") });
    watch.start();
    const pass = (seconds: number) => {
      for (let at = 0; at < seconds; at++) {
        now += 1_000;
        tick();
      }
    };
    return { watch, told, pass, jump: (ms: number) => (now += ms) };
  }

  test("it warns every second and then locks, once", () => {
    const { told, pass } = idle();
    pass(30);
    expect(told).toEqual([3, 2, 1, "locked"]);
  });

  test("a sign of the person takes the warning back", () => {
    const { watch, told, pass } = idle();
    pass(8);
    watch.touch();
    pass(6);
    expect(told).toEqual([3, 2, null]);
  });

  test("nothing is locked while something is under way", () => {
    const { told, pass } = idle(() => true);
    pass(100);
    expect(told).toEqual([]);
  });

  test("a machine that slept is locked when it wakes", () => {
    const { told, pass, jump } = idle();
    jump(3_600_000);
    pass(1);
    expect(told).toEqual(["locked"]);
  });

  test("a machine that slept is locked by the sign of whoever wakes it", () => {
    const { watch, told, pass, jump } = idle();
    jump(3_600_000);
    watch.touch();
    pass(1);
    expect(told).toEqual(["locked"]);
  });

  test("a tab that was frozen is locked as soon as it is seen again", () => {
    const { watch, told, jump } = idle();
    jump(3_600_000);
    watch.look();
    expect(told).toEqual(["locked"]);
    watch.look();
    expect(told).toEqual(["locked"]);
  });

  test("what is under way while a machine sleeps keeps it open", () => {
    const { watch, told, pass, jump } = idle(() => true);
    jump(3_600_000);
    watch.touch();
    pass(1);
    expect(told).toEqual([]);
  });
});

describe("channel", () => {
  test("whoever puts waits for room, and items come in order", async () => {
    const channel = new Channel<number>(2);
    let put = 0;
    void (async () => {
      for (let at = 0; at < 10; at++) {
        await channel.put(at);
        put += 1;
      }
      channel.close();
    })();
    await new Promise((resolve) => setTimeout(resolve, 1));
    expect(put).toBe(2);
    const taken: number[] = [];
    for await (const item of channel) taken.push(item);
    expect(taken).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test("an item that counts for several takes the room of several", async () => {
    const channel = new Channel<number>(5, (item) => item);
    let put = 0;
    const putting = (async () => {
      for (const item of [4, 3, 1, 9, 1]) {
        await channel.put(item);
        put += 1;
      }
    })();
    const items = channel[Symbol.asyncIterator]();
    const settled = () => new Promise((resolve) => setTimeout(resolve, 1));
    await settled();
    expect(put).toBe(2);
    await items.next();
    await settled();
    // 3, 1 and 9: there was room for the last of them when it came.
    expect(put).toBe(4);
    for (const item of [3, 1, 9]) expect((await items.next()).value).toBe(item);
    await putting;
    expect((await items.next()).value).toBe(1);
  });

  test("an error comes behind the items before it, and puts are refused", async () => {
    const channel = new Channel<number>(9);
    await channel.put(1);
    channel.close(new Error("broken"));
    expect(await channel.put(2)).toBe(false);
    const taken: number[] = [];
    await expect((async () => { for await (const item of channel) taken.push(item); })()).rejects.toThrow("broken");
    expect(taken).toEqual([1]);
  });

  test("a budget is not exceeded, but by one who wants more than all of it", async () => {
    const budget = new Budget(10);
    await budget.take(50);
    expect(budget.has(1)).toBe(false);
    let isIn = false;
    const waiting = budget.take(1).then(() => (isIn = true));
    await Promise.resolve();
    expect(isIn).toBe(false);
    budget.give(50);
    await waiting;
    expect(isIn).toBe(true);
  });
});

describe("control", () => {
  test("a pause holds until it is resumed, and a cancel ends it", async () => {
    const control = new Control();
    control.pause();
    const order: string[] = [];
    const held = control.gate().then(() => order.push("gate"));
    await Promise.resolve();
    order.push("resume");
    control.resume();
    await held;
    expect(order).toEqual(["resume", "gate"]);
    control.pause();
    control.cancel(0);
    await expect(control.gate()).rejects.toMatchObject({ problem: { code: "cancelled" } });
  });

  test("the rate follows what is done, and says how long it takes", () => {
    const rate = new Rate();
    let last = 0;
    for (let at = 0; at <= 40; at++) last = rate.at(at * 500, at * 500_000);
    expect(last).toBeCloseTo(1_000_000, -3);
    expect(eta(last, 5_000_000, 10_000_000)).toBeCloseTo(5, 1);
    expect(eta(0, 1, 2)).toBeNull();
  });
});

describe("line", () => {
  class Fake implements CoordinatorLike {
    sent: ToCoordinator[] = [];
    isGone = false;
    onmessage: ((event: MessageEvent<FromCoordinator>) => void) | null = null;
    onerror = null;
    postMessage(message: ToCoordinator) {
      this.sent.push(message);
    }
    terminate() {
      this.isGone = true;
    }
    say(data: FromCoordinator) {
      this.onmessage!({ data } as MessageEvent<FromCoordinator>);
    }
  }

  function line() {
    const workers: Fake[] = [];
    const events: CoreEvent[] = [];
    const made = new Line(() => (workers.push(new Fake()), workers.at(-1)!), (event) => events.push(event));
    return { line: made, workers, events };
  }

  test("answers and refusals reach whoever asked", async () => {
    const { line: made, workers } = line();
    const [first, second] = [made.ask("a", 1), made.ask("b")];
    workers[0]!.say({ type: "refusal", id: 2, problem: problem("busy") });
    workers[0]!.say({ type: "answer", id: 1, value: 7 });
    expect(await first).toBe(7);
    await expect(second).rejects.toMatchObject({ problem: { code: "busy" } });
  });

  test("a run tells its newest progress at once, and ends once", async () => {
    const { line: made, workers } = line();
    const begun = made.begin<number, string>("c", []);
    workers[0]!.say({ type: "begun", id: 1, run: 5 });
    const run = await begun;
    workers[0]!.say({ type: "progress", run: 5, progress: 1 });
    const seen: number[] = [];
    run.onProgress((progress) => seen.push(progress));
    workers[0]!.say({ type: "progress", run: 5, progress: 2 });
    run.pause();
    expect(workers[0]!.sent.at(-1)).toEqual({ type: "control", run: 5, control: "pause" });
    expect(made.isBusy).toBe(true);
    workers[0]!.say({ type: "ended", run: 5, result: "done" });
    expect([await run.done, seen, made.isBusy]).toEqual(["done", [1, 2], false]);
  });

  test("locking ends the worker, and whoever waits is told", async () => {
    const { line: made, workers } = line();
    const asked = made.ask("a");
    made.restart();
    await expect(asked).rejects.toMatchObject({ problem: { code: "locked" } });
    expect([workers.length, workers[0]!.isGone]).toEqual([2, true]);
  });
});
