/** Preview, in German. */

import type { preview as english } from "../preview";

export const preview: typeof english = {
  download: "Herunterladen",
  changed: (when) => `geändert am ${when}`,
  fetching: "Wird geholt und geprüft …",
  fileBefore: "Vorige Datei",
  nextFile: "Nächste Datei",
  place: (at, files) => `${at} von ${files}`,
  content: "Inhalt",
  first: (shown, total) => `Die ersten ${shown} von ${total}.`,
  picture: (name) => `Bild ${name}`,
  sound: (name) => `Ton ${name}`,
  film: (name) => `Film ${name}`,
  isEmpty: "Diese Datei ist leer",
  tooLarge: { title: "Dieses Bild ist zu groß für die Vorschau", advice: "Laden Sie es herunter, um es anzusehen." },
  unknown: { title: "Für diese Art von Datei gibt es keine Vorschau", advice: "Laden Sie die Datei herunter, um sie mit dem passenden Programm zu öffnen." },
  broken: "Der Browser kann dieses Bild nicht zeigen",
  isWhole: "Die Datei ist unversehrt. Laden Sie sie herunter, um sie zu öffnen.",
  noPlayer: { title: "Dieser Browser kann nicht aus einer Sicherung abspielen", advice: "Laden Sie die Datei herunter, um sie abzuspielen." },
  noSound: { title: "Der Browser kann diese Art von Datei nicht abspielen", advice: "Laden Sie die Datei herunter, um sie mit einem anderen Programm abzuspielen." },
  paper: {
    locked: { title: "Dieses Dokument hat ein eigenes Passwort", advice: "Laden Sie es herunter, um es zu öffnen." },
    unshown: "Dieses Dokument lässt sich hier nicht zeigen",
    drawing: "Die erste Seite wird gezeichnet …",
    page: (page) => `Seite ${page}`,
    pageOf: (page, whole) => `Seite ${page} von ${whole}`,
    before: "Vorige Seite",
    next: "Nächste Seite",
  },
  noThumb: { damaged: "Beschädigt", broken: "Nicht darstellbar", "too-large": "Zu groß für eine Vorschau" },
};
