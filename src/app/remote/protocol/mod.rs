//! Messages between client and server, and their form as bytes.

pub mod error;
pub mod framing;
pub mod messages;
pub mod numbered;
pub mod study;
