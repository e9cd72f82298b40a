"""Content-defined cut points: chunker 1, FastCDC with a keyed gear table (format §11)."""

MASKS = {
    7: 0x18035100, 8: 0x1800035300, 9: 0x19000353000, 10: 0x590003530000, 11: 0xD90003530000, 12: 0xD90103530000,
    13: 0xD90303530000, 14: 0xD90313530000, 15: 0xD90F03530000, 16: 0xD90303537000, 17: 0xD90703537000,
    18: 0xD90707537000, 19: 0xD91707537000, 20: 0xD91747537000, 21: 0xD91767537000, 22: 0xD93767537000,
    23: 0xD93777537000,
}
"""Mask by the binary logarithm of a size."""

WORD = (1 << 64) - 1


class Chunker:
    """Cuts a file's content as every client of the domain does."""

    def __init__(self, sizes, gear):
        self.min, self.average, self.max = sizes["min"], sizes["average"], sizes["max"]
        self.gear = gear
        bits = self.average.bit_length() - 1
        self.strict, self.loose = MASKS[bits + 1], MASKS[bits - 1]

    def cut(self, window):
        """The length of the chunk at the front of what is left (of which more than `max` bytes do not matter)."""
        length = min(len(window), self.max)
        if length <= self.min:
            return length
        centre = 2 * (min(self.average, length) // 2)
        state, gear = 0, self.gear
        for mask, start, end in (
            (self.strict, self.min, centre),
            (self.loose, max(self.min, centre), 2 * (length // 2)),
        ):
            for i, byte in enumerate(window[start:end], start):
                state = (state + state + gear[byte]) & WORD
                if not state & mask:
                    return i
        return length

    def lengths(self, content):
        """The lengths of all chunks."""
        view, lengths = memoryview(content), []
        while view:
            lengths.append(self.cut(view))
            view = view[lengths[-1] :]
        return lengths
