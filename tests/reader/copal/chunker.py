"""Content-defined cut points: chunker 1, FastCDC with a keyed gear table (format §11)."""

MASKS = {
    5: 0x0000000001804110, 6: 0x0000000001803110, 7: 0x0000000018035100, 8: 0x0000001800035300,
    9: 0x0000019000353000, 10: 0x0000590003530000, 11: 0x0000D90003530000, 12: 0x0000D90103530000,
    13: 0x0000D90303530000, 14: 0x0000D90313530000, 15: 0x0000D90F03530000, 16: 0x0000D90303537000,
    17: 0x0000D90703537000, 18: 0x0000D90707537000, 19: 0x0000D91707537000, 20: 0x0000D91747537000,
    21: 0x0000D91767537000, 22: 0x0000D93767537000, 23: 0x0000D93777537000, 24: 0x0000D93777577000,
    25: 0x0000DB3777577000,
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
