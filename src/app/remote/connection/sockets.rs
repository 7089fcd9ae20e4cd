//! Sockets of sessions in private folders.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::Builder;

use sysinfo::System;

use super::Connection;
use crate::plan::Cache;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::framing::{greet, read_greeting};

/// File extension of the sockets.
const EXTENSION: &str = "socket";
/// File extension of a socket until its session listens.
const BEGINNING: &str = "beginning";

/// Opens a socket in a folder. `connected` receives the name and each connection.
///
/// # Errors
/// Creating the folder or the socket failed, or the system refused the thread.
pub fn listen(folder: &Path, name: &str, connected: impl Fn(&str, Connection) + Send + 'static) -> io::Result<PathBuf> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Only the owner can do this.
    fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    remove_stale(folder);
    let (path, before) = (folder.join(name).with_extension(EXTENSION), folder.join(name).with_extension(BEGINNING));
    // A new socket that does not listen yet looks stale: another new session would remove it.
    let listener = UnixListener::bind(&before)?;
    // No other user can enter the folder, nor use the socket.
    fs::set_permissions(&before, Permissions::from_mode(0o600))?;
    fs::rename(&before, &path)?;
    let name = name.to_owned();
    let accept = move || {
        for stream in listener.incoming() {
            let both = stream.and_then(|stream| Ok((stream.try_clone()?, stream)));
            let Ok((input, output)) = both else { continue };
            connected(&name, Connection { input: Box::new(input), output: Box::new(output), program: None });
        }
    };
    Builder::new().name("rendezvous".into()).spawn(accept)?;
    Ok(path)
}

/// Connects to the socket of the session of this name.
pub fn connect(name: &str) -> Option<UnixStream> {
    folders().find_map(|folder| UnixStream::connect(folder.join(name).with_extension(EXTENSION)).ok())
}

/// Returns the folders for sockets, the best first. The folder of the user's login may be removed with the connection; the cache
/// stays, and other hosts may share it.
pub fn folders() -> impl Iterator<Item = PathBuf> {
    let host = System::host_name().ok().filter(|host| !host.contains('/')).unwrap_or_else(|| "this".into());
    let cache = Cache::of_the_user().folder().map(|cache| cache.join("run").join(host));
    let login = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir());
    cache.into_iter().chain(login.map(|path| path.join("tomoscope")))
}

/// Removes the sockets of killed servers, at which no process listens.
fn remove_stale(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let is_socket = path.extension().is_some_and(|extension| extension == EXTENSION);
        if is_socket && UnixStream::connect(&path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
            let _ = fs::remove_file(&path);
        }
    }
}

/// Forwards the connection of a window, whose first message is `hello`, to a socket.
///
/// # Errors
/// A connection is lost.
pub fn forward(
    mut socket: UnixStream,
    hello: &[u8],
    mut input: Box<dyn Read + Send>,
    mut output: Box<dyn Write + Send>,
) -> Result<(), RemoteError> {
    read_greeting(&mut socket)?;
    greet(&mut socket)?;
    socket.write_all(&u32::try_from(hello.len()).unwrap_or(u32::MAX).to_le_bytes())?;
    socket.write_all(hello)?;
    let mut back = socket.try_clone()?;
    Builder::new().name("relay".into()).spawn(move || {
        let _ = copy(&mut input, &mut socket);
        // The session learns that the window is gone, and its messages end here.
        let _ = socket.shutdown(Shutdown::Both);
    })?;
    copy(&mut back, &mut output)
}

/// Forwards bytes as they arrive.
fn copy(from: &mut impl Read, to: &mut impl Write) -> Result<(), RemoteError> {
    let mut bytes = vec![0; 1 << 16];
    loop {
        match from.read(&mut bytes) {
            Ok(0) => return Ok(()),
            Ok(num) => to.write_all(&bytes[..num]).and_then(|()| to.flush())?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn a_new_session_removes_no_socket_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    remove_stale(folder.path());
                }
            });
            for number in 0..300 {
                let path = listen(folder.path(), &number.to_string(), |_, _| {}).unwrap();
                let found = UnixStream::connect(&path);
                let _ = fs::remove_file(&path);
                if found.is_err() {
                    is_over.store(true, Ordering::Relaxed);
                }
                found.unwrap();
            }
            is_over.store(true, Ordering::Relaxed);
        });
    }
}
