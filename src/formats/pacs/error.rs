//! Failures of the connection to a node.

use std::path::PathBuf;

use super::node::Node;
use crate::coded::coded;

/// Failure of a transfer as a whole.
#[derive(Debug, thiserror::Error)]
pub enum PacsError {
    /// A file that does not open or read.
    #[error("{}: not read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// No DICOM file among the given ones.
    #[error("{}: no DICOM file to send", .0.display())]
    NoFile(PathBuf),
    /// No connection.
    #[error("{0}: no connection: {1}; check host and port, and the network")]
    Connect(Node, String),
    /// An association that the node rejects.
    #[error("{0}: the node rejects the association: {1}; check the AE titles (--to, --as), which the node must know")]
    Rejected(Node, String),
    /// No common kind of object and transfer syntax.
    #[error("{0}: the node accepts none of these objects ({1})")]
    NoContext(Node, String),
    /// A connection that ends, or a message that is none.
    #[error("{0}: the connection failed: {1}")]
    Lost(Node, String),
    /// A status of the verification other than success.
    #[error("{0}: the node refuses the verification: {1}")]
    Refused(Node, String),
}

coded!(PacsError = "pacs");
