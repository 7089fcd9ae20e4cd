//! Images between server and client: their values as bytes, in pieces, with flow control.

pub mod flow;
pub mod incoming;
pub mod outgoing;
pub mod slices;
