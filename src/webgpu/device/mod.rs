//! A GPU: its description, how it is opened, and how long its submissions last.

pub(super) mod opened;
pub(super) mod pacing;
pub(super) mod probe;
