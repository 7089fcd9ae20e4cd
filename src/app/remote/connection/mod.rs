//! Connection between client and server: bytes in both directions, through a program started for it or through anything else.

pub mod rendezvous;
#[cfg(unix)]
mod sockets;
pub mod threads;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crate::remote::protocol::error::RemoteError;

/// Time to wait for the last messages of a program after its connection is lost.
pub const LAST_MESSAGE_TIME: Duration = Duration::from_millis(500);

/// Time for a connection's program to exit after the session.
const EXIT_TIME: Duration = Duration::from_secs(2);

/// Maximum length of the stored standard error of a program, bytes.
const MAX_ERRORS: usize = 2000;

/// Function that begins a connection.
pub type Dialer = Box<dyn FnMut() -> Result<Connection, RemoteError> + Send>;

/// Bytes in both directions.
pub struct Connection {
    /// Bytes from the other end.
    pub input: Box<dyn Read + Send>,
    /// Bytes to the other end.
    pub output: Box<dyn Write + Send>,
    /// Program that carries the bytes, if one was started for it.
    pub program: Option<Program>,
}

impl Connection {
    /// Starts a program (the first word, with the others as its arguments) and connects to its standard input and output.
    ///
    /// # Errors
    /// The program did not start, as a sentence.
    pub fn through(words: &[OsString]) -> Result<Self, RemoteError> {
        let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let refused = |reason: String| RemoteError::Refused(format!("the connection's program could not be started: {reason}"));
        let [first, rest @ ..] = words else { return Err(refused("none is named".into())) };
        let mut command = Command::new(first);
        command.args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| refused(format!("'{name}': {error}")))?;
        let (Some(input), Some(output), Some(errors)) = (child.stdout.take(), child.stdin.take(), child.stderr.take()) else {
            return Err(refused("it has no pipes".into()));
        };
        let program = Program { name, child, errors: Arc::default() };
        program.collect_errors(errors)?;
        Ok(Self { input: Box::new(input), output: Box::new(output), program: Some(program) })
    }
}

/// Program that carries a connection. Dropping it ends the program.
pub struct Program {
    name: String,
    child: Child,
    /// Last bytes of its standard error.
    errors: Arc<Mutex<VecDeque<u8>>>,
}

impl Program {
    /// Stores the last bytes of the program's standard error, on a thread.
    fn collect_errors(&self, mut input: impl Read + Send + 'static) -> Result<(), RemoteError> {
        let errors = Arc::clone(&self.errors);
        let collect = move || {
            let mut bytes = [0; 256];
            while let Ok(num @ 1..) = input.read(&mut bytes) {
                let mut errors = errors.lock().unwrap_or_else(PoisonError::into_inner);
                errors.extend(&bytes[..num]);
                let excess = errors.len().saturating_sub(MAX_ERRORS);
                errors.drain(..excess);
            }
        };
        Builder::new().name("line errors".into()).spawn(collect)?;
        Ok(())
    }

    /// Ends programs after a common time to exit.
    pub fn end_all(programs: Vec<Self>) {
        let deadline = Instant::now() + EXIT_TIME;
        for mut program in programs {
            program.end_by(deadline);
        }
    }

    /// Waits until the program has exited, and kills it at the deadline.
    fn end_by(&mut self, deadline: Instant) {
        if self.wait(deadline.saturating_duration_since(Instant::now())).is_none() {
            // A program that has exited meanwhile ignores it.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// Returns the exit status if the program exits within this time.
    fn wait(&mut self, time: Duration) -> Option<ExitStatus> {
        let start = Instant::now();
        while start.elapsed() < time {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                Ok(ended) => return ended,
                Err(_) => break,
            }
        }
        None
    }

    /// Returns the program's state and last messages as text, after a short wait. The program may continue: a server waits to be
    /// resumed.
    pub fn text(&mut self) -> String {
        let status = self.wait(LAST_MESSAGE_TIME);
        // The last bytes may still be in the pipe.
        std::thread::sleep(Duration::from_millis(20));
        let errors: Vec<u8> = self.errors.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let errors = String::from_utf8_lossy(&errors);
        let lines: Vec<&str> = errors.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let state = status.map_or_else(|| "continues".to_owned(), |status| format!("ended with {status}"));
        match lines.is_empty() {
            true => format!("'{}' {state} without a message", self.name),
            false => format!("'{}' {state} with the message: {}", self.name, lines.join(" / ")),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end_by(Instant::now() + EXIT_TIME);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn programs_exit_or_are_killed() {
        let begin = |script: &str| {
            let connection = Connection::through(&["sh", "-c", script].map(Into::into)).unwrap();
            connection.program.unwrap()
        };
        let mut programs = Vec::from(["exit 3", "exec sleep 1000", "trap '' TERM; exec sleep 1000"].map(begin));
        let deadline = Instant::now() + Duration::from_millis(50);
        for program in &mut programs {
            program.end_by(deadline);
            assert!(program.child.try_wait().unwrap().is_some(), "still running");
        }
        // Programs that have exited are not waited for.
        Program::end_all(programs);
    }
}
