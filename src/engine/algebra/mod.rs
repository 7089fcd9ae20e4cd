//! Arrays on the device that holds them, the algebra on them, and the images whose coefficients they are.
//!
//! A [`Backend`] holds arrays of two kinds, [`Image`] and [`Data`]; the kernels of one algorithm are a trait of that algorithm.
//! An [`ImageSpace`] is the basis of an image and turns coefficients into voxels: [`Voxels`] are voxels in the order that suits
//! an operator, and a [`VoxelMap`] is a sparse linear map between them. A [`PeerGroup`] divides the data of one reconstruction among several back ends.

mod backend;
mod blob;
mod collective;
mod fov;
mod gpu_limits;
mod host;
mod image_space;
mod peer_group;
mod rendezvous;
mod ring_basis;
mod simd;
mod voxel_map;
mod voxels;

pub use backend::{Backend, BackendError, Data, DeviceImage, Image, Kind, PendingVolume, Rows};
pub use blob::Blob;
pub use collective::{Collective, Shard, Summand};
pub use fov::FieldOfView;
pub use gpu_limits::GpuLimits;
pub use host::{CHUNK, Host, HostArray};
pub use image_space::{ColumnLayout, ImageSpace};
pub use peer_group::PeerGroup;
pub use ring_basis::{RingBasis, RingGrid};
pub use simd::Simd;
pub(crate) use simd::prefetch;
pub use voxel_map::{AlongAxis, Band, InPlane, Varies, VoxelMap, VoxelPlaces};
pub use voxels::{Columns, Voxels};
