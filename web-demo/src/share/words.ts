//! Words of the page of a link, in the first of a person's languages that it knows. They are its own, so that it loads next to nothing.

import { ShareError, type Why } from "../core/share/read";
import { sized } from "../app/measures";

interface Trouble {
  title: string;
  advice: string;
}

/** The language that the page speaks. */
export const language = navigator.languages.map((tag) => tag.toLowerCase().split("-")[0]).find((tag) => tag === "de" || tag === "en") ?? "en";

const digits = (value: number, after: number) => value.toLocaleString(language, { minimumFractionDigits: after, maximumFractionDigits: after });
const count = (value: number) => digits(value, 0);
const counted = (value: number, one: string, several: string) => `${count(value)} ${value === 1 ? one : several}`;

export function size(bytes: number): string {
  return sized(bytes, digits);
}

const TROUBLES: Record<Why | "full" | "unsaved", Trouble> = {
  gone: { title: "This link opens nothing", advice: "It has ended, was opened as often as it may be, or was revoked. Ask whoever sent it for a new one." },
  altered: { title: "What the server gave is not what was shared", advice: "Bytes are missing or were changed on the way. Nothing of them was handed to you. Tell whoever sent the link." },
  away: { title: "The server does not answer", advice: "Try again in a moment." },
  busy: { title: "The server is busy", advice: "Try again in a minute." },
  full: { title: "There is no room", advice: "Choose a place with more room." },
  unsaved: { title: "It could not be saved", advice: "Try again, or choose another place." },
};

const ENGLISH = {
  title: "Shared files – Copal",
  brand: ": shared files",
  needsHttps: "This page needs https",
  needsHttpsWhy: "Open the link over https, in a current browser.",
  noLink: "There is no link here",
  noLinkWhy: "A link to shared files is longer than this address. Open it again, whole, from the message that it came in.",
  somebody: "Somebody shares files with you",
  encrypted: "They are encrypted. Your browser opens them here with the key in the link, which no server gets to see.",
  show: "Show files",
  counts: "Showing them counts as one opening of the link. Nothing is fetched before.",
  opening: "Opening…",
  again: "Try again",

  files: "Shared files",
  holds: (files: number, bytes: number) => `${counted(files, "file", "files")}, ${size(bytes)}. `,
  until: (ends: string, left: number) => `Shared until ${ends}. ${left === 0 ? "This was the last opening of the link." : `The link may be opened ${left === 1 ? "once more" : `${count(left)} times more`}.`}`,
  leadOut: (names: number) => `${counted(names, "name", "names")} would lead out of the folder that a zip is unpacked in. The zip leaves them out; each can be downloaded by itself.`,
  all: "Download all as zip",
  one: "Download",
  verified: "Every byte is verified: nobody without the link has changed it. That says nothing about what the files do. Open only what you expect from whoever sent them.",
  more: (some: number, rest: number) => `Show ${count(some)} more of ${count(rest)}`,
  tooMuch: (most: number, isAll: boolean) => `This browser saves at most ${size(most)} here${isAll ? ": download the files one by one" : ""}. Chrome and Edge save more.`,
  saving: (name: string) => `Saving ${name}`,
  done: (done: number, all: number) => `${size(done)} of ${size(all)}`,
  stop: "Stop",
  stopped: "Stopped. Nothing was saved.",
  saved: (name: Node, refused: number) => [name, ` is saved. Every byte was verified.${refused === 0 ? "" : ` ${counted(refused, "name", "names")} left out.`}`],
  troubles: TROUBLES,
};

const GERMAN: typeof ENGLISH = {
  title: "Geteilte Dateien – Copal",
  brand: ": geteilte Dateien",
  needsHttps: "Diese Seite braucht https",
  needsHttpsWhy: "Öffnen Sie den Link über https, in einem aktuellen Browser.",
  noLink: "Hier ist kein Link",
  noLinkWhy: "Ein Link zu geteilten Dateien ist länger als diese Adresse. Öffnen Sie ihn noch einmal ganz, aus der Nachricht, in der er kam.",
  somebody: "Jemand teilt Dateien mit Ihnen",
  encrypted: "Sie sind verschlüsselt. Ihr Browser öffnet sie hier mit dem Schlüssel im Link, den kein Server zu sehen bekommt.",
  show: "Dateien zeigen",
  counts: "Damit gilt der Link als einmal geöffnet. Vorher wird nichts geholt.",
  opening: "Wird geöffnet …",
  again: "Erneut versuchen",

  files: "Geteilte Dateien",
  holds: (files, bytes) => `${counted(files, "Datei", "Dateien")}, ${size(bytes)}. `,
  until: (ends, left) => `Geteilt bis ${ends.replace(/^(\d+)-(\d+)-(\d+) /, "$3.$2.$1, ")}. ${left === 0 ? "Der Link lässt sich nicht noch einmal öffnen." : `Der Link lässt sich noch ${left === 1 ? "einmal" : `${count(left)}-mal`} öffnen.`}`,
  leadOut: (names) => `${counted(names, "Name würde", "Namen würden")} aus dem Ordner hinausführen, in den ein Zip entpackt wird. Das Zip lässt sie aus; einzeln lassen sie sich herunterladen.`,
  all: "Alles als Zip herunterladen",
  one: "Herunterladen",
  verified: "Jedes Byte ist geprüft: Niemand ohne den Link hat es verändert. Das sagt nichts darüber, was die Dateien tun. Öffnen Sie nur, was Sie von der Person erwarten, die sie geschickt hat.",
  more: (some, rest) => `${count(some)} weitere von ${count(rest)} zeigen`,
  tooMuch: (most, isAll) => `Dieser Browser speichert hier höchstens ${size(most)}${isAll ? ": Laden Sie die Dateien einzeln herunter" : ""}. Chrome und Edge speichern mehr.`,
  saving: (name) => `${name} wird gespeichert`,
  done: (done, all) => `${size(done)} von ${size(all)}`,
  stop: "Abbrechen",
  stopped: "Abgebrochen. Es wurde nichts gespeichert.",
  saved: (name, refused) => [name, ` ist gespeichert. Jedes Byte wurde geprüft.${refused === 0 ? "" : ` ${counted(refused, "Name", "Namen")} ausgelassen.`}`],
  troubles: {
    gone: { title: "Dieser Link öffnet nichts", advice: "Er ist abgelaufen, wurde so oft geöffnet, wie es erlaubt war, oder wurde widerrufen. Bitten Sie die Person, die ihn geschickt hat, um einen neuen." },
    altered: { title: "Was der Server geliefert hat, ist nicht das, was geteilt wurde", advice: "Bytes fehlen oder wurden unterwegs verändert. Nichts davon wurde Ihnen übergeben. Sagen Sie es der Person, die den Link geschickt hat." },
    away: { title: "Der Server antwortet nicht", advice: "Versuchen Sie es gleich noch einmal." },
    busy: { title: "Der Server ist beschäftigt", advice: "Versuchen Sie es in einer Minute noch einmal." },
    full: { title: "Der Platz reicht nicht", advice: "Wählen Sie einen Ort mit mehr Platz." },
    unsaved: { title: "Das ließ sich nicht speichern", advice: "Versuchen Sie es noch einmal, oder wählen Sie einen anderen Ort." },
  },
};

export const words = language === "de" ? GERMAN : ENGLISH;

/** Says what goes wrong. */
export function trouble(error: unknown): Trouble {
  if (error instanceof ShareError) return words.troubles[error.why];
  return words.troubles[error instanceof DOMException && error.name === "QuotaExceededError" ? "full" : "unsaved"];
}
