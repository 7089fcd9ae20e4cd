//! TODO: purpose.

pub mod interfile;
pub mod siemens;

