//! Module: what a WebAssembly module says about itself, its imports and the features that it uses.

/// What is read of a module.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Module {
    /// What the module wants from its host, as `module.name`.
    pub(crate) imports: Vec<String>,
    /// The target features that it was compiled with, as `+simd128`.
    pub(crate) features: Vec<String>,
}

impl Module {
    /// Reads the sections of a module.
    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let mut rest = Bytes(bytes);
        if rest.take(8)? != b"\0asm\x01\0\0\0" {
            return Err("not a WebAssembly module of version 1".to_owned());
        }
        let mut module = Self::default();
        while !rest.0.is_empty() {
            let id = rest.byte()?;
            let length = rest.number()?;
            let mut section = Bytes(rest.take(length)?);
            match id {
                CUSTOM if section.text()? == "target_features" => module.features = section.list(Bytes::feature)?,
                IMPORTS => module.imports = section.list(Bytes::import)?,
                _ => {}
            }
        }
        Ok(module)
    }
}

/// The bytes that were not read yet.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or("the module ends within a section")?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, String> {
        Ok(self.take(1)?[0])
    }

    /// A number in LEB128; none here needs more than 64 bits.
    fn number(&mut self) -> Result<usize, String> {
        let mut value = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            value |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number is too long".to_owned())
    }

    fn text(&mut self) -> Result<String, String> {
        let length = self.number()?;
        Ok(String::from_utf8_lossy(self.take(length)?).into_owned())
    }

    fn list(&mut self, item: impl Fn(&mut Self) -> Result<String, String>) -> Result<Vec<String>, String> {
        (0..self.number()?).map(|_| item(self)).collect()
    }

    fn feature(&mut self) -> Result<String, String> {
        let sign = char::from(self.byte()?);
        Ok(format!("{sign}{}", self.text()?))
    }

    fn import(&mut self) -> Result<String, String> {
        let name = format!("{}.{}", self.text()?, self.text()?);
        match self.byte()? {
            0 => drop(self.number()?),
            1 => {
                self.byte()?;
                self.limits()?;
            }
            2 => self.limits()?,
            3 => drop(self.take(2)?),
            4 => {
                self.byte()?;
                self.number()?;
            }
            kind => return Err(format!("the import {name} has the unknown kind {kind}")),
        }
        Ok(name)
    }

    fn limits(&mut self) -> Result<(), String> {
        let has_maximum = self.byte()? & 1 == 1;
        self.number()?;
        if has_maximum {
            self.number()?;
        }
        Ok(())
    }
}

const CUSTOM: u8 = 0;
const IMPORTS: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &[u8] = b"\0asm\x01\0\0\0";

    #[test]
    fn imports_of_every_kind_are_named() {
        let imports = b"\x02\x2c\x05\x01m\x01f\0\x81\x01\x01m\x01t\x01\x70\x01\x01\x02\x01m\x01m\x02\0\x01\x01m\x01g\x03\x7f\0\x03env\x05abort\x04\0\0";
        let module = Module::parse(&[HEAD, imports].concat()).unwrap();
        assert_eq!(module.imports, ["m.f", "m.t", "m.m", "m.g", "env.abort"]);
    }

    #[test]
    fn features_are_listed() {
        let features = b"\0\x1a\x0ftarget_features\x01+\x07simd128";
        assert_eq!(Module::parse(&[HEAD, features].concat()).unwrap().features, ["+simd128"]);
    }

    #[test]
    fn a_module_that_ends_early_is_refused() {
        assert!(Module::parse(&[HEAD, b"\x02\x7f"].concat()).is_err());
        assert!(Module::parse(b"\0asm").is_err());
    }
}
