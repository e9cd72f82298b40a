//! Header: the fixed fields of a member, in one block.

/// Bytes of a block.
pub(super) const BLOCK: usize = 512;

/// A block whose checksum is right.
pub(super) struct Header([u8; BLOCK]);

impl Header {
    pub(super) fn new(block: [u8; BLOCK]) -> Option<Self> {
        let header = Self(block);
        let told = header.number(148, 8)?;
        let spaces = 8 * u64::from(b' ');
        let others = || block[..148].iter().chain(&block[156..]);
        let unsigned: u64 = others().map(|&byte| u64::from(byte)).sum::<u64>() + spaces;
        // Some old programs added up signed bytes.
        let signed: i64 = others().map(|&byte| i64::from(byte as i8)).sum::<i64>() + spaces as i64;
        (told == unsigned || told as i64 == signed).then_some(header)
    }

    pub(super) fn kind(&self) -> u8 {
        self.0[156]
    }

    /// The name, with the prefix of a ustar header.
    pub(super) fn name(&self) -> Vec<u8> {
        let (name, prefix) = (self.text(0, 100), self.text(345, 155));
        let is_ustar = &self.0[257..263] == b"ustar\0";
        if is_ustar && !prefix.is_empty() { [prefix, b"/", name].concat() } else { name.to_vec() }
    }

    pub(super) fn link(&self) -> Vec<u8> {
        self.text(157, 100).to_vec()
    }

    pub(super) fn mode(&self) -> Option<u64> {
        self.number(100, 8)
    }

    pub(super) fn uid(&self) -> Option<u64> {
        self.number(108, 8)
    }

    pub(super) fn gid(&self) -> Option<u64> {
        self.number(116, 8)
    }

    pub(super) fn size(&self) -> Option<u64> {
        self.number(124, 12).filter(|size| i64::try_from(*size).is_ok())
    }

    /// Seconds since 1970, as a signed number.
    pub(super) fn mtime(&self) -> Option<u64> {
        self.number(136, 12)
    }

    pub(super) fn user(&self) -> Vec<u8> {
        if self.has_names() { self.text(265, 32).to_vec() } else { Vec::new() }
    }

    pub(super) fn group(&self) -> Vec<u8> {
        if self.has_names() { self.text(297, 32).to_vec() } else { Vec::new() }
    }

    /// The major (0) or minor (1) number of a device.
    pub(super) fn device(&self, which: usize) -> Option<u64> {
        self.number(329 + 8 * which, 8)
    }

    /// Number `at` of the parts of a sparse file in an old GNU header; none if there are no more.
    pub(super) fn sparse_part(&self, at: usize) -> Option<(u64, u64)> {
        (at < 4).then(|| sparse_part(&self.0, 386 + 24 * at)).flatten()
    }

    /// Whether a block with more parts follows.
    pub(super) fn has_more_parts(&self) -> bool {
        self.0[482] != 0
    }

    /// Bytes of a sparse file with its holes.
    pub(super) fn real_size(&self) -> Option<u64> {
        self.number(483, 12)
    }

    fn has_names(&self) -> bool {
        &self.0[257..262] == b"ustar"
    }

    fn text(&self, start: usize, length: usize) -> &[u8] {
        text(&self.0[start..start + length])
    }

    fn number(&self, start: usize, length: usize) -> Option<u64> {
        number(&self.0[start..start + length])
    }
}

/// A part of a sparse file: its offset and length; none if the field is unused.
pub(super) fn sparse_part(block: &[u8; BLOCK], start: usize) -> Option<(u64, u64)> {
    let field = |at: usize| &block[start + 12 * at..start + 12 * (at + 1)];
    if field(0)[0] == 0 || field(1)[0] == 0 {
        return None;
    }
    number(field(0)).zip(number(field(1)))
}

fn text(field: &[u8]) -> &[u8] {
    &field[..field.iter().position(|&byte| byte == 0).unwrap_or(field.len())]
}

/// A number: octal digits, or if the highest bit is set, the two's complement of the other bits. An empty field is 0.
/// None if it takes more than 64 bits.
fn number(field: &[u8]) -> Option<u64> {
    if field[0] & 0x80 != 0 {
        let (high, low) = field.split_at(field.len() - 8);
        let is_filled = |mark, fill| high.first() == Some(&mark) && high[1..].iter().all(|&byte| byte == fill);
        if !high.is_empty() && !is_filled(0x80, 0) && !is_filled(0xff, 0xff) {
            return None;
        }
        let number = low.iter().fold(0, |number: u64, &byte| number << 8 | u64::from(byte));
        // In a field of 8 bytes the highest bit is the mark; negative numbers have all bits of the first byte.
        return Some(if high.is_empty() && field[0] != 0xff { number & (u64::MAX >> 1) } else { number });
    }
    let digits = core::str::from_utf8(text(field)).ok()?.trim();
    if digits.is_empty() { Some(0) } else { u64::from_str_radix(digits, 8).ok() }
}
