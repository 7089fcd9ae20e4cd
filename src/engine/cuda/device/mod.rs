//! The GPUs themselves: which there are, their textures, and how several become a group.

pub mod driver;
pub mod nccl;
pub mod pacing;
pub mod peers;
pub mod probe;
pub mod texture;
pub mod timing;
