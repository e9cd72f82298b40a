//! The page of a measurement: hands what is chosen to a coordinator of its own, and tells what comes of it.

import { ofInput, sendable } from "../../src/core/folders";
import type { Order, Outcome } from "./coordinator";
import coordinatorUrl from "./coordinator.ts?worker&url";

/** Another site, which is another process. */
const maker = document.createElement("iframe");
maker.src = `http://localhost:${location.port}/maker.html`;
addEventListener("message", ({ source }) => source === maker.contentWindow && (document.body.dataset["ready"] = "yes"));
document.body.append(maker);

const worker = new Worker(coordinatorUrl, { type: "module" });

function chosen(id: string): FileList {
  return (document.getElementById(id) as HTMLInputElement).files!;
}

window.measure = async (order) => {
  const { origin, handed } = order.source === "folder" ? await sendable(ofInput(chosen("folder"))) : { origin: null, handed: [] };
  return new Promise((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<Outcome | string>) => (typeof data === "string" ? reject(new Error(data)) : resolve(data));
    const { port1, port2 } = new MessageChannel();
    maker.contentWindow!.postMessage({ base: chosen("file")[0], port: port1 }, "*", [port1]);
    worker.postMessage({ order, origin, maker: port2 }, [...handed, port2]);
  });
};

declare global {
  interface Window {
    measure: (order: Order) => Promise<Outcome>;
  }
}
