//! Where a window whose line has broken finds its session again: a socket in a folder of the user's own, named by the session. Nobody
//! else can open it, and there is no port.

use std::io::{Read, Write};

use super::framing::encode;
use super::messages::ToWindow;
use super::{Line, WireError};

/// Why a session cannot be taken up again.
#[cfg(unix)]
const GONE: &str = "the run no longer exists: its waiting time ended, or its host was restarted";
/// Why no session can be taken up again: the standard library has no Unix sockets on Windows.
#[cfg(not(unix))]
const GONE: &str = "a remote host with this operating system cannot resume a run after a lost connection";

#[cfg(unix)]
pub use unix::{Rendezvous, relay};

#[cfg(not(unix))]
pub use elsewhere::{Rendezvous, relay};

/// Says that a session is gone.
fn refuse(mut output: impl Write) -> Result<(), WireError> {
    output.write_all(&encode(&ToWindow::Refused(GONE.into()), &[])?)?;
    output.flush()?;
    Err(WireError::Refused(GONE.into()))
}

#[cfg(unix)]
mod unix {
    use std::fs::{self, DirBuilder, Permissions};
    use std::io;
    use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::thread::Builder;

    use sysinfo::System;
    use uuid::Uuid;

    use super::*;
    use crate::plan::Cache;
    use crate::session::wire::framing::{greet, read_greeting};

    /// File extension of the sockets.
    const ENDING: &str = "socket";
    /// File extension of a socket until its session listens.
    const BEGINNING: &str = "beginning";

    /// A session's socket. It is removed when dropped.
    pub struct Rendezvous {
        name: String,
        path: Option<PathBuf>,
    }

    impl Rendezvous {
        /// A socket of a new name; `found` takes that and each line that comes through it, whoever is at its other end. Where none can be
        /// had the session has its name all the same, and nobody can take it up again.
        pub fn open(found: impl Fn(&str, Line) + Clone + Send + 'static) -> Self {
            let name = Uuid::new_v4().simple().to_string();
            let path = folders().find_map(|folder| listen(&folder, &name, found.clone()).ok());
            Self { name, path }
        }

        /// The session's name.
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

    fn listen(folder: &Path, name: &str, found: impl Fn(&str, Line) + Send + 'static) -> io::Result<PathBuf> {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        // Only its owner can do this.
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
        remove_left(folder);
        let (path, before) = (folder.join(name).with_extension(ENDING), folder.join(name).with_extension(BEGINNING));
        // Between its making and its listening a socket looks like one that was left: another session that begins would remove it.
        let listener = UnixListener::bind(&before)?;
        // Nobody else can enter the folder; nor could they use the socket.
        fs::set_permissions(&before, Permissions::from_mode(0o600))?;
        fs::rename(&before, &path)?;
        let name = name.to_owned();
        let accept = move || {
            for stream in listener.incoming() {
                let line = stream.and_then(|stream| Ok((stream.try_clone()?, stream)));
                let Ok((input, output)) = line else { continue };
                found(&name, Line { input: Box::new(input), output: Box::new(output), program: None });
            }
        };
        Builder::new().name("rendezvous".into()).spawn(accept)?;
        Ok(path)
    }

    /// The folders in which sockets may be, the best first. That of the user's login may go when the line breaks; the cache stays, and
    /// may be shared with other machines.
    fn folders() -> impl Iterator<Item = PathBuf> {
        let host = System::host_name().ok().filter(|host| !host.contains('/')).unwrap_or_else(|| "this".into());
        let cache = Cache::of_the_user().folder().map(|cache| cache.join("run").join(host));
        let login = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_absolute() && path.is_dir());
        cache.into_iter().chain(login.map(|path| path.join("tomoscope")))
    }

    /// Removes the sockets of servers that were killed: nobody listens at them.
    fn remove_left(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let is_socket = path.extension().is_some_and(|extension| extension == ENDING);
            if is_socket && UnixStream::connect(&path).is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused) {
                let _ = fs::remove_file(&path);
            }
        }
    }

    /// Puts a window, whose first message is `hello`, through to the session that it had.
    ///
    /// # Errors
    /// The session is gone, which the window is told too; or the lines break.
    pub fn relay(
        name: &str,
        hello: &[u8],
        mut input: Box<dyn Read + Send>,
        mut output: Box<dyn Write + Send>,
    ) -> Result<(), WireError> {
        // What is no name of a session is not looked for.
        let name = Uuid::try_parse(name).map(|uuid| uuid.simple().to_string()).ok();
        let mut paths = folders().zip(name.iter().cycle()).map(|(folder, name)| folder.join(name).with_extension(ENDING));
        let stream = paths.find_map(|path| UnixStream::connect(path).ok());
        let Some(mut there) = stream else { return refuse(output) };
        read_greeting(&mut there)?;
        greet(&mut there)?;
        there.write_all(&u32::try_from(hello.len()).unwrap_or(u32::MAX).to_le_bytes())?;
        there.write_all(hello)?;
        let mut back = there.try_clone()?;
        Builder::new().name("relay".into()).spawn(move || {
            let _ = pass_on(&mut input, &mut there);
            // The session learns that the window's end is gone, and its news end here.
            let _ = there.shutdown(std::net::Shutdown::Both);
        })?;
        pass_on(&mut back, &mut output)
    }

    /// Passes bytes on as they come.
    fn pass_on(from: &mut impl Read, to: &mut impl Write) -> Result<(), WireError> {
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
        fn a_session_that_begins_removes_no_socket_of_another() {
            let folder = tempfile::tempdir().unwrap();
            let is_over = AtomicBool::new(false);
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        remove_left(folder.path());
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
}

#[cfg(not(unix))]
mod elsewhere {
    use super::*;

    /// Where there are no sockets in folders a session has only its name.
    pub struct Rendezvous(String);

    impl Rendezvous {
        /// A new name.
        pub fn open(_found: impl Fn(&str, Line) + Clone + Send + 'static) -> Self {
            Self(uuid::Uuid::new_v4().simple().to_string())
        }

        /// The session's name.
        pub fn name(&self) -> &str {
            &self.0
        }
    }

    /// No session can be found again here.
    ///
    /// # Errors
    /// Always, which the window is told too.
    pub fn relay(
        _name: &str,
        _hello: &[u8],
        _input: Box<dyn Read + Send>,
        output: Box<dyn Write + Send>,
    ) -> Result<(), WireError> {
        refuse(output)
    }
}
