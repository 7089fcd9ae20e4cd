//! Images between server and client: their values as bytes, in pieces, with flow control.

pub mod codec;
pub mod flow;
pub mod incoming;
pub mod outgoing;
