//! The page of a measurement: hands what is chosen to a coordinator of its own, and tells what comes of it.

import { ofInput, sendable } from "../../src/core/folders";
import type { Order, Outcome } from "./coordinator";
import coordinatorUrl from "./coordinator.ts?worker&url";

const worker = new Worker(coordinatorUrl, { type: "module" });

function chosen(id: string): FileList {
  return (document.getElementById(id) as HTMLInputElement).files!;
}

window.measure = async (order) => {
  const { origin, handed } = order.source === "folder" ? await sendable(ofInput(chosen("folder"))) : { origin: null, handed: [] };
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<Outcome | string>) => (typeof data === "string" ? reject(new Error(data)) : resolve(data));
    worker.postMessage({ order, origin, base: chosen("file")[0] }, handed);
  });
};
document.body.dataset["ready"] = "yes";

declare global {
  interface Window {
    measure: (order: Order) => Promise<Outcome>;
  }
}
