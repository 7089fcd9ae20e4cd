//! The engine of tomoscope: phantoms, projectors, system matrices, algorithms and figures of images, on the CPU, CUDA and wgpu.
//!
//! # As a library
//!
//! The engine can be used from Rust without the rest of the program. **This interface is not stable**: any version may change it.
//! A simulated scan, two iterations of OSEM, and the mean in a sphere:
//!
//! ```
//! use std::sync::Arc;
//! use tomoscope_engine::data::{Roi, RoiShape, Volume};
//! use tomoscope_engine::phantom::{self, SimulationOptions};
//! use tomoscope_engine::plan::{self, DeviceChoice, Job, RunSettings};
//! use tomoscope_engine::scanner;
//! use tomoscope_engine::task::Task;
//!
//! let task = Task::new();
//! let geometry = Arc::new(scanner::find("small").ok_or("no such scanner")?.geometry.clone());
//! let cylinder = phantom::by_name("cylinder", &geometry)?;
//! let options = SimulationOptions { counts: 1e6, ..SimulationOptions::default() };
//! let study = Arc::new(phantom::simulate(&cylinder, geometry, &options, &task)?);
//!
//! let settings = RunSettings { device: DeviceChoice::Cpu, ..plan::default_settings(&study.measured)? };
//! let mut image = Volume::filled(settings.grid.clone(), 0.0);
//! let mut prepared = plan::prepare(&Job::of(&study, settings), &task)?;
//! for _ in 0..2 {
//!     prepared.algorithm.iterate(&task)?;
//! }
//! prepared.algorithm.volume_into(&mut image)?;
//!
//! let sphere = Roi::new("centre", RoiShape::Sphere { radius_mm: 10.0 }, [0.0; 3]);
//! let sums = sphere.mask(&image.grid).sums(image.as_slice());
//! println!("{:.3} {}", sums.sum / sums.weight, image.unit.label());
//! # assert!(sums.sum > 0.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`geometry`] has grids, [`data`] measured data and images, [`scanner`] and [`phantom`] the built-in catalogues,
//! [`io`] the file formats, [`measure`] the figures of an image, [`operator`] projectors, [`recon`] algorithms, and [`plan`]
//! makes an algorithm from data and settings.
//!
//! # Structure
//!
//! Modules import only from lower rows; neighbours in a row are independent of each other (`tests/project/layers.rs`):
//!
//! ```text
//! row 0: phantom measure algebra montecarlo
//! row 1: operator
//! row 2: recon
//! row 3: cuda webgpu mpi
//! row 4: plan
//! ```

#![warn(missing_docs)]

pub use tomoscope_base::{coded, data, geometry, named, random, scanner, statistics, task, text};
use tomoscope_fft as fft;
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
