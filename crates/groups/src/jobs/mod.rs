//! Computations that take long, as values that own what they read.

mod claims;

pub(crate) use claims::{Claimant, has_claims, remembered};
