"""Content-defined cut points: chunker 1, FastCDC with a keyed gear table and a keyed choice (format §11)."""

from .derive import keyed

WORD = (1 << 64) - 1
WINDOW = 64


class Chunker:
    """Cuts a file's content as every client of the domain does."""

    def __init__(self, sizes, domain):
        self.min, self.average, self.max = sizes["min"], sizes["average"], sizes["max"]
        self.gear, self.choice = domain.gear, domain.choice
        bits = self.average.bit_length() - 1
        self.candidate = min(9, bits - 1)
        self.strict, self.loose = bits + 1 - self.candidate, bits - 1 - self.candidate

    def cut(self, window):
        """The length of the chunk at the front of what is left (of which more than `max` bytes do not matter)."""
        end = min(len(window), self.max)
        if end <= self.min:
            return end
        state, gear = 0, self.gear
        for byte in window[self.min - WINDOW : self.min]:
            state = (state + state + gear[byte]) & WORD
        for length, byte in enumerate(window[self.min : end], self.min):
            if not state >> (64 - self.candidate):
                choice = int.from_bytes(keyed(self.choice, state.to_bytes(8, "little"), 8), "little")
                zeros = self.strict if length < self.average else self.loose
                if not choice >> (64 - zeros):
                    return length
            state = (state + state + gear[byte]) & WORD
        return end

    def lengths(self, content):
        """The lengths of all chunks."""
        view, lengths = memoryview(content), []
        while view:
            lengths.append(self.cut(view))
            view = view[lengths[-1] :]
        return lengths
