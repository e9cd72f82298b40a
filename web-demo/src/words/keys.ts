/** Keys: passphrases and recovery codes. */

import type { ComponentChildren } from "preact";
import { words } from "./language";

type Fault = "missing" | "damaged";

export const keys = words("keys", {
  title: "Passphrases and recovery codes",
  about: "Each of these opens the whole repository: every backup of every device. They belong to the repository, not to this browser.",
  addPassphrase: "Add a passphrase",
  makeCode: "Make a recovery code",
  reading: "Reading the keys",
  kinds: { passphrase: "Passphrase", "recovery-code": "Recovery code", "key-file": "Key file" },
  damagedKey: "Damaged key",
  openedThisPage: "Opened this page",
  made: (day: string) => `Made ${day}`,
  noCopy: "No copy of it is whole, so it opens nothing.",
  faulty: (fault: Fault, command: ComponentChildren): ComponentChildren => [`One of its two copies is ${fault}. It opens with the other one, and `, command, " writes it again."],
  bothWhole: "Both copies are whole",
  damaged: "Damaged",
  oneCopy: { missing: "One copy missing", damaged: "One copy damaged" },
  replace: "Replace",
  remove: "Remove",

  /** The owner's key is asked for again before anything else is. */
  confirm: {
    byPassphrase: "Confirm with your passphrase",
    byCode: "Confirm with your recovery code",
    usePassphrase: "Use the passphrase",
    useCode: "Use a recovery code",
    checking: "Checking…",
    proceed: "Continue",
  },
  whyAdd: "This lets somebody open the repository, and everything in it. So it needs one of its keys again.",
  whyRemove: "This changes who can open the repository. So it needs one of its keys again.",

  replacePassphrase: "Replace a passphrase",
  replaceCode: "Replace a recovery code",
  storing: "Storing and trying it…",
  replaced: "Replaced. The new key opens the repository.",
  added: "Added. The new key opens the repository.",
  untaken: "That takes back no knowledge: whoever had it may have copied the keys that it opened. If a stranger may have had it, only a new repository keeps new backups from them.",

  newPassphrase: "New passphrase",
  newPassphraseHint: "Nobody can reset it. Write it down, or make a recovery code.",
  sameAgain: "The same again",
  enterNew: "Enter the new passphrase.",
  differ: "The two passphrases differ.",
  easyToGuess: "Easy to guess",
  short: (characters: number) => `It has fewer than ${characters} characters. Four or five words that do not belong together are easy to remember and hard to guess.`,
  repeats: "It repeats a few characters, which is easy to guess.",
  add: "Add",
  passphraseGoes: (day: string) => `The one of ${day} is removed once the new one has opened the repository.`,

  writeDown: "Write this down or print it, and keep it where a fire that takes your devices does not reach it. It is shown this once.",
  onPaper: (host: string, made: string) => `Copal recovery code of ${host}, made ${made}. It opens every backup: keep it as you would keep a key.`,
  print: "Print",
  lastGroup: "Its last group, as you have noted it",
  lastGroupHint: "The code opens nothing until you have typed this.",
  notLastGroup: "That is not its last group. Compare it with the code.",
  noted: "I have noted it",
  codeGoes: (day: string) => `The code of ${day} is removed once the new one has opened the repository.`,

  removeTitle: { passphrase: "Remove a passphrase?", "recovery-code": "Remove a recovery code?", "key-file": "Remove a key file?", damaged: "Remove a damaged key?" },
  thisVeryKey: "You have confirmed with this very key",
  thisVeryKeyWhy: "Confirm with another one to remove it: that proves that another one works. Or replace it.",
  opensNoMore: "It opens the repository no more, and cannot be brought back. The key that you have confirmed with stays.",
  keep: "Keep it",
  removing: "Removing…",
  removed: "Removed.",
});
