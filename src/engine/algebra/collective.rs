//! Collective operations of the members of a group, and the part of the work that one of them does.

use std::fmt::Debug;
use std::ops::Range;

use super::BackendError;

/// One of `count` shards of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    /// Which one.
    pub index: usize,
    /// Number of shards.
    pub count: usize,
}

impl Shard {
    /// All data.
    pub const WHOLE: Shard = Shard { index: 0, count: 1 };

    /// Returns its contiguous part of `num` things.
    pub fn of(self, num: usize) -> Range<usize> {
        self.index * num / self.count..(self.index + 1) * num / self.count
    }
}

/// Contribution of a member to a sum over a group, and target of the sum. Its values need not be contiguous.
pub trait Summand {
    /// Returns the number of values.
    fn len(&self) -> usize;

    /// Returns true without values.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// `sum` += the own values from a place on.
    fn add_to(&self, at: usize, sum: &mut [f32]);

    /// Takes the sum from a place on, whose own values are needed no more.
    fn set(&mut self, at: usize, sum: &[f32]);
}

impl Summand for &mut [f32] {
    fn len(&self) -> usize {
        <[f32]>::len(self)
    }

    fn add_to(&self, at: usize, sum: &mut [f32]) {
        sum.iter_mut().zip(&self[at..]).for_each(|(sum, value)| *sum += value);
    }

    fn set(&mut self, at: usize, sum: &[f32]) {
        self[at..at + sum.len()].copy_from_slice(sum);
    }
}

/// Where the members of a group meet. Each has a value of this for itself. Every function is called by all members, in the same
/// order; a member that must stop calls [`Collective::leave`] in place of its next call.
pub trait Collective: Debug + Send + Sync {
    /// Returns the member's shard.
    fn shard(&self) -> Shard;

    /// Returns the values of all members, equally many of each, one member after the other.
    ///
    /// # Errors
    /// A member has left or is out of reach.
    fn gather(&self, values: &[f64]) -> Result<Vec<f64>, BackendError>;

    /// 0, to which each member adds its own, one member after the other.
    ///
    /// # Errors
    /// A member has left or is out of reach.
    fn sum_in_order(&self, own: &mut dyn Summand) -> Result<(), BackendError>;

    /// `values` = their sum over all members, modulo 2^64.
    ///
    /// # Errors
    /// A member has left or is out of reach.
    fn sum_integers(&self, values: &mut [u64]) -> Result<(), BackendError>;

    /// Makes the call of the others that comes next fail. `has_failed`: this member does nothing any more, so that others may
    /// wait for its device as well.
    fn leave(&self, has_failed: bool);

    /// After a member has left, and all others have learnt of it: they can meet again.
    fn begin_again(&self);

    /// Returns true if this process must end: its threads then wait for no others.
    fn is_ending(&self) -> bool {
        false
    }
}
