// The scripted session of wasm/examples/session/script.rs, through the JavaScript face, sealed by the host's WebCrypto.
// Whatever runs it makes the same objects: `run(copal, sealing, given, crypto)` (both modules) gives the lines of the report.

const FILES = [
  ["Photos/2024/empty.txt", 0, 8],
  ["Photos/2024/large.raw", 3_000_000, 8],
  ["Photos/2024/small.txt", 100, 4],
  ["Photos/2024/text.txt", 1_200_000, 3],
  ["Photos/2024-05/a/b/c/deep.bin", 70_001, 8],
  ["Photos/Grüße.md", 513, 5],
  ["Photos/again.raw", 3_000_000, 8],
  ["Photos/just.raw", 16_384, 8],
  ["Photos/long.txt", 5_000_000, 2],
  ["Photos/z1", 512, 8],
  ["Photos/z2", 600_000, 6],
  ["Photos/\u{10000}.txt", 40_000, 4],
];
const BEFORE_CHECKPOINT = 5;
const WINDOW = 1 << 20;
const AGAIN = [6, 1];
const NOW = 1_790_000_000_000;

/** What a golden report says the session starts with. */
export function givenOf(golden) {
  const given = {};
  for (const [, name, hex] of golden.matchAll(/^given (\w+) ([0-9a-f]+)$/gm)) {
    given[name] = Uint8Array.from(hex.match(/../g), (pair) => parseInt(pair, 16));
  }
  return given;
}

export async function run(copal, sealing, given, crypto) {
  const lines = Object.entries(given).map(([name, bytes]) => `given ${name} ${hex(bytes)}`);
  const made = async (name, bytes) => lines.push(`${name} ${hex(await sha256(crypto, bytes))}`);

  const descriptor = new copal.Descriptor(1, given.descriptor);
  const owner = copal.Owner.open(given.slot, "correct horse battery staple");
  owner.check(descriptor);
  const { client, record } = owner.register(descriptor, "browser", NOW, fixed(1, 80));
  await made(record.key, record.bytes);
  const kept = client.keep(fixed(2, 16));
  await made("kept client", kept);
  const resumed = owner.resume(kept);
  const headers = resumed.signRequest({
    method: "GET",
    url: "https://backup.example/v1/index",
    sha256: await sha256(crypto, new Uint8Array()),
    created: 1_790_000_000,
    expires: 1_790_000_060,
    nonce: fixed(3, 16),
  });
  await made("request", new TextEncoder().encode(headers.signature));

  const { domain } = resumed.facts;
  const view = new copal.View(null, [domain]);
  const backup = new copal.Backup(resumed, descriptor, view, {
    random: fixed(4, 128),
    keptRandom: fixed(5, 16),
    now: NOW,
    host: "browser",
    paths: ["Photos"],
    label: "Photos",
    tags: ["test"],
    program: "script",
    user: "ann",
    packTarget: 4 << 20,
    compressor: new sealing.Compressor(),
  });
  const { parameters } = descriptor.facts;
  const chunker = new sealing.Chunker(resumed.chunkerKey(), parameters);
  const sealer = chunker.sealer(backup.sealerKey(), 3);
  const held = new Held();
  const secret = backup.takeBlockKey();
  const key = await crypto.subtle.importKey("raw", secret, "AES-GCM", false, ["encrypt", "decrypt"]);
  secret.fill(0);

  const act = async () => {
    for (let actions = backup.actions(); actions.length > 0; actions = backup.actions()) {
      for (const action of actions) {
        if (action.type === "store") {
          await made(backup.named(action.number, await sha256(crypto, action.bytes)), action.bytes);
          continue;
        }
        const { counter, kind, ids, lengths } = action;
        const raw = action.raw ?? held.block(lengths);
        const { plaintext, iv, additionalData } = sealer.prepare(counter, kind, ids, lengths, raw);
        const terms = { name: "AES-GCM", iv, additionalData };
        const ciphertext = await crypto.subtle.encrypt(terms, key, plaintext);
        sealer.opened(counter, new Uint8Array(await crypto.subtle.decrypt(terms, key, ciphertext)));
        backup.sealed(counter, new Uint8Array([...iv, ...new Uint8Array(ciphertext)]));
      }
    }
  };
  const tree = [];
  const claim = async () => {
    do await act();
    while (!backup.isIdle);
    while (backup.nextClaim() !== null) {
      const claimed = backup.claimed(null);
      await made(claimed.key, claimed.bytes);
    }
    tree.push(...backup.takeKept());
  };

  while (backup.nextManifest() !== null) backup.manifest(null);
  for (const [at, [path, length, bits]] of FILES.entries()) {
    const bytes = content(at === AGAIN[0] ? AGAIN[1] : at, length, bits);
    const facts = { path, size: length, modified: NOW - 1_000_000 + at * 1001 };
    if (backup.compare(copal.inColumns([facts]))[0] !== 1) throw new Error(`${path} is not new`);
    if (length <= parameters.inlineMax) {
      backup.inline(facts, bytes);
    } else {
      backup.begin();
      for (let start = 0; start < length; ) {
        const end = Math.min(start + WINDOW, length);
        const window = bytes.subarray(start, end);
        const cut = chunker.cut(window, end === length);
        held.add(window, cut.lengths, backup.chunks(cut.ids, cut.lengths));
        await act();
        start += cut.consumed;
      }
      backup.end(facts);
    }
    await act();
    if (at + 1 === BEFORE_CHECKPOINT) {
      backup.checkpoint();
      await claim();
    }
  }
  backup.finish();
  await claim();
  await made("kept tree", Uint8Array.from(tree));
  return lines;
}

/** New chunks that are in no block yet: of `bytes`, those that `isNew` tells; the bytes of a block. */
export class Held {
  #chunks = [];

  add(bytes, lengths, isNew) {
    let end = 0;
    for (const [at, length] of lengths.entries()) {
      end += length;
      if (isNew[at]) this.#chunks.push(bytes.slice(end - length, end));
    }
  }

  block(lengths) {
    const raw = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
    let end = 0;
    for (const chunk of this.#chunks.splice(0, lengths.length)) {
      raw.set(chunk, end);
      end += chunk.length;
    }
    return raw;
  }
}

async function sha256(crypto, bytes) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

function content(seed, length, bits) {
  return stream(1000 + seed, length).map((byte) => byte & ((1 << bits) - 1));
}

function fixed(seed, length) {
  return stream(seed, length);
}

/** Pseudo-random bytes (SplitMix64), in halves of 32 bits: BigInt would take minutes. */
function stream(seed, length) {
  const words = new Uint32Array(2 * Math.ceil(length / 8));
  let [high, low] = [0, seed];
  for (let at = 0; at < words.length; at += 2) {
    [high, low] = add(high, low, 0x9e3779b9, 0x7f4a7c15);
    let [h, l] = [high, low];
    [h, l] = multiply(h ^ (h >>> 30), l ^ ((l >>> 30) | (h << 2)), 0xbf58476d, 0x1ce4e5b9);
    [h, l] = multiply(h ^ (h >>> 27), l ^ ((l >>> 27) | (h << 5)), 0x94d049bb, 0x133111eb);
    words[at] = l ^ ((l >>> 31) | (h << 1));
    words[at + 1] = h ^ (h >>> 31);
  }
  return new Uint8Array(words.buffer).slice(0, length);
}

function add(h, l, high, low) {
  const sum = (l >>> 0) + low;
  return [(h + high + (sum > 0xffffffff ? 1 : 0)) >>> 0, sum >>> 0];
}

function multiply(h, l, high, low) {
  const [a, b, c, d] = [(l >>> 0) & 0xffff, l >>> 16, low & 0xffff, low >>> 16];
  const middle = b * c + Math.floor((a * c) / 65536);
  const cross = a * d + (middle % 65536);
  const carry = b * d + Math.floor(middle / 65536) + Math.floor(cross / 65536);
  const up = (Math.imul(h, low) + Math.imul(l, high) + (carry | 0)) >>> 0;
  return [up, Math.imul(l, low) >>> 0];
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
