//! ELF: for which processor a program was built.

/// The processor that the header of a program names.
pub(crate) fn machine(program: &[u8]) -> Result<&'static str, String> {
    let header: &[u8; 20] = program.first_chunk().ok_or("too short for a program")?;
    if header[..6] != *b"\x7fELF\x02\x01" {
        return Err("not a little-endian ELF program of 64 bits".to_owned());
    }
    match u16::from_le_bytes([header[18], header[19]]) {
        62 => Ok("x86_64"),
        183 => Ok("aarch64"),
        other => Err(format!("a program for the unknown machine {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_processor_stands_in_the_header() {
        let header = |machine: u8| [b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0", &[machine, 0][..]].concat();
        assert_eq!(machine(&header(62)), Ok("x86_64"));
        assert_eq!(machine(&header(183)), Ok("aarch64"));
        assert!(machine(&header(3)).is_err());
        assert!(machine(b"\x7fELF\x01\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\x03\0").is_err() && machine(b"\x7fELF").is_err());
    }
}
