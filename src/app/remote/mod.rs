//! Remote sessions: a window on one host, its solver on another. The client is a [`Transport`](crate::session::Transport) of the
//! window's session; the server runs the session with the solver.
//!
//! Each end first sends a line with the version of the protocol. Messages (`protocol/messages`) follow in both directions: the
//! length, the message as `postcard` writes it, and its payload, the values of a piece of an image.
//!
//! Requests and notifications are numbered and stored until the other end has received them (`protocol/numbered`): after a lost
//! connection both ends resend the rest. Images are not numbered: the newest wins. The displayed slices of an image go first,
//! then the whole image. If the whole image arrives as soon, it goes alone. Both go in pieces (`images/outgoing`), limited by
//! flow control (`images/flow`): requests and notifications never wait for an image.
//!
//! The window numbers its studies and runs, and each message about a study has its number. The server stores the study in use
//! and newer ones that the window may use (`server/studies`).
//!
//! Both ends validate lengths, grids, numbers and regions before use. An invalid message ends the connection with an error.

mod client;
mod connection;
#[cfg(test)]
mod hostile;
mod images;
mod protocol;
mod server;

pub use client::connect;
pub use client::handle::{ConnectionState, Remote};
pub use connection::{Connection, Dialer};
pub use protocol::error::RemoteError;
pub use protocol::study::{RemoteStudy, StudyMetadata};
pub use server::{Opener, ServeOptions, serve};
