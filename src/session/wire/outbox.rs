//! Messages that must arrive: numbered from 1, and kept until the other end has said that it has them.

use std::collections::VecDeque;

use super::WireError;

/// What is on its way, and may have to be said again.
#[derive(Default)]
pub struct Outbox {
    /// Messages that the other end has.
    num_arrived: u64,
    /// Those after them, as bytes.
    under_way: VecDeque<Vec<u8>>,
}

impl Outbox {
    /// The number of the next message.
    pub fn next(&self) -> u64 {
        self.num_arrived + self.under_way.len() as u64 + 1
    }

    /// Keeps the next message.
    pub fn push(&mut self, bytes: Vec<u8>) {
        self.under_way.push_back(bytes);
    }

    /// The other end has all up to this one.
    ///
    /// # Errors
    /// They were not said yet, or are long gone.
    pub fn arrived(&mut self, number: u64) -> Result<(), WireError> {
        let new = number.checked_sub(self.num_arrived).filter(|new| *new <= self.under_way.len() as u64);
        let new = new.ok_or_else(|| WireError::cannot_be(format!("that it has {number} messages, of {}", self.next() - 1)))?;
        self.under_way.drain(..new as usize);
        self.num_arrived = number;
        Ok(())
    }

    /// Those that have not arrived, in their order.
    pub fn under_way(&self) -> impl Iterator<Item = &Vec<u8>> {
        self.under_way.iter()
    }
}

/// Counts the numbered messages that come: each once, in their order.
#[derive(Default)]
pub struct Inbox(pub u64);

impl Inbox {
    /// Whether a message is new; one that was said twice is not.
    ///
    /// # Errors
    /// One before it is missing.
    pub fn is_new(&mut self, number: u64) -> Result<bool, WireError> {
        if number > self.0 + 1 {
            return Err(WireError::cannot_be(format!("message {number} after message {}", self.0)));
        }
        let is_new = number == self.0 + 1;
        self.0 = self.0.max(number);
        Ok(is_new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_not_arrived_is_said_again_and_taken_once() {
        let mut outbox = Outbox::default();
        for number in 1..=5u8 {
            assert_eq!(outbox.next(), u64::from(number));
            outbox.push(vec![number]);
        }
        outbox.arrived(2).unwrap();
        outbox.arrived(2).unwrap();
        assert_eq!(outbox.under_way().map(|bytes| bytes[0]).collect::<Vec<_>>(), [3, 4, 5]);
        assert!(outbox.arrived(1).is_err() && outbox.arrived(6).is_err());
        outbox.arrived(5).unwrap();
        assert_eq!((outbox.next(), outbox.under_way().count()), (6, 0));
        let mut inbox = Inbox::default();
        let taken: Vec<_> = [1, 2, 2, 1, 3].map(|number| inbox.is_new(number).unwrap()).into();
        assert_eq!(taken, [true, true, false, false, true]);
        assert!(inbox.is_new(5).is_err() && inbox.is_new(u64::MAX).is_err());
    }
}
