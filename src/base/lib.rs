//! What all of tomoscope is about: grids and lines, scanners, measured data and images, tasks that can be stopped.

#![warn(missing_docs)]

pub mod coded;
pub mod data;
pub mod geometry;
pub mod random;
pub mod scanner;
pub mod statistics;
pub mod task;
pub mod text;
