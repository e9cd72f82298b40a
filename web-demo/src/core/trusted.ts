//! Trusted: the only addresses that this page starts scripts from are its own.

const policy = globalThis.trustedTypes?.createPolicy("copal", {
  createScriptURL: (url) => {
    if (new URL(url, location.href).origin !== location.origin) throw new TypeError("a script of another origin");
    return url;
  },
});

/** The address of a script of this page, as a browser with Trusted Types wants it. */
export function ownScript(url: string): string | URL {
  return (policy?.createScriptURL(url) as unknown as string | undefined) ?? url;
}

declare global {
  var trustedTypes: { createPolicy(name: string, rules: { createScriptURL(url: string): string }): { createScriptURL(url: string): object } } | undefined;
}
