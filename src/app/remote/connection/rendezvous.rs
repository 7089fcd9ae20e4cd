//! Socket through which a window finds its session again after a lost connection. It has the session's name, and lies in a private
//! folder of the user, closed to others. It has no port.

use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;

use uuid::Uuid;

use super::Connection;
#[cfg(unix)]
use super::sockets;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::framing::encode;
use crate::remote::protocol::messages::ToClient;

/// Reason why a session is not resumed.
#[cfg(unix)]
const GONE: &str = "the run no longer exists: its waiting time ended, or its host was restarted";
/// Reason why no session is resumed: the standard library has no Unix sockets on Windows.
#[cfg(not(unix))]
const GONE: &str = "a remote host with this operating system cannot resume a run after a lost connection";

/// Name of a session, and its socket, which is removed when this is dropped.
pub struct Rendezvous {
    name: String,
    path: Option<PathBuf>,
}

impl Rendezvous {
    /// Opens a socket with a new name. `connected` receives the name and each connection, from anyone. Without a socket
    /// the session is lost with its connection.
    #[cfg_attr(not(unix), expect(unused_variables))]
    pub fn open(connected: impl Fn(&str, Connection) + Clone + Send + 'static) -> Self {
        let name = Uuid::new_v4().simple().to_string();
        #[cfg(unix)]
        let path = sockets::folders().find_map(|folder| sockets::listen(&folder, &name, connected.clone()).ok());
        #[cfg(not(unix))]
        let path = None;
        Self { name, path }
    }

    pub fn name(&self) -> &str {
        &self.name
    }
}

impl Drop for Rendezvous {
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            let _ = fs::remove_file(path);
        }
    }
}

/// Forwards the connection of a window, whose first message is `hello`, to the session of this name.
///
/// # Errors
/// The session is gone, which the window learns too; or a connection is lost.
#[cfg_attr(not(unix), expect(unused_variables))]
pub fn relay(
    name: &str,
    hello: &[u8],
    input: Box<dyn Read + Send>,
    mut output: Box<dyn Write + Send>,
) -> Result<(), RemoteError> {
    // A name that is none of a session is not searched for.
    #[cfg(unix)]
    if let Some(socket) = Uuid::try_parse(name).ok().and_then(|uuid| sockets::connect(&uuid.simple().to_string())) {
        return sockets::forward(socket, hello, input, output);
    }
    output.write_all(&encode(&ToClient::Refused(GONE.into()), &[])?)?;
    output.flush()?;
    Err(RemoteError::Refused(GONE.into()))
}
