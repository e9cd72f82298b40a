"""Block plaintexts: codec, lengths, payload and padding (format §7)."""

import zstandard

from . import limits
from .wire import Cursor, Damage, refuse

FRAME_MAGIC = bytes.fromhex("28b52ffd")


def chunks_of(plaintext, what):
    """The chunks (or page plaintexts) of a block, in order."""
    cursor = Cursor(plaintext, what)
    codec = cursor.u8("codec")
    raw_length = cursor.u32("raw length")
    payload_length = cursor.u32("payload length")
    count = cursor.u32("number of chunks")
    refuse(codec > 1, f"{what}: codec {codec} is unknown")
    refuse(raw_length > limits.RAW_BLOCK, f"{what}: {raw_length} raw bytes are too many")
    refuse(not 1 <= count <= limits.BLOCK_ENTRIES, f"{what}: {count} chunks, allowed are 1 to {limits.BLOCK_ENTRIES}")
    lengths = [int.from_bytes(field, "little") for field in cursor.array(count, 4, "chunk lengths")]
    refuse(max(lengths) > limits.CHUNK, f"{what}: a chunk of {max(lengths)} bytes")
    refuse(sum(lengths) != raw_length, f"{what}: the lengths add up to {sum(lengths)}, not to {raw_length}")
    payload = cursor.take(payload_length, "payload")
    padded = padme(cursor.at) if count == 1 else -(-cursor.at // 256) * 256
    refuse(len(plaintext) != padded, f"{what}: {len(plaintext)} bytes padded, should be {padded}")
    cursor.zeros(cursor.left())
    raw = _decompress(payload, raw_length, what) if codec else payload
    refuse(len(raw) != raw_length, f"{what}: {len(raw)} raw bytes, should be {raw_length}")
    return _split(raw, lengths)


def padme(length):
    """Padmé's length."""
    if length < 2:
        return length
    exponent = length.bit_length() - 1
    step = 1 << (exponent - exponent.bit_length())
    return -(-length // step) * step


def _decompress(payload, raw_length, what):
    refuse(payload[:4] != FRAME_MAGIC, f"{what}: the payload is no Zstandard frame")
    try:
        refuse(zstandard.get_frame_parameters(payload).dict_id, f"{what}: the frame names a dictionary")
        frame = zstandard.ZstdDecompressor(max_window_size=1 << 27).decompressobj()
        raw = frame.decompress(payload)
    except zstandard.ZstdError as error:
        raise Damage(f"{what}: {error}") from None
    refuse(not frame.eof, f"{what}: the frame is cut off")
    refuse(frame.unused_data, f"{what}: {len(frame.unused_data)} bytes follow the frame")
    refuse(len(raw) != raw_length, f"{what}: the frame holds {len(raw)} bytes, should be {raw_length}")
    return raw


def _split(raw, lengths):
    chunks, at = [], 0
    for length in lengths:
        chunks.append(raw[at : at + length])
        at += length
    return chunks
