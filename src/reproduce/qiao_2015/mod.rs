//! Qiao Z, Redler G, Epel B, Qian Y, Halpern H (2015) *Implementation of GPU-accelerated back projection for EPR imaging*,
//! J X-Ray Sci Technol 23(4), doi:10.3233/XST-150498: filtered backprojection in three dimensions on a GPU (GS), compared
//! with a plain loop (CS) and with two stages of two dimensions (CM) on a processor.
//!
//! The object sizes, the number of projections and the programs are the paper's; its bottle was measured, here it is
//! simulated. The paper gives neither the number of samples of a projection nor the threads of its programs for the
//! processor: here there are 128 samples, and CS and CM have one thread. Filtering and resampling are not part of any time,
//! as in the paper.

mod figures;
mod limits;
mod measure;
mod plan;
mod program;
mod published;
mod ready;
mod stages;
mod tables;
mod times;

pub use stages::Item;

use std::path::PathBuf;

use super::ReproduceError;
use super::folder::Folder;
use super::limits::concrete;
use crate::plan::DeviceChoice;

/// What is to be reproduced.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where the paper's GPU columns are measured; on the processor they are left out.
    pub device: DeviceChoice,
    /// Two small objects: seconds instead of a minute.
    pub quick: bool,
    /// The stages to run.
    pub stages: Vec<Item>,
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
    tables::write(&plan, device, &folder, complete)
}
