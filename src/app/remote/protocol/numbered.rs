//! Messages that must arrive: numbered from 1, and stored until the other end has received them.

use std::collections::VecDeque;

use crossbeam_channel::Sender;
use serde::Serialize;

use super::error::RemoteError;
use super::framing::encode;

/// Channel to the thread that writes to a connection.
pub type Output = Sender<Vec<u8>>;

/// Sends a message if there is a connection.
///
/// # Errors
/// Serialisation failed, or the message is too long.
pub fn send(output: Option<&Output>, message: &impl Serialize) -> Result<(), RemoteError> {
    if let Some(output) = output {
        // The reading thread reports a lost connection.
        let _ = output.send(encode(message, &[])?);
    }
    Ok(())
}

/// Sent messages that may have to be resent.
#[derive(Default)]
pub struct Outbox {
    /// Number of messages that the other end has received.
    num_received: u64,
    /// Messages after those, as bytes.
    in_flight: VecDeque<Vec<u8>>,
}

impl Outbox {
    /// Returns the number of the next message.
    pub fn next(&self) -> u64 {
        self.num_received + self.in_flight.len() as u64 + 1
    }

    /// Stores a message, which gets its number, and sends it if there is a connection.
    ///
    /// # Errors
    /// Serialisation failed, or the message is too long.
    pub fn send<M: Serialize>(&mut self, output: Option<&Output>, message: impl FnOnce(u64) -> M) -> Result<(), RemoteError> {
        let bytes = encode(&message(self.next()), &[])?;
        if let Some(output) = output {
            let _ = output.send(bytes.clone());
        }
        self.in_flight.push_back(bytes);
        Ok(())
    }

    /// Discards the messages up to this number, which the other end has received.
    ///
    /// # Errors
    /// They were not sent yet, or were discarded before.
    pub fn received(&mut self, number: u64) -> Result<(), RemoteError> {
        let new = number.checked_sub(self.num_received).filter(|new| *new <= self.in_flight.len() as u64);
        let new = new.ok_or_else(|| RemoteError::invalid(format!("that it has {number} messages, of {}", self.next() - 1)))?;
        self.in_flight.drain(..new as usize);
        self.num_received = number;
        Ok(())
    }

    /// Sends the messages that have not been received, in their order.
    pub fn resend(&self, output: &Output) {
        self.in_flight.iter().for_each(|bytes| _ = output.send(bytes.clone()));
    }
}

/// Number of the last numbered message that arrived.
#[derive(Default)]
pub struct Inbox(pub u64);

impl Inbox {
    /// Returns true if a message is new, and false if it was resent.
    ///
    /// # Errors
    /// A message before it is missing.
    pub fn is_new(&mut self, number: u64) -> Result<bool, RemoteError> {
        if number > self.0 + 1 {
            return Err(RemoteError::invalid(format!("message {number} after message {}", self.0)));
        }
        let is_new = number == self.0 + 1;
        self.0 = self.0.max(number);
        Ok(is_new)
    }
}

#[cfg(test)]
mod tests {
    use crossbeam_channel::unbounded;

    use super::*;

    #[test]
    fn messages_are_resent_until_received_and_taken_once() {
        let mut outbox = Outbox::default();
        let (output, sent) = unbounded();
        for number in 1..=5 {
            assert_eq!(outbox.next(), number);
            outbox.send(Some(&output), |number| number as u8).unwrap();
        }
        let numbers = || sent.try_iter().map(|bytes| bytes[4]).collect::<Vec<_>>();
        assert_eq!(numbers(), [1, 2, 3, 4, 5]);
        outbox.received(2).unwrap();
        outbox.received(2).unwrap();
        outbox.resend(&output);
        assert_eq!(numbers(), [3, 4, 5]);
        assert!(outbox.received(1).is_err() && outbox.received(6).is_err());
        outbox.received(5).unwrap();
        outbox.resend(&output);
        assert_eq!((outbox.next(), numbers().len()), (6, 0));
        let mut inbox = Inbox::default();
        let taken: Vec<_> = [1, 2, 2, 1, 3].map(|number| inbox.is_new(number).unwrap()).into();
        assert_eq!(taken, [true, true, false, false, true]);
        assert!(inbox.is_new(5).is_err() && inbox.is_new(u64::MAX).is_err());
    }
}
