//! Sealing what a client keeps for us between two rounds: `requestState` (2026-07-28 `basic/patterns/mrtr`).
//!
//! The state passes through the client, who may read, change or repeat it, or give it to somebody else. So it is encrypted
//! and authenticated (XChaCha20-Poly1305) together with what it belongs to: principal, method and parameters, which are
//! not in it, and without which it does not open. When it ends and that it was used is written inside, and is `rounds`'
//! business.

use super::config::StateKey;
use crate::entropy::Entropy;
use crate::error::LocalError;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead as _, Payload};
use chacha20poly1305::{KeyInit as _, XChaCha20Poly1305, XNonce};
use sha2::{Digest as _, Sha256};

/// How every sealed text begins; what does not is not ours.
const MARK: &str = "f1.";
const KEY_ID: usize = 4;
const NONCE: usize = 24;

/// Names one sealing. Never the same twice.
pub(super) type Nonce = [u8; NONCE];

/// The keys, newest first: the first seals, all of them open.
#[derive(Default)]
pub(super) struct Seal {
    keys: Vec<Key>,
}

struct Key {
    id: [u8; KEY_ID],
    cipher: XChaCha20Poly1305,
}

impl Key {
    fn new(secret: &[u8; 32]) -> Self {
        let mut id = [0; KEY_ID];
        // One way: the name of a key says nothing of it.
        id.copy_from_slice(&Sha256::digest(secret)[..KEY_ID]);
        Self { id, cipher: XChaCha20Poly1305::new(secret.into()) }
    }
}

impl Seal {
    /// Takes these keys in the place of those that were there.
    pub(super) fn set_keys(&mut self, secrets: &[StateKey]) {
        self.keys = secrets.iter().map(|secret| Key::new(&secret.0)).collect();
    }

    /// Seals `plain` so that it opens only together with the same `bound`. Without keys one is made, which is known to
    /// this process alone.
    pub(super) fn close(
        &mut self,
        plain: &[u8],
        bound: &[u8],
        entropy: &mut dyn Entropy,
    ) -> Result<String, LocalError> {
        if self.keys.is_empty() {
            let mut secret = [0; 32];
            entropy.fill(&mut secret);
            self.keys.push(Key::new(&secret));
        }
        let key = &self.keys[0];
        let mut nonce: Nonce = [0; NONCE];
        entropy.fill(&mut nonce);
        let payload = Payload { msg: plain, aad: bound };
        let sealed =
            key.cipher.encrypt(&XNonce::from(nonce), payload).map_err(|_| LocalError::Limit("maxRequestStateBytes"))?;
        let mut bytes = Vec::with_capacity(KEY_ID + NONCE + sealed.len());
        bytes.extend_from_slice(&key.id);
        bytes.extend_from_slice(&nonce);
        bytes.extend_from_slice(&sealed);
        let mut out = String::from(MARK);
        URL_SAFE_NO_PAD.encode_string(&bytes, &mut out);
        Ok(out)
    }

    /// Whether a state claims to be one of ours.
    pub(super) fn is_ours(state: &str) -> bool {
        state.starts_with(MARK)
    }

    /// What was sealed, and by which sealing. None: changed, foreign, of a key that is gone, or bound to something else.
    pub(super) fn open(&self, state: &str, bound: &[u8]) -> Option<(Nonce, Vec<u8>)> {
        let bytes = URL_SAFE_NO_PAD.decode(state.strip_prefix(MARK)?).ok()?;
        let (id, rest) = bytes.split_at_checked(KEY_ID)?;
        let (nonce, sealed) = rest.split_at_checked(NONCE)?;
        let nonce: Nonce = nonce.try_into().ok()?;
        let keys = self.keys.iter().filter(|key| key.id == id);
        let payload = || Payload { msg: sealed, aad: bound };
        let plain = keys.filter_map(|key| key.cipher.decrypt(&XNonce::from(nonce), payload()).ok()).next()?;
        Some((nonce, plain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counting() -> impl Entropy {
        let mut next = 0u8;
        move |bytes: &mut [u8]| {
            for byte in bytes {
                *byte = next;
                next = next.wrapping_add(1);
            }
        }
    }

    #[test]
    fn what_is_sealed_opens_only_unchanged_and_bound_to_the_same() {
        let mut entropy = counting();
        let mut seal = Seal::default();
        let text = seal.close(b"secret", b"alice", &mut entropy).expect("sealed");
        assert_eq!(seal.open(&text, b"alice").map(|opened| opened.1), Some(b"secret".to_vec()));
        assert!(seal.open(&text, b"bob").is_none());
        for at in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).expect("ASCII");
            // The last character of base64 may hold bits that are not used, and must then be refused as well.
            assert!(seal.open(&changed, b"alice").is_none(), "{at}");
        }
        assert!(seal.open(&format!("{text}-TAMPERED"), b"alice").is_none());
        assert!(seal.open("", b"alice").is_none() && seal.open("f1.", b"alice").is_none());
    }

    #[test]
    fn an_older_key_opens_and_does_not_seal() {
        let mut entropy = counting();
        let (mut old, mut both, mut new) = (Seal::default(), Seal::default(), Seal::default());
        old.set_keys(&[StateKey([1; 32])]);
        both.set_keys(&[StateKey([2; 32]), StateKey([1; 32])]);
        new.set_keys(&[StateKey([2; 32])]);
        let by_old = old.close(b"x", b"", &mut entropy).expect("sealed");
        assert!(both.open(&by_old, b"").is_some() && new.open(&by_old, b"").is_none());
        let by_both = both.close(b"x", b"", &mut entropy).expect("sealed");
        assert!(old.open(&by_both, b"").is_none() && new.open(&by_both, b"").is_some());
    }
}
