/** Parts, in German. */

import type { parts as english } from "../parts";

export const parts: typeof english = {
  cancel: "Abbrechen",
  close: "Schließen",
  tryAgain: "Erneut versuchen",
  loading: "Laden …",
  notLoaded: "Dieser Teil der Seite konnte nicht geladen werden.",
  notLoadedWhy: "Der Server ist nicht da, oder er hat inzwischen eine neuere Seite. Wenn Sie die Seite neu laden, wird sie gesperrt.",
  loadAnew: "Seite neu laden",
  showTyped: "Eingabe zeigen",
  nameOfThisDevice: "Name dieses Geräts",
  nameSigns: "Dieser Browser unterschreibt und braucht dafür einen Namen. Der Name bleibt.",
};
