//! Entropy: random bytes from the operating system.

use copal_format::keys::secret::Secret;
use copal_jobs::context::Entropy;

/// The operating system's random number generator.
pub struct SystemEntropy;

impl Entropy for SystemEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        getrandom::fill(bytes).expect("the operating system gives random bytes");
    }
}

/// An array of random bytes.
pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    SystemEntropy.fill(&mut bytes);
    bytes
}

/// A random secret.
pub fn secret() -> Secret {
    let mut bytes = zeroize::Zeroizing::new([0; 32]);
    SystemEntropy.fill(bytes.as_mut_slice());
    Secret::new(*bytes)
}
