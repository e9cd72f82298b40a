//! Features: what this browser lacks for the page to work, and what it may be called.

import type { MissingFeature } from "./api";

export function missingFeatures(): MissingFeature[] {
  const missing: MissingFeature[] = [];
  if (!isSecureContext) missing.push("secure-context");
  if (typeof WebAssembly !== "object") missing.push("webassembly");
  else if (!WebAssembly.validate(SIMD)) missing.push("wasm-simd");
  if (typeof Worker !== "function") missing.push("workers");
  if (!globalThis.crypto?.subtle) missing.push("webcrypto");
  if (typeof navigator.storage?.getDirectory !== "function") missing.push("private-storage");
  return missing;
}

/** What this device calls itself, such as "Firefox on Windows". */
export function deviceName(): string {
  const agent = navigator.userAgent;
  const browser = /Edg\//.test(agent) ? "Edge" : /Firefox\//.test(agent) ? "Firefox" : /Chrom/.test(agent) ? "Chrome" : /Safari\//.test(agent) ? "Safari" : "Browser";
  const system = /Android/.test(agent) ? "Android" : /iPhone|iPad/.test(agent) ? "iOS" : /Windows/.test(agent) ? "Windows" : /Mac/.test(agent) ? "macOS" : /Linux|CrOS/.test(agent) ? "Linux" : "a device";
  return `${browser} on ${system}`;
}

/** A module with one vector instruction. */
const SIMD = new Uint8Array([
  0, 97, 115, 109, 1, 0, 0, 0, 1, 5, 1, 96, 0, 1, 123, 3, 2, 1, 0, 10, 10, 1, 8, 0, 65, 0, 253, 15, 253, 98, 11,
]);
