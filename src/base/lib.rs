//! Grids and lines, scanners, measured data and images, tasks that can be stopped.
//!
//! Modules import only from lower rows; neighbours in a row are independent of each other (`tests/project/layers.rs`):
//!
//! ```text
//! row 0: coded hypot text
//! row 1: geometry named random statistics task
//! row 2: scanner
//! row 3: data
//! ```

#![warn(missing_docs)]

pub mod coded;
pub mod data;
pub mod geometry;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod hypot;
pub mod named;
pub mod random;
pub mod scanner;
pub mod statistics;
pub mod task;
pub mod text;
