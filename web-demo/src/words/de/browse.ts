/** Browse, in German. */

import type { browse as english } from "../browse";
import { count, counted } from "../numbers";

const files = (value: number) => counted(value, "Datei", "Dateien");
const whatOf = (isFolder: boolean) => (isFolder ? "dieser Ordner" : "die Auswahl");

export const browse: typeof english = {
  asItWas: (when, device, isFromBrowser, number, bytes) =>
    [`So war es ${/^\d/.test(when) ? "am " : ""}${when}, auf `, device, `${isFromBrowser ? ", gesichert von einem Browser" : ""}: ${files(number)}, ${bytes}`],
  search: "Namen im Ordner suchen",
  found: (names, isRunning, hasMore) =>
    `${isRunning ? "Suche läuft … " : ""}${counted(names, "Name", "Namen")} gefunden${hasMore ? ", und es gibt mehr: Suchen Sie genauer" : ""}`,
  reading: "Wird gelesen …",
  listed: (entries, read, selected) =>
    `${counted(entries, "Eintrag", "Einträge")}${read === null ? "" : `, ${count(read)} gelesen …`}${selected > 0 ? ` · ${count(selected)} ausgewählt` : ""}`,
  measured: (number, bytes, isDamaged) => `: ${files(number)}, ${bytes}${isDamaged ? ", dazu Unlesbares" : ""}`,
  nothingFound: { title: "Nichts mit diesem Namen", why: "Gesucht wird nur in den Namen unterhalb des geöffneten Ordners." },
  isEmpty: "Dieser Ordner ist leer",
  namesFound: "Gefundene Namen",
  tooMany: "Mehr, als in eine Liste passt: Die Suche findet auch die übrigen.",
  order: "Reihenfolge",
  orders: { name: "Nach Name", modified: "Neueste zuerst", size: "Größte zuerst" },
  showAs: "Anzeigen als",
  list: "Liste",
  gallery: "Galerie",
  selectAll: "Alle auswählen",
  selected: "Ausgewählt",
  columns: { name: "Name", size: "Größe", modified: "Geändert" },
  kinds: { directory: "Ordner", file: "Datei", symlink: "Verknüpfung", other: "Spezialdatei" },
  atTheTop: "ganz oben",
  lacks: {
    list: "Was fehlt oder sich gerade änderte",
  },
  take: {
    items: (items) => `${count(items)} Einträge`,
    share: (isFolder, unseen) => ["Teilen", unseen(` per Link: ${whatOf(isFolder)}`)],
    download: (isFile, isFolder, unseen) => [isFile ? "Herunterladen" : "Zip laden", unseen(`: ${whatOf(isFolder)}`)],
    restore: (isFolder, unseen) => ["Wiederherstellen", unseen(` in einen Ordner dieses Computers: ${whatOf(isFolder)}`)],
  },
  onto: {
    title: "Manches davon ist schon da",
    has: (folder, first, more) =>
      ["In ", folder, " gibt es schon ", first, more > 0 ? ` und ${counted(more, "weiteren Eintrag, den", "weitere Einträge, die")} Sie wiederherstellen.` : "."],
    whatToDo: "Was geschehen soll",
    options: {
      subfolder: { title: "In einen neuen Ordner legen", means: "Er heißt nach dem heutigen Datum. Was schon da ist, bleibt unberührt." },
      both: { title: "Beides behalten", means: "Eine Datei, die sich unterscheidet, kommt als „bericht (restored).pdf“ neben Ihre." },
      leave: { title: "Nur ergänzen, was fehlt", means: "Dateien, die schon da sind, bleiben, wie sie sind." },
      replace: { title: "Ersetzen", means: "Wiederhergestellte Dateien ersetzen Ihre, jede erst, wenn sie vollständig ist. Das lässt sich nicht rückgängig machen." },
    },
  },
  tray: {
    title: "Downloads und Wiederherstellungen",
    done: (title) => `${title}: fertig`,
    running: (jobs, percent) => `${jobs} ${jobs === 1 ? "läuft" : "laufen"}${percent === null ? "" : `, ${percent}`}`,
    troubled: (jobs) => `${jobs} mit Problemen`,
    finished: (jobs) => `${jobs} fertig`,
    stopped: "Abgebrochen.",
    verified: (number, bytes, took) => `${files(number)}, ${bytes}${took ? `, in ${took}` : ""}. Jedes Byte wurde geprüft.`,
    clear: (unseen) => ["Ausblenden", unseen(": alles, was fertig ist")],
    resume: (title) => `${title} fortsetzen`,
    pause: (title) => `${title} pausieren`,
    stop: (title) => `${title} abbrechen`,
    dismiss: (title) => `${title} ausblenden`,
    paused: "Pausiert",
    progress: (done, bytes, read, number) => `${done} von ${bytes}, ${count(read)} von ${files(number)}`,
    nothingWritten: "Es wurde nichts geschrieben.",
    kept: (entries) =>
      `${entries === 1 ? "1 Eintrag mit diesem Namen war schon da und bleibt, wie er war." : `${count(entries)} Dateien oder Ordner mit diesen Namen waren schon da und bleiben, wie sie waren.`} Stellen Sie noch einmal wieder her, um beides zu behalten oder Ihres zu ersetzen.`,
    damaged: (number) => `${counted(number, "Datei ist beschädigt und wurde", "Dateien sind beschädigt und wurden")} nicht herausgegeben`,
    damagedFiles: "Beschädigte Dateien",
    damagedAdvice: (command) =>
      ["In einem früheren Sicherungsstand sind sie vielleicht unversehrt. Sobald ", command, " den Schaden gefunden hat, behebt ihn die nächste Sicherung desselben Ordners, soweit der Ordner die Dateien noch hat."],
    notWritten: (entries) => `${counted(entries, "Eintrag", "Einträge")} nicht geschrieben`,
    notWrittenList: "Nicht geschrieben",
  },
};
