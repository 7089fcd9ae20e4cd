//! Cabello J, Gillam JE, Rafecas M (2012) *High performance 3D PET reconstruction using spherical basis functions on a polar grid*,
//! Int J Biomed Imaging 452910: MLEM with a stored Monte-Carlo matrix of blobs on a GPU, and four ways to write the backprojection.
//!
//! Scanner, blobs, phantoms and iterations are the paper's, as far as it gives them; the matrix is simulated until it has as many
//! elements, the scans until they have as many counts. The mouse is a stand-in of ellipsoids. Where the paper compares with one core
//! of a processor, images here are compared with those of the same device without a race; the processor makes the first iterations.

mod figures;
mod implementation;
mod measure;
mod mouse;
mod plan;
mod published;
mod stages;
mod tables;

pub use stages::Item;

use std::path::PathBuf;

use super::ReproduceError;
use super::folder::Folder;
use super::limits::concrete;
use crate::plan::DeviceChoice;

/// What is to be reproduced.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the paper's GPU rows are measured.
    pub device: DeviceChoice,
    /// A reduced ring and few counts: seconds instead of minutes.
    pub quick: bool,
    /// The matrix of blobs is simulated until it has so many elements; `None` = as many as the paper's.
    pub num_elements: Option<u64>,
    /// The stages to run.
    pub stages: Vec<Item>,
    /// Begins nothing that would probably end later than this, seconds.
    pub budget_secs: Option<f64>,
    /// Where the matrix, scans, measurements, tables and figures go.
    pub folder: PathBuf,
}

/// Measures what the folder does not hold yet, and gives all tables as text. `say` is told what is done and how long
/// each part took.
///
/// # Errors
/// A device that cannot be used, a folder that cannot be written or holds something else.
pub fn reproduce(settings: &Settings, say: &mut dyn FnMut(&str)) -> Result<String, ReproduceError> {
    let plan = plan::Plan::new(settings.quick, settings.num_elements);
    let folder = Folder::open(&settings.folder, &plan)?;
    let device = concrete(settings.device);
    let complete = stages::run(&plan, device, settings, &folder, say)?;
    tables::write(&plan, device, &folder, complete)
}
