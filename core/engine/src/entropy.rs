//! Where unpredictable bytes come from.

/// A source of bytes that nobody can guess: the operating system's, as a rule. The engine has none of its own.
///
/// Each call must give new bytes, also in a process that was forked: what it gives names tasks and seals states.
pub trait Entropy: Send {
    /// Fills `bytes`.
    fn fill(&mut self, bytes: &mut [u8]);
}

impl<F: FnMut(&mut [u8]) + Send> Entropy for F {
    fn fill(&mut self, bytes: &mut [u8]) {
        self(bytes);
    }
}
