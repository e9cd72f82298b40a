/** Versions, in German. */

import type { versions as english } from "../versions";
import { count, counted } from "../numbers";

const STANDING: Record<Parameters<(typeof english)["where"]>[0], string> = { in: "", damaged: "Beschädigt ", out: "Nicht " };

const versionsOf = (number: number) => counted(number, "Fassung", "Fassungen");
const lines = (number: number) => counted(number, "Zeile", "Zeilen");
const hits = (number: number) => counted(number, "Treffer", "Treffer");
/** The dative. */
const stands = (number: number) => counted(number, "Stand", "Ständen");
/** "vom 12. März", "von heute". */
const from = (when: string) => `${/^\d/.test(when) ? "vom" : "von"} ${when}`;
const upper = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

export const versions: typeof english = {
  title: "Fassungen",
  of: (name) => ["Fassungen von ", name],
  which: "Welche Stände",
  theseBackups: "Diese Reihe",
  allBackups: "Alle Reihen und Geräte",
  tickTwo: "Wählen Sie zwei Fassungen aus, um sie zu vergleichen",
  compareThem: "Vergleichen",
  tickOneMore: "Vergleichen (noch eine)",
  looking: (looked, snapshots) => `${counted(snapshots, "Stand wird", "Stände werden")} durchsucht: ${count(looked)} fertig …`,
  found: (versions, snapshots) => `${versionsOf(versions)} in ${stands(snapshots)}`,
  none: "Kein Stand hat diese Datei",
  olderList: "einer älteren Liste",
  aSnapshot: "unbekannter Zeit",
  where: (standing, snapshots, oldest, newest) => upper(STANDING[standing] + (snapshots === 1 ? `im Stand ${from(newest)}` : `in ${stands(snapshots)}, ${from(oldest)} bis ${newest}`)),
  incomplete: "Damals ließen sich einige Dateien nicht lesen",

  change: {
    unread: "Nicht lesbar",
    absent: "Nicht da",
    first: "Erste Fassung",
    oldestRead: "Älteste Fassung, die sich lesen lässt",
    cameBack: (change) => `Wieder da: ${change}`,
    became: { file: "Wurde eine Datei", directory: "Wurde ein Ordner", symlink: "Wurde eine Verknüpfung", other: "Wurde eine Spezialdatei" },
    same: "Wie zuvor",
    onlyTime: "Nur die Zeit ist anders",
    sameAs: (when) => `Derselbe Inhalt wie ${/^\d/.test(when) ? "am " : ""}${when}`,
    sameAsOlder: "Derselbe Inhalt wie eine ältere Fassung",
    content: "Inhalt geändert",
    grew: (size) => `Um ${size} gewachsen`,
    shrank: (size) => `Um ${size} geschrumpft`,
  },

  beside: {
    before: "Vorher",
    after: "Diese Fassung",
    changed: (when) => `geändert am ${when}`,
    same: "Derselbe Inhalt",
    sameWhy: "Nur die Zeit der Datei ist eine andere.",
    lines: (removed, added) => `${lines(removed)} entfernt, ${lines(added)} hinzugefügt`,
    linesInFirst: (removed, added, size) => `${lines(removed)} entfernt, ${lines(added)} hinzugefügt, in den ersten ${size}`,
    onlyChanges: "Nur die Änderungen zeigen",
    allLines: "Alle Zeilen zeigen",
    differs: "Was sich unterscheidet",
    more: (number) => `${lines(number)} mehr: Laden Sie beide Fassungen herunter, um sie zu vergleichen.`,
    skipped: (number) => `${lines(number)} gleich`,
    removed: "Entfernt: ",
    added: "Hinzugefügt: ",
  },

  compare: {
    title: "Vergleichen",
    heading: "Was sich geändert hat",
    which: "Welche Änderungen",
    all: "Alle",
    soFar: (differences) => `Bisher ${counted(differences, "Unterschied", "Unterschiede")} …`,
    nothing: "Es gibt keinen Unterschied",
    nothingWhy: "Die beiden Stände enthalten dieselben Dateien.",
    differences: "Unterschiede",
    detailsOnly: (folders, isMode) => `${counted(folders, "Ordner unterscheidet", "Ordner unterscheiden")} sich nur in Details (${isMode ? "Zeiten, Rechte" : "Zeiten"}).`,
    hide: "Ausblenden",
    show: "Anzeigen",
  },

  seek: {
    title: "Suchen",
    heading: "In allen Ständen suchen",
    all: "Alle Stände",
    example: "Ein Teil des Namens oder ein Muster wie *.jpg",
    name: "Name",
    kind: "Art",
    anyKind: "Alle",
    kinds: { folder: "Ordner", picture: "Bilder", document: "Dokumente", video: "Videos", audio: "Musik und Ton", archive: "Archive", other: "Andere Dateien" },
    size: "Größe",
    anySize: "Alle",
    andMore: (size) => `${size} und mehr`,
    where: "Wo",
    anywhere: "Überall",
    from: "Geändert ab",
    until: "Geändert bis",
    searching: (looked, snapshots, found) => `Suche läuft … ${count(looked)} von ${stands(snapshots)}, ${hits(found)}`,
    found: (found, snapshots) => `${hits(found)} in ${stands(snapshots)}`,
    foundMore: (found, snapshots) => `${hits(found)} in ${stands(snapshots)} und noch mehr: Suchen Sie genauer`,
    ask: "Was suchen Sie?",
    askWhy: "Gesucht wird unter allen Dateien aller Stände, auch unter längst gelöschten.",
    none: "Kein Stand hat so eine Datei",
    noneWhy: "Versuchen Sie es mit einem Teil des Namens oder mit weniger Bedingungen.",
    hits: "Treffer",
  },
};
