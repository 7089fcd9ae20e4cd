//! tomoscope: watch a PET or EPRI image reconstruct live.
//!
//! A scan (or a phantom's simulated scan) is reconstructed on a background thread that streams every iterate to
//! three orthogonal slices, ROI statistics and noise/contrast curves. The same engine runs without a window.
//!
//! Modules stand in rows; a module imports only from lower rows, and neighbours in a row do not know each other.
//! `tests/project/layers.rs` reads this table and enforces it:
//!
//! ```text
//! row 0: coded
//! row 1: geometry task random words
//! row 2: scanner
//! row 3: data
//! row 4: io phantom measure algebra montecarlo
//! row 5: operator
//! row 6: recon
//! row 7: cuda mpi
//! row 8: plan
//! row 9: session render report
//! row 10: ui bench reproduce
//! row 11: cli
//! ```

pub mod algebra;
pub mod bench;
pub mod cli;
pub mod coded;
#[cfg(feature = "cuda")]
pub mod cuda;
pub mod data;
pub mod geometry;
pub mod io;
pub mod measure;
pub mod montecarlo;
#[cfg(feature = "mpi")]
pub mod mpi;
pub mod operator;
pub mod phantom;
pub mod plan;
pub mod random;
pub mod recon;
pub mod render;
pub mod report;
pub mod reproduce;
pub mod scanner;
pub mod session;
pub mod task;
pub mod ui;
pub mod words;
