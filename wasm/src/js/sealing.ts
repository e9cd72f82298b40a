export interface Cut { /** 24·n bytes. */ ids: Uint8Array<ArrayBuffer>; lengths: Uint32Array<ArrayBuffer>; consumed: number }
/** To be sealed by AES-256-GCM, opened again, and handed to `opened`: only then iv and what was sealed may be handed to `sealed`. */
export interface Prepared { plaintext: Uint8Array<ArrayBuffer>; iv: Uint8Array<ArrayBuffer>; additionalData: Uint8Array<ArrayBuffer> }
