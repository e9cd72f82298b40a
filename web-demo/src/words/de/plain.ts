/** Plain words for what the core names with a code, in German. */

import type { plain as english } from "../plain";
import { count, counted } from "../numbers";

const files = (number: number) => counted(number, "Datei", "Dateien");

export const plain: typeof english = {
  missing: {
    "secure-context": "eine sichere Verbindung: Die Adresse muss mit https:// beginnen (oder die dieses Computers selbst sein)",
    webassembly: "WebAssembly, darin läuft der Kern der Sicherung",
    "wasm-simd": "die Vektorbefehle von WebAssembly",
    workers: "Prozesse im Hintergrund (Worker)",
    webcrypto: "die Verschlüsselung des Browsers",
    "private-storage": "privater Speicher; vielleicht liegt es an einem privaten Fenster",
  },
  blind: {
    "odd-names": "ungewöhnliche Namen",
    "names-not-text": "Namen, die kein Text sind",
    "empty-folders": "leere Ordner",
    links: "Verknüpfungen",
    permissions: "Zugriffsrechte",
  },
  and: (most, last) => `${most} und ${last}`,
  files,
  starting: "Startet",
  phases: {
    preparing: "Vergleicht mit dem, was gespeichert ist",
    scanning: "Sieht den Ordner durch",
    uploading: "Sichert",
    finishing: "Speichert den letzten Teil",
    verifying: "Wartet auf die Prüfung",
  },
  stages: {
    read: "Lesen",
    hash: "Zerlegen, Benennen",
    compress: "Komprimieren",
    seal: "Verschlüsseln",
    upload: "Hochladen",
  },
  leftOut: {
    excluded: "wie gewünscht ausgelassen",
    unreadable: "war nicht lesbar",
    changing: "änderte sich beim Lesen immer wieder",
    "bad-name": "hat einen Namen, der sich nicht wiederherstellen lässt",
  },
  reasons: {
    NotFoundError: "ist nicht mehr da",
    NotReadableError: "wurde nach dem Auswählen geändert oder wird von einem Programm festgehalten; wählen Sie den Ordner noch einmal aus, damit auch das gesichert wird",
    NotAllowedError: "der Browser darf es nicht öffnen",
    TypeMismatchError: "ist weder Datei noch Ordner",
    NameIsNotText: "eine Datei oder ein Ordner hierin hat einen Namen, der kein Text (UTF-8) ist. Dieser Browser gibt so etwas nicht heraus; der Befehl copal sichert es",
  },
  unreadable: (number) => `${files(number)} ${number === 1 ? "war" : "waren"} nicht lesbar`,
  unreadableThen: (number) => `${files(number)} ${number === 1 ? "war" : "waren"} bei dieser Sicherung nicht lesbar`,
  changing: (number) => `${files(number)} ${number === 1 ? "änderte sich immer wieder und ist" : "änderten sich immer wieder und sind"} im zuletzt gelesenen Zustand gesichert`,
  badNames: (names) => `${counted(names, "Name lässt", "Namen lassen")} sich nirgends wiederherstellen`,
  excluded: (several) => `${count(several)} ${several === 1 ? "ist" : "sind"} durch Ihre Muster ausgelassen`,
  skipped: {
    exists: "dort gibt es schon etwas mit diesem Namen",
    link: "Verknüpfungen kann ein Browser nicht schreiben",
    special: "ist weder Datei noch Ordner",
    "bad-name": "hat einen Namen, den nicht jeder Computer gefahrlos schreiben kann",
  },
  changes: {
    added: "Hinzugefügt",
    removed: "Entfernt",
    changed: "Geändert",
    metadata: "Nur Details",
  },
};
