//! Belzunce MA, Verrastro CA, Venialgo E, Cohen IM (2012) *Cuda Parallel Implementation of Image Reconstruction Algorithm
//! for Positron Emission Tomography*, Open Med Imaging J 6:108: MLEM with Siddon's projector on a GPU, one thread per
//! bin, with and without atomic additions in the backprojection.
//!
//! The scanner, the images and the number of iterations are the paper's. Its cylinder and its brain were measured; here
//! they are simulated, the cylinder with so many counts that its noise is the paper's. Times of a projector that is too
//! slow here are taken from every 28th view and marked.

mod figures;
mod implementation;
mod limits;
mod measure;
mod plan;
mod published;
mod quality;
mod stages;
mod studies;
mod tables;
mod warps;

pub use quality::{NsrReading, Readings};
pub use stages::Item;

use std::path::PathBuf;

use super::ReproduceError;
use super::folder::Folder;
use super::limits::concrete;
use crate::plan::DeviceChoice;

/// What is to be reproduced.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the paper's GPU columns are measured.
    pub device: DeviceChoice,
    /// A small scanner and small images: seconds instead of minutes.
    pub quick: bool,
    /// The stages to run.
    pub stages: Vec<Item>,
    /// How regions are read where the text leaves it open.
    pub readings: Readings,
    /// Begins nothing that would probably end later than this, seconds.
    pub budget_secs: Option<f64>,
    /// Where measurements, tables and figures go.
    pub folder: PathBuf,
}

/// Measures what the folder does not hold yet, and gives all tables as text. `say` is told what is done and how long
/// each part took.
///
/// # Errors
/// A device that cannot be used, a folder that cannot be written or holds something else.
pub fn reproduce(settings: &Settings, say: &mut dyn FnMut(&str)) -> Result<String, ReproduceError> {
    let plan = plan::Plan::new(settings.quick);
    let folder = Folder::open(&settings.folder, &plan)?;
    let device = concrete(settings.device);
    let complete = stages::run(&plan, device, settings, &folder, say)?;
    tables::write(&plan, device, &settings.readings, &folder, complete)
}
