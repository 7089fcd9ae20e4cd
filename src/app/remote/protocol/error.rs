//! Reasons for the end of a connection.

use std::io;

use crate::coded::coded;

/// First words of a program's first line.
pub const NAME: &str = "tomoscope wire";

/// Maximum length of a message, bytes: regions of a study with their voxels, or a reference image.
pub const MAX_MESSAGE: u32 = 256 << 20;

/// Reason for the end of a connection.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The other end closed the connection between two messages.
    #[error("the connection was closed by the other end")]
    Closed,
    /// The connection ended inside a message.
    #[error("the connection ended in the middle of a message")]
    Cut,
    /// Reading or writing failed.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// A message exceeds the maximum length.
    #[error(
        "a message of {found} bytes was announced, and none has more than {MAX_MESSAGE}: the other end is not a tomoscope, or a broken one"
    )]
    Length {
        /// Announced length, bytes.
        found: u32,
    },
    /// Invalid message.
    #[error("protocol error of the remote program: {0}")]
    Invalid(String),
    /// The other end is another program.
    #[error(
        "the other end began with '{found}' instead of '{NAME}': see that its shell prints nothing when it is logged in to, and that the program called there is tomoscope"
    )]
    NotThis {
        /// First line that it sent.
        found: String,
    },
    /// The other end is another version of this program.
    #[error("the two ends are different versions: '{found}' there, '{expected}' here; install the same tomoscope at both")]
    Version {
        /// First line of the other end.
        found: String,
        /// First line of this program.
        expected: String,
    },
    /// The other end refused to continue; its reason.
    #[error("{0}")]
    Refused(String),
}

coded!(RemoteError = "remote");

impl RemoteError {
    pub fn invalid(reason: impl ToString) -> Self {
        RemoteError::Invalid(reason.to_string())
    }

    /// Returns true if the connection itself ended, and false if an end refused it.
    pub fn is_lost(&self) -> bool {
        matches!(self, RemoteError::Closed | RemoteError::Cut | RemoteError::Broken(_))
    }
}
