import { describe, expect, test } from "vitest";
import { reasonWords } from "../../src/app/plain";
import { ago, count, countdown, counted, percent, rate, remaining, shown, size, span, when, whenAmong } from "../../src/app/words";

describe("sizes", () => {
  test("have three digits and the units of the command line", () => {
    const sizes = [0, 1023, 1024, 10 * 1024, 1024 ** 2, 1.21 * 1024 ** 3, 16 * 1024 ** 6].map(size);
    expect(sizes).toEqual(["0 B", "1023 B", "1.00 KiB", "10.0 KiB", "1.00 MiB", "1.21 GiB", "16.0 EiB"]);
  });
  test("take the next unit before a fourth digit", () => {
    expect([999.4 * 1024, 999.5 * 1024, 9.995 * 1024, 99.95 * 1024].map(size)).toEqual(["999 KiB", "0.98 MiB", "10.0 KiB", "100 KiB"]);
  });
  test("of each second are rates", () => expect(rate(1024)).toBe("1.00 KiB/s"));
});

describe("counts", () => {
  test("have their thousands apart", () => expect(count(1234567)).toBe("1,234,567"));
  test("know one from many", () => expect([counted(1, "file"), counted(0, "file"), counted(2, "entry", "entries")]).toEqual(["1 file", "0 files", "2 entries"]));
});

describe("percents", () => {
  test("say 100 only of all, and 0 only of nothing", () => {
    expect([percent(0, 10), percent(1, 1000), percent(999_999, 1_000_000), percent(10, 10), percent(1, 0)]).toEqual(["0 %", "< 1 %", "99 %", "100 %", "0 %"]);
  });
});

describe("spans", () => {
  test("are exact where they are short", () => {
    expect([800, 9_940, 9_960, 42_000, 59_600, 200_000, 7_500_000, 180_000_000].map(span)).toEqual(["0.8 s", "9.9 s", "10 s", "42 s", "1 min", "3 min 20 s", "2 h 5 min", "2 days 2 h"]);
  });
  test("that remain are coarse, and say so where nobody knows", () => {
    expect([null, NaN, -1, 2_000, 12_000, 68_000, 600_000, 9_000_000, 86_400_000].map(remaining)).toEqual([
      "estimating…", "estimating…", "estimating…", "a few seconds left", "about 15 s left", "about a minute left", "about 10 min left", "about 2 h 30 min left", "about 24 h left",
    ]);
  });
  test("that run out are clocks", () => expect([countdown(59_001), countdown(61_000), countdown(-5)]).toEqual(["1:00", "1:01", "0:00"]));
});

describe("times", () => {
  const now = new Date(2026, 10, 20, 21, 0).getTime();
  test("name today, yesterday, and the year only where it is another", () => {
    const times = [new Date(2026, 10, 20, 0, 1), new Date(2026, 10, 19, 23, 59), new Date(2026, 2, 1, 8, 5), new Date(2024, 1, 29, 8, 5)];
    expect(times.map((time) => when(time.getTime(), now))).toEqual(["Today, 00:01", "Yesterday, 23:59", "1 Mar, 08:05", "29 Feb 2024, 08:05"]);
  });
  test("of snapshots that would read the same have seconds, and only those", () => {
    const at = (hours: number, minutes: number, seconds: number) => new Date(2026, 10, 20, hours, minutes, seconds).getTime();
    const list = [
      { time: at(9, 24, 51), source: "Pictures", device: "desk" },
      { time: at(9, 24, 7), source: "Pictures", device: "desk" },
      { time: at(9, 24, 7), source: "Pictures", device: "phone" },
      { time: at(9, 23, 59), source: "Pictures", device: "desk" },
    ];
    const made = whenAmong(list);
    expect(list.map((one) => made(one, now))).toEqual(["Today, 09:24:51", "Today, 09:24:07", "Today, 09:24", "Today, 09:23"]);
  });
  test("that are long ago are told roughly", () => {
    const minute = 60_000;
    expect([0, minute, 90 * minute, 3 * 1440 * minute, 100 * 1440 * minute, 900 * 1440 * minute].map((past) => ago(now - past, now)))
      .toEqual(["just now", "1 minute ago", "1 hour ago", "3 days ago", "3 months ago", "2 years ago"]);
  });
  test("of a clock that is ahead are just now", () => expect(ago(now + 5000, now)).toBe("just now"));
});

describe("names", () => {
  test("cannot turn the direction of writing or break a line", () => expect(shown("a\u202egnp.exe\n\u0000")).toBe("a\\u{202e}gnp.exe\\u{a}\\u{0}"));
  test("hide nothing that tells two of them apart", () => expect(shown("a\u200db\u200b\u061c\u00ad")).toBe("a\\u{200d}b\\u{200b}\\u{61c}\\u{ad}"));
  test("keep what is seen", () => expect(shown("نام ❤\ufe0f ä 東")).toBe("نام ❤\ufe0f ä 東"));
});

describe("reasons", () => {
  test("of the browser are in words, and say what to do", () => {
    expect(reasonWords("NotReadableError")).toContain("choose the folder again");
    expect(reasonWords("NotFoundError")).toBe("it is not there any more");
  });
  test("that have no words of their own are told as they are", () => expect(reasonWords("constructor")).toBe("constructor"));
});
