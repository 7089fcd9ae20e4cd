//! Herraiz JL et al. (2011) *GPU-based fast iterative reconstruction of fully 3-D PET sinograms* and its predecessor of 2010:
//! OSEM with tubes of response from a Monte-Carlo simulation, on one and more threads of a processor and on GPUs.
//!
//! Sampling and number of subsets are those of 2011. The paper's tubes came from another program, its rat was measured; here
//! tubes and scan are simulated (a Derenzo phantom, photon by photon), so that what is reconstructed owes nothing to the tubes'
//! own model. The report of 2010 does not say with how many subsets, iterations and which field of view it measured its times:
//! they are printed beside times that were measured with ours.

mod edge_rings;
mod measure;
mod plan;
mod published;
mod rods;
mod scanner;
mod sources;
mod stages;
mod tables;

pub use plan::Paper;
pub use stages::Item;

use std::path::PathBuf;

use super::ReproduceError;
use super::folder::Folder;
use super::limits::concrete;
use crate::plan::DeviceChoice;

/// What is to be reproduced.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which of the two.
    pub paper: Paper,
    /// Where the papers' GPU columns are measured; on the processor they are left out.
    pub device: DeviceChoice,
    /// A few views and few counts: seconds instead of minutes.
    pub quick: bool,
    /// The stages to run.
    pub stages: Vec<Item>,
    /// Begins nothing that would probably end later than this, seconds.
    pub budget_secs: Option<f64>,
    /// Where measurements and tables go.
    pub folder: PathBuf,
}

/// Measures what the folder does not hold yet, and gives all tables as text. `say` is told what is done and how long
/// each part took.
///
/// # Errors
/// A device that cannot be used, a folder that cannot be written or holds something else.
pub fn reproduce(settings: &Settings, say: &mut dyn FnMut(&str)) -> Result<String, ReproduceError> {
    let plan = plan::Plan::new(settings.paper, settings.quick);
    let folder = Folder::open(&settings.folder, &plan)?;
    let device = concrete(settings.device);
    let complete = stages::run(&plan, device, settings, &folder, say)?;
    tables::write(&plan, device, &folder, complete)
}
