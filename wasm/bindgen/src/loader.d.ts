
/**
 * Starts the engine with its first file, `copal_first.wasm`, which is all that unlocking, enrolling and workers need. Gives its memory.
 */
export function load(module: WebAssembly.Module): Promise<WebAssembly.Memory>;

/**
 * Adds the second file, `copal_rest.wasm`: before that `Backup`, `Comparison`, `Library`, `Restore`, `Tree`, `View` and `receipt` throw.
 */
export function loadRest(module: WebAssembly.Module): Promise<void>;

/** Facts of files as `Backup.compare` takes them: all at once, since every call and every text costs. */
export function inColumns(facts: FileFacts[]): FactsColumns;
