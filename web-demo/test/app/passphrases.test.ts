import { describe, expect, test } from "vitest";

import { isNoted, lastGroup, weakness } from "../../src/app/passphrases";

describe("a passphrase", () => {
  test("that is short or repeats itself is named as easy to guess, by what a person sees as characters", () => {
    for (const weak of ["hunter2", "abcabcabcabcabc", "AaAaAaAaAaAaAa", "\u00fcber alles".normalize("NFD")]) expect(weakness(weak), weak).not.toBeNull();
    for (const fine of ["", "a harbour in winter", "\u{1f511}k9!Vq\u00e9p-x2T7"]) expect(weakness(fine), fine).toBeNull();
  });
});

describe("the last group of a recovery code", () => {
  const code = "copal-recovery-1-7QX4K9F-2MZT8WR-1J00D8M";

  test("counts as noted however it is typed, as the engine reads it", () => {
    expect(lastGroup(code)).toBe("1J00D8M");
    for (const typed of ["1J00D8M", "1j00d8m ", "IJO0-D8M", "l j o o d 8 m"]) expect(isNoted(typed, lastGroup(code)), typed).toBe(true);
  });

  test("is not noted if a character is missing or another", () => {
    for (const typed of ["", "1J00D8", "1J00D8N", "2MZT8WR"]) expect(isNoted(typed, lastGroup(code)), typed).toBe(false);
  });
});
