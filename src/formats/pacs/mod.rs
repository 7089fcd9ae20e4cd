//! DICOM nodes on the network: verification (C-ECHO) and storage (C-STORE) of files as they are.
//!
//! The program opens connections to nodes that the user names, and listens on none. Files are read only: data sets are sent byte by
//! byte in their own transfer syntax, so that a failed transfer loses nothing. Connections are not encrypted.
//!
//! Source: DICOM PS3.7 (messages), PS3.8 (associations), PS3.4 annex B (storage).

mod association;
mod error;
mod instance;
mod node;
mod send;
mod status;

pub use error::PacsError;
pub use instance::Instance;
pub use node::{CALLING_TITLE, Node, check_title};
pub use send::{NotStored, Transfer, send, verify};
pub use status::Status;
