//! Threads that read messages from a connection and write messages to it.

use std::io::{BufReader, Read, Write};
use std::thread::Builder;

use crossbeam_channel::unbounded;
use serde::de::DeserializeOwned;

use super::LAST_MESSAGE_TIME;
use crate::remote::protocol::error::RemoteError;
use crate::remote::protocol::framing::{decode, greet, read_greeting, read_message};
use crate::remote::protocol::numbered::Output;

/// Message with its payload, or the error that ends the connection.
pub type Received<M> = Result<(M, Vec<u8>), RemoteError>;

/// Reads a connection on a thread: first the greeting, unless `is_greeted`, then messages until reading one fails, which is
/// the last call of `receive`. `receive` returns false to end the thread.
///
/// # Errors
/// The system refuses the thread.
pub fn spawn_reader<M: DeserializeOwned + 'static>(
    input: Box<dyn Read + Send>,
    is_greeted: bool,
    mut receive: impl FnMut(Received<M>) -> bool + Send + 'static,
) -> Result<(), RemoteError> {
    let read = move || {
        let mut input = BufReader::new(input);
        let mut greeting = if is_greeted { Ok(()) } else { read_greeting(&mut input) };
        loop {
            let bytes = std::mem::replace(&mut greeting, Ok(())).and_then(|()| read_message(&mut input));
            let message = bytes.and_then(|mut bytes| {
                let (message, payload) = decode(&bytes)?;
                bytes.drain(..bytes.len() - payload.len());
                Ok((message, bytes))
            });
            let is_last = message.is_err();
            if !receive(message) || is_last {
                return;
            }
        }
    };
    Builder::new().name("line in".into()).spawn(read)?;
    Ok(())
}

/// Writes to a connection on a thread: first the greeting, unless `is_greeted`, then each message sent to the returned channel.
/// An error ends the thread and is passed to `fail`.
///
/// # Errors
/// The system refuses the thread.
pub fn spawn_writer(
    mut output: Box<dyn Write + Send>,
    is_greeted: bool,
    fail: impl FnOnce(RemoteError) + Send + 'static,
) -> Result<Output, RemoteError> {
    let (sender, messages) = unbounded::<Vec<u8>>();
    let mut write = move || -> Result<(), RemoteError> {
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
    let work = move || {
        if let Err(error) = write() {
            // The last message of the other end explains more: it is read first.
            std::thread::sleep(LAST_MESSAGE_TIME);
            fail(error);
        }
    };
    Builder::new().name("line out".into()).spawn(work)?;
    Ok(sender)
}
