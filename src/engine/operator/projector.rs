//! Operators between voxels and the data of a scanner.

use super::shard::ShardOperator;
use super::{EventSpace, LinearOperator, OperatorError, Views};
use crate::algebra::{Backend, PeerGroup, Voxels};

/// A projector between voxels and the views of a scan.
pub trait ViewProjector<B: Backend>: LinearOperator<B> {
    /// The same for the shard of a member of a group: it projects onto its own part of each subset, and its backprojection is
    /// that of all members together.
    ///
    /// # Errors
    /// It does not divide its data.
    fn for_group(self: Box<Self>, group: &PeerGroup) -> Result<ShardOperator<B>, OperatorError>;

    /// Returns its images.
    fn voxels(&self) -> &Voxels;

    /// Returns its data.
    fn views(&self) -> &Views;
}

/// A projector between voxels and single events.
pub trait EventProjector<B: Backend>: LinearOperator<B> {
    /// Returns the same for the shard of a member of a group ([`ViewProjector::for_group`]).
    ///
    /// # Errors
    /// It does not divide its data.
    fn for_group(self: Box<Self>, group: &PeerGroup) -> Result<ShardOperator<B>, OperatorError>;

    /// Returns its images.
    fn voxels(&self) -> &Voxels;

    /// Returns the events of all members.
    fn space(&self) -> &EventSpace;
}
