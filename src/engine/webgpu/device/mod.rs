//! A GPU: its description, how it is opened, and how long its submissions and kernels last.

pub(super) mod opened;
pub(super) mod pacing;
pub(super) mod probe;
pub(super) mod timing;
pub(super) mod window;
pub(super) mod window_images;
