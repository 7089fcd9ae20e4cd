//! The session's protocol between two processes: a window here, its solver elsewhere.
//!
//! Both ends first say a line that names the protocol's version (`framing`); then messages (`messages`) go both ways, each
//! as its length, the message as `postcard` writes it, and the values of an image that it brings (`image`): compressed, but over a
//! fast line as they stand.
//!
//! Orders and news are numbered and kept until the other end has them: where the line breaks and another takes its place, they go
//! on where they stopped (`outbox`). Images are not: the newest wins. Of each the slices on the screen are sent at once and the
//! whole after them, which comes alone where it is there as soon, in pieces (`images_out`), no more at a time than the line takes up
//! (`flow`): orders and news wait for none.
//!
//! The window numbers its studies and its runs. Every message about a study has its number, so that what was asked of one is never done with
//! another; the server holds the one that is used, and newer ones that may be (`server/studies`).
//!
//! Nothing that comes is believed: lengths, grids, numbers and regions are checked before they are used, and what cannot be ends
//! the connection with a sentence.

mod client;
mod flow;
mod framing;
#[cfg(test)]
mod hostile;
mod image;
mod images_in;
mod images_out;
mod line;
pub(super) mod messages;
mod outbox;
mod remote;
mod rendezvous;
mod server;
mod studies;

pub(super) use client::{Ends, start as connect};
pub use framing::WireError;
pub use line::{Dial, Line};
pub use remote::{LineState, Remote};
pub use server::{Opener, ServeOptions, serve};
pub use studies::{RemoteStudy, StudyHead};
