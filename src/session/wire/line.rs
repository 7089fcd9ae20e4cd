//! A line between two ends: bytes both ways, through a program that was started for it or through anything else.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io::{BufReader, Read, Write};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use crossbeam_channel::{Sender, unbounded};
use serde::de::DeserializeOwned;

use super::WireError;
use super::framing::{decode, greet, read_greeting, read_message};

/// How long is waited for what a program says when its line breaks.
const LAST_WORDS_TIME: Duration = Duration::from_millis(500);

/// How long a program that was started for a line may take to end by itself once the session is over.
const END_TIME: Duration = Duration::from_secs(2);

/// Characters that are kept of what such a program says.
const MAX_SAID: usize = 2000;

/// Begins a line, each time it is called.
pub type Dial = Box<dyn FnMut() -> Result<Line, WireError> + Send>;

/// Bytes both ways.
pub struct Line {
    /// What comes.
    pub input: Box<dyn Read + Send>,
    /// What goes.
    pub output: Box<dyn Write + Send>,
    /// The program that carries them, if one was started for that.
    pub program: Option<Program>,
}

impl Line {
    /// A line over the standard input and output of a program, the first of these words with the others as its arguments.
    ///
    /// # Errors
    /// It cannot be started, as a sentence.
    pub fn through(words: &[OsString]) -> Result<Self, WireError> {
        let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let refused = |why: String| WireError::Refused(format!("the connection's program could not be started: {why}"));
        let [first, rest @ ..] = words else { return Err(refused("none is named".into())) };
        let mut command = Command::new(first);
        command.args(rest).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().map_err(|error| refused(format!("'{name}': {error}")))?;
        let (input, output, errors) = (child.stdout.take(), child.stdin.take(), child.stderr.take());
        let mut program = Program { name, child, said: Arc::default() };
        let Some(((input, output), errors)) = input.zip(output).zip(errors) else {
            return Err(refused("it has no pipes".into()));
        };
        program.listen(errors)?;
        Ok(Self { input: Box::new(input), output: Box::new(output), program: Some(program) })
    }
}

/// A program that carries a line. It is ended when dropped.
pub struct Program {
    name: String,
    child: Child,
    /// The end of what it said on its standard error.
    said: Arc<Mutex<VecDeque<u8>>>,
}

impl Program {
    /// Keeps what it says on its standard error.
    fn listen(&mut self, mut errors: impl Read + Send + 'static) -> Result<(), WireError> {
        let said = Arc::clone(&self.said);
        let listen = move || {
            let mut bytes = [0; 256];
            while let Ok(num @ 1..) = errors.read(&mut bytes) {
                let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
                said.extend(&bytes[..num]);
                let too_many = said.len().saturating_sub(MAX_SAID);
                said.drain(..too_many);
            }
        };
        Builder::new().name("line errors".into()).spawn(listen)?;
        Ok(())
    }

    /// Ends programs: each gets the same time to end by itself, all of them together.
    pub fn end_all(programs: Vec<Self>) {
        let deadline = Instant::now() + END_TIME;
        for mut program in programs {
            program.end_by(deadline);
        }
    }

    /// Waits until it has ended by itself, and ends it at this time.
    fn end_by(&mut self, deadline: Instant) {
        if self.wait(deadline.saturating_duration_since(Instant::now())).is_none() {
            // It has ended meanwhile, or does now.
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// How it ended, if it does within this time.
    fn wait(&mut self, time: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(10)),
                Ok(ended) => return ended,
                Err(_) => break,
            }
        }
        None
    }

    /// What it said and how it ended, in words. It is given a moment for that, and may go on: where it is the solver's end itself, that
    /// waits to be taken up again.
    pub fn text(&mut self) -> String {
        let status = self.wait(LAST_WORDS_TIME);
        // What it said last may still be on its way through the pipe.
        std::thread::sleep(Duration::from_millis(20));
        let said: Vec<u8> = self.said.lock().unwrap_or_else(PoisonError::into_inner).iter().copied().collect();
        let said = String::from_utf8_lossy(&said);
        let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        let ended = status.map_or_else(|| "continues".to_owned(), |status| format!("ended with {status}"));
        match lines.is_empty() {
            true => format!("'{}' {ended} without a message", self.name),
            false => format!("'{}' {ended} with the message: {}", self.name, lines.join(" / ")),
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.end_by(Instant::now() + END_TIME);
    }
}

/// Reads a line on a thread of its own: first what the other end is, then message after message with what it brings, until one
/// cannot be read, which is told last.
///
/// # Errors
/// The system refuses the thread.
pub fn read_on_a_thread<M: DeserializeOwned + 'static>(
    input: Box<dyn Read + Send>,
    is_greeted: bool,
    mut told: impl FnMut(Result<(M, Vec<u8>), WireError>) -> bool + Send + 'static,
) -> Result<(), WireError> {
    let read = move || {
        let mut input = BufReader::new(input);
        let mut greeting = if is_greeted { Ok(()) } else { read_greeting(&mut input) };
        loop {
            let bytes = std::mem::replace(&mut greeting, Ok(())).and_then(|()| read_message(&mut input));
            let message = bytes.and_then(|mut bytes| {
                let (message, brings) = decode(&bytes)?;
                bytes.drain(..bytes.len() - brings.len());
                Ok((message, bytes))
            });
            let is_last = message.is_err();
            if !told(message) || is_last {
                return;
            }
        }
    };
    Builder::new().name("line in".into()).spawn(read)?;
    Ok(())
}

/// Writes to a line on a thread of its own: first what this end is, then every message sent to it; `broken` is told why it ends
/// before its sender is dropped.
///
/// # Errors
/// The system refuses the thread.
pub fn write_on_a_thread(
    mut output: Box<dyn Write + Send>,
    is_greeted: bool,
    broken: impl FnOnce(WireError) + Send + 'static,
) -> Result<Sender<Vec<u8>>, WireError> {
    let (sender, messages) = unbounded::<Vec<u8>>();
    let write = move || {
        let mut work = || -> Result<(), WireError> {
            if !is_greeted {
                greet(&mut output)?;
            }
            for message in &messages {
                output.write_all(&message)?;
                if messages.is_empty() {
                    output.flush()?;
                }
            }
            Ok(output.flush()?)
        };
        if let Err(error) = work() {
            // What the other end said last tells more: it is read first.
            std::thread::sleep(LAST_WORDS_TIME);
            broken(error);
        }
    };
    Builder::new().name("line out".into()).spawn(write)?;
    Ok(sender)
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn programs_end_by_themselves_or_are_ended() {
        let begin = |script: &str| {
            let line = Line::through(&["sh", "-c", script].map(Into::into)).unwrap();
            line.program.unwrap()
        };
        let mut programs = Vec::from(["exit 3", "exec sleep 1000", "trap '' TERM; exec sleep 1000"].map(begin));
        let deadline = Instant::now() + Duration::from_millis(50);
        for program in &mut programs {
            program.end_by(deadline);
            assert!(program.child.try_wait().unwrap().is_some(), "it continues");
        }
        // Those that are ended already are not waited for.
        Program::end_all(programs);
    }
}
