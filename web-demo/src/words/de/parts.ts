/** Parts, in German. */

import { count } from "../numbers";
import type { parts as english } from "../parts";

export const parts: typeof english = {
  cancel: "Abbrechen",
  close: "Schließen",
  tryAgain: "Erneut versuchen",
  loading: "Wird geladen …",
  gettingReady: "Wird vorbereitet …",
  stopping: "Wird abgebrochen …",
  signing: "Wird unterschrieben …",
  noAnswer: "Der Server hat nicht geantwortet",
  goesOn: (trouble) => `${trouble}: Es geht von selbst weiter`,
  which: "Welche es sind",
  others: (others) => `und ${count(others)} weitere`,
  notLoaded: "Dieser Teil der Seite konnte nicht geladen werden.",
  notLoadedWhy: "Der Server ist nicht da, oder er hat inzwischen eine neuere Seite. Wenn Sie die Seite neu laden, wird sie gesperrt.",
  loadAnew: "Seite neu laden",
  showTyped: "Eingabe zeigen",
  nameOfThisDevice: "Name dieses Geräts",
  nameSigns: "Dieser Browser unterschreibt und braucht dafür einen Namen. Der Name bleibt.",
};
