//! Upload: a request that tells how much of its body is sent, which `fetch` does not.

/** Sends a request. `sent` is told how many bytes of the body have gone so far. */
export type Upload = (url: string, init: RequestInit, sent: (bytes: number) => void) => Promise<Response>;

/** Sends by XMLHttpRequest. Fails as `fetch` does: with a TypeError where no answer comes, with the signal's reason where that is
 * given. It cannot be told to refuse redirections, so what was answered elsewhere counts as no answer. */
export const upload: Upload = (url, { method = "PUT", headers, body, signal }, sent) =>
  new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    const lost = () => reject(new TypeError("no answer"));
    signal?.addEventListener("abort", abort);
    request.onloadend = () => signal?.removeEventListener("abort", abort);
    request.upload.onprogress = ({ loaded }) => sent(loaded);
    request.onerror = request.ontimeout = lost;
    request.onabort = () => reject(signal?.reason ?? new TypeError("no answer"));
    request.onload = () => (request.responseURL === url ? resolve(answered(request)) : lost());
    request.open(method, url);
    request.responseType = "arraybuffer";
    for (const [name, value] of Object.entries(headers ?? {})) request.setRequestHeader(name, value as string);
    request.send(body as XMLHttpRequestBodyInit);
  });

function answered(request: XMLHttpRequest): Response {
  const lines = request.getAllResponseHeaders().trim().split(/\r?\n/);
  const headers = lines.filter((line) => line.includes(":")).map((line): [string, string] => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1).trim()]);
  const body = BODILESS.has(request.status) ? null : (request.response as ArrayBuffer);
  return new Response(body, { status: request.status, headers });
}

/** Statuses whose answers have no body. */
const BODILESS = new Set([204, 205, 304]);
