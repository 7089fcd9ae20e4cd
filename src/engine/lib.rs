//! The engine of tomoscope: phantoms, projectors, system matrices, algorithms and figures of images, on the CPU, CUDA and wgpu.

#![warn(missing_docs)]

pub use tomoscope_base::{coded, data, geometry, random, scanner, statistics, task, text};
pub use tomoscope_formats::io;

pub mod algebra;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod measure;
pub mod montecarlo;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod operator;
pub mod phantom;
pub mod plan;
pub mod recon;
#[doc(hidden)]
pub mod webgpu;
