/** The display over a scripted core: `?scene=NAME` says which. */

import { mount } from "../../../src/app/mount";
import { CORES } from "./cores";

const name = new URLSearchParams(location.search).get("scene") ?? "";
const core = CORES[name];
const root = document.getElementById("app");
if (!core || !root) throw new Error(`no scene ${name}`);
// What was locked stays locked when the page is loaded anew.
const isLocked = sessionStorage.getItem("copal-locked") !== null;
if (isLocked) document.documentElement.dataset["loaded"] = "anew";
mount(root, (isLocked ? CORES["unlock"]! : core)());
