//! Buffers: memory that is given back once nobody looks at it any more. A garbage collector lets buffers of tens of megabytes
//! gather before it looks, and every thread has one.

/** Gives a buffer's memory back at once. Nothing may look at it any more. */
export function release(buffer: ArrayBuffer): void {
  // `buffer.transfer(0)` does not do it in Chromium, which goes on holding what it has made itself.
  nowhere.postMessage(null, [buffer]);
}

/** Each buffer of some views once. */
export function buffersOf(views: Uint8Array<ArrayBuffer>[]): ArrayBuffer[] {
  return [...new Set(views.map(({ buffer }) => buffer))];
}

/** What is handed over here arrives at no one. */
const nowhere = (() => {
  const { port1, port2 } = new MessageChannel();
  port2.close();
  return port1;
})();
