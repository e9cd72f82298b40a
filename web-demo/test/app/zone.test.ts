import { expect, test } from "vitest";

import { isSameZone, posixOf } from "../../src/app/screens/kept/zone";

const written = (zone: string) => posixOf(zone, 2026);

test("a zone is written as POSIX writes it, summer time and all", () => {
  expect(written("UTC")).toBe("");
  expect(written("Europe/Berlin")).toMatch(/^(CET|<\+01>)-1(CEST|<\+02>),M3\.5\.0,M10\.5\.0\/3$/);
  expect(written("Europe/London")).toBe("GMT0BST,M3.5.0/1,M10.5.0");
  expect(written("America/New_York")).toBe("EST5EDT,M3.2.0,M11.1.0");
  expect(written("Australia/Adelaide")).toMatch(/^(ACST|<\+0930>)-9:30(ACDT|<\+1030>),M10\.1\.0,M4\.1\.0\/3$/);
  expect(written("Australia/Lord_Howe")).toMatch(/^(LHST|<\+1030>)-10:30(LHDT|<\+11>)-11,M10\.1\.0,M4\.1\.0$/);
  expect(written("Asia/Kolkata")).toMatch(/^(IST|<\+0530>)-5:30$/);
  expect(written("America/Sao_Paulo")).toBe("<-03>3");
});

test("clocks may change after the day that a rule names", () => {
  expect(written("Africa/Cairo")).toMatch(/^(EET|<\+02>)-2(EEST|<\+03>),M4\.5\.5\/0,M10\.5\.4\/24$/);
  expect(written("America/Santiago")).toBe("<-04>4<-03>,M9.1.6/24,M4.1.6/24");
});

test("a zone whose clocks change by no such rule is not written", () => {
  expect(written("Africa/Casablanca")).toBeNull();
});

test("zones are the same whatever they call their seasons", () => {
  expect(isSameZone("CET-1CEST,M3.5.0,M10.5.0/3", "<+01>-1<+02>,M3.5.0/2:00,M10.5.0/3")).toBe(true);
  expect(isSameZone("CET-1CEST,M3.5.0,M10.5.0/3", "CET-1")).toBe(false);
  expect(isSameZone("", "UTC0")).toBe(false);
  expect(isSameZone("GMT0BST,M3.5.0/1,M10.5.0", "GMT0BST,M3.5.0,M10.5.0")).toBe(false);
});
