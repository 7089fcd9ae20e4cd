//! Attenuation of the object: maps out of files of µ or CT, and the part of the photon pairs that passes on the lines of a cylinder.

pub(in crate::plan) mod factors;
pub(in crate::plan) mod factors_cache;
pub(in crate::plan) mod maps;
