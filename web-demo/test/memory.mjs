// What a process takes, as Linux tells it.
import { readFileSync, writeFileSync } from "node:fs";

/** Looks at a process' memory every 20 ms; what is called in the end gives the most of its own, which is what Chromium's
 * task manager tells of a tab, and of all that is mapped, files and the browser's program included. In bytes. */
export function watch(id) {
  const most = { own: 0, all: 0 };
  const look = () => {
    try {
      const status = readFileSync(`/proc/${id}/status`, "utf8");
      const [own, shared, all] = ["RssAnon", "RssShmem", "VmHWM"].map((name) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)[1]) * 1024);
      most.own = Math.max(most.own, own + shared);
      most.all = all;
    } catch {
      // It has ended.
    }
  };
  try {
    writeFileSync(`/proc/${id}/clear_refs`, "5");
  } catch {
    // It has ended.
  }
  look();
  const timer = setInterval(look, 20);
  return () => {
    clearInterval(timer);
    look();
    return most;
  };
}
