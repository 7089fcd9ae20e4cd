//! tomoscope: watch a PET or EPRI image reconstruct live.
//!
//! A scan (or a phantom's simulated scan) is reconstructed on a background thread that streams every iterate to three orthogonal
//! slices, ROI statistics and noise/contrast curves. The same engine runs without a window.
//!
//! # As a library
//!
//! The engine of the program can be used from Rust. **This interface is not stable**: any version may change it. A simulated
//! scan, two iterations of OSEM, and the mean in a sphere:
//!
//! ```
//! use std::sync::Arc;
//! use tomoscope::data::{Roi, RoiShape, Volume};
//! use tomoscope::phantom::{self, SimulationOptions};
//! use tomoscope::plan::{self, DeviceChoice, Job, RunSettings};
//! use tomoscope::scanner;
//! use tomoscope::task::Task;
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
//! makes an algorithm from data and settings. The parts of the program around it are public for its tests only, and not in this
//! documentation.
//!
//! # Structure
//!
//! Modules form rows; a module imports only from lower rows, and neighbours in a row are independent of each other.
//! `tests/project/layers.rs` reads this table and enforces it:
//!
//! ```text
//! row 0: coded
//! row 1: geometry task random statistics text
//! row 2: scanner
//! row 3: data
//! row 4: io phantom measure algebra montecarlo
//! row 5: operator pacs
//! row 6: recon
//! row 7: cuda webgpu mpi
//! row 8: plan
//! row 9: session render report
//! row 10: remote bench reproduce
//! row 11: ui
//! row 12: cli
//! ```

pub use tomoscope_base::{coded, data, geometry, random, scanner, statistics, task, text};
#[cfg(feature = "cuda")]
pub use tomoscope_engine::cuda;
#[cfg(feature = "mpi")]
pub use tomoscope_engine::mpi;
pub use tomoscope_engine::{algebra, measure, montecarlo, operator, phantom, plan, recon, webgpu};
pub use tomoscope_formats::{io, pacs};

#[doc(hidden)]
pub mod bench;
#[doc(hidden)]
pub mod cli;
#[doc(hidden)]
pub mod remote;
#[doc(hidden)]
pub mod render;
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod reproduce;
#[doc(hidden)]
pub mod session;
#[doc(hidden)]
pub mod ui;
