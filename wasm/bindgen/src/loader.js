
// What wasm-bindgen's JavaScript calls: the exports of both files, as they come.
const engine = {};
let first = null;
let rest = null;

export function load(module) {
  first ??= begin(module).catch((error) => {
    first = null;
    throw error;
  });
  return first;
}

export function loadRest(module) {
  rest ??= join(module).catch((error) => {
    rest = null;
    throw error;
  });
  return rest;
}

export function inColumns(facts) {
  const sizes = new Float64Array(facts.length);
  const times = new Float64Array(facts.length);
  const kinds = new Uint8Array(facts.length);
  const paths = facts.map(({ path, size, modified, kind }, at) => {
    sizes[at] = size;
    times[at] = modified;
    if (kind === "directory") kinds[at] = 1;
    return path;
  });
  return { paths: UTF8.encode(paths.join("\0")), sizes, times, kinds };
}

const UTF8 = new TextEncoder();

async function begin(module) {
  const { exports } = await WebAssembly.instantiate(module, { "./copal_bg.js": FIRST });
  Object.assign(engine, exports);
  __wbg_set_wasm(engine);
  engine.__wbindgen_start();
  return engine.memory;
}

async function join(module) {
  if (!first) throw new Error("the engine's first file comes first");
  await first;
  const { exports } = await WebAssembly.instantiate(module, { "./copal_bg.js": REST, first: engine });
  Object.assign(engine, exports);
}
