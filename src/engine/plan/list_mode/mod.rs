//! Events of a list: reading them, their factors and randoms, their sensitivity, and their bins.

pub mod factors;
pub mod histogram;
pub mod randoms;
pub mod sampling;
pub mod sensitivity;
pub mod sensitivity_cache;
pub mod study;
pub mod tof;
