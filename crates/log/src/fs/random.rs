//! Random numbers for names, ids and jitter. They are unique, not secret.

use thalweg_wire::Uuid;

/// Random bits, for names, ids and jitter.
pub(crate) fn random_u128() -> u128 {
    let mut bytes = [0u8; 16];
    if getrandom::fill(&mut bytes).is_err() {
        // Names only have to differ: the standard library's keys do.
        use std::hash::{BuildHasher, Hasher};
        for chunk in bytes.chunks_mut(8) {
            let mut hasher = std::hash::RandomState::new().build_hasher();
            hasher.write_u8(0);
            chunk.copy_from_slice(&hasher.finish().to_be_bytes()[..chunk.len()]);
        }
    }
    u128::from_be_bytes(bytes)
}

pub(crate) fn random_uuid() -> Uuid {
    loop {
        if let Some(id) = Uuid::from_random(random_u128().to_be_bytes()) {
            return id;
        }
    }
}
