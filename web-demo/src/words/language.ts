/** Language: in which one the page speaks. The catalogue of each part stands in this folder in English, and in `de/` in German. */

import { signal } from "@preact/signals";

export type Language = "en" | "de";

/** What each language calls itself. */
export const LANGUAGES: Record<Language, string> = { en: "English", de: "Deutsch" };

/** The parts of the catalogue. A language that lacks one does not compile. */
export type Part =
  | "alarms" | "backup" | "browse" | "devices" | "kept" | "keys" | "marks" | "parts" | "plain" | "preview"
  | "problems" | "restore" | "settings" | "shares" | "shell" | "status" | "time" | "unlock" | "versions";

/** A language's words, by part. */
export type Catalogue = Record<Part, object>;

/** The catalogue that is spoken instead of the English one, which every part brings along. */
const spoken = signal<{ language: Language; catalogue: Catalogue | null }>({ language: "en", catalogue: null });
let wanted: Language = "en";

/** The language in which the page speaks now. What reads it while it is drawn is drawn anew in another language. */
export function language(): Language {
  return spoken.value.language;
}

/** The words of a part, each read in the language that is spoken when it is read: never at the top of a module. */
export function words<Words extends object>(part: Part, english: Words): Words {
  const read = (key: PropertyKey) => ((spoken.value.catalogue?.[part] ?? english) as Record<PropertyKey, unknown>)[key];
  const keys = Object.keys(english).map((key) => [key, { enumerable: true, get: () => read(key) }] as const);
  return Object.defineProperties({}, Object.fromEntries(keys)) as Words;
}

/** Speaks a language once its catalogue is here; if it cannot be loaded, all stays as it is. */
export async function speak(chosen: Language): Promise<void> {
  wanted = chosen;
  const catalogue = chosen === "de" ? (await import("./de")).catalogue : null;
  // Another one may have been chosen meanwhile.
  if (wanted !== chosen) return;
  spoken.value = { language: chosen, catalogue };
}

/** The first language of a person's that the page speaks; English if it speaks none of them. */
export function preferred(languages: readonly string[]): Language {
  const spoken = languages.map((tag) => tag.toLowerCase().split("-")[0] ?? "").find((tag): tag is Language => tag in LANGUAGES);
  return spoken ?? "en";
}
