
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
