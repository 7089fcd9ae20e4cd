//! TODO: purpose.

pub mod factors;
pub mod histogram;
pub mod kept_sensitivity;
pub mod randoms;
pub mod sampling;
pub mod sensitivity;
pub mod study;
