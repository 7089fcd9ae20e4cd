//! The scans: the NEMA image-quality phantom as in the paper, simulated stand-ins for its measured cylinder and brain.

use super::implementation::{Implementation, PaperColumn};
use super::measure::{Extent, reconstruct};
use super::plan::Plan;
use super::published;
use super::quality::{background_mean, cylinder_nsr, iq_mean};
use crate::data::{Counts, Michelogram, Study};
use crate::operator::{Misfit, OperatorError, Subset};
use crate::phantom::{self, Noise, Phantom, SimulationOptions};
use crate::plan::{ProjectorChoice, ProjectorSettings, Rays, choose_projector, rays_per_bin};
use crate::reproduce::prelude::*;
use crate::scanner::ScanGeometry;

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Scan {
    /// The image-quality phantom without noise, by exact integrals.
    Iq,
    /// The same with Poisson noise.
    IqNoisy,
    /// The image-quality phantom without noise, made of the large voxels of the first image and projected.
    IqVoxels,
    /// The uniform cylinder, its counts chosen for the paper's noise.
    Cylinder,
    Brain,
}

/// The search for the cylinder's counts.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CylinderCounts {
    /// Expected counts found.
    pub counts: f64,
    /// (counts, noise-to-signal ratio) of each try, the last one accepted.
    pub tries: Vec<(f64, f64)>,
}

/// Relative deviation of the noise at which the search ends.
const NSR_TOLERANCE: f64 = 0.01;
const MAX_TRIES: usize = 10;

impl Scan {
    /// Name in keys of measurements.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Name in tables.
    pub fn title(self) -> &'static str {
        match self {
            Scan::Iq => "IQ, no noise",
            Scan::IqNoisy => "IQ, Poisson noise",
            Scan::IqVoxels => "IQ of large voxels, no noise",
            Scan::Cylinder => "cylinder",
            Scan::Brain => "brain-like",
        }
    }

    fn phantom_name(self) -> &'static str {
        match self {
            Scan::Iq | Scan::IqNoisy | Scan::IqVoxels => "nema-iq-2001",
            Scan::Cylinder => "cylinder",
            Scan::Brain => "brain-like",
        }
    }

    /// Returns the phantom, small enough for every image.
    pub fn phantom(self, plan: &Plan) -> Result<Phantom, ReproduceError> {
        let geometry = plan.geometry()?;
        let fov_radius_mm = geometry.fov_radius_mm.min(plan.quality_image().fov_radius_mm());
        Ok(phantom::by_name(self.phantom_name(), &ScanGeometry { fov_radius_mm, ..(*geometry).clone() })?)
    }

    /// Returns the mean of the uniform part of its phantom in an image.
    pub fn uniform_mean(self, phantom: &Phantom, volume: &Volume) -> Option<f64> {
        match self {
            Scan::Iq | Scan::IqNoisy | Scan::IqVoxels => iq_mean(phantom, volume),
            Scan::Cylinder | Scan::Brain => background_mean(phantom, volume),
        }
    }

    /// Simulates the scan with a number of expected counts.
    pub fn simulate(self, plan: &Plan, counts: f64) -> Result<Arc<Study<Counts>>, ReproduceError> {
        let geometry = plan.geometry()?;
        let phantom = self.phantom(plan)?;
        let noise = if matches!(self, Scan::Iq | Scan::IqVoxels) { Noise::None } else { Noise::Poisson };
        let mut options = SimulationOptions { counts, noise, seed: plan.seed, ..SimulationOptions::default() };
        if self == Scan::IqVoxels {
            options.truth_grid = Some(plan.images[0].grid()?);
        }
        let mut study = phantom::simulate(&phantom, geometry, &options, &Task::new())?;
        if self == Scan::IqVoxels {
            study.measured.prompts = projected_truth(&study, plan.images[0].fov_radius_mm())?;
        }
        Ok(Arc::new(study))
    }
}

/// Returns the projection of the true image's voxels.
fn projected_truth(study: &Study<Counts>, fov_radius_mm: f64) -> Result<Michelogram, ReproduceError> {
    let (geometry, Some(truth)) = (study.measured.geometry(), &study.truth) else { return Ok(study.measured.prompts.clone()) };
    let [_, axial] = rays_per_bin(geometry, &truth.grid, fov_radius_mm, Rays::Auto);
    let settings = ProjectorSettings {
        grid: truth.grid.clone(),
        fov_radius_mm,
        rays: Rays::Fixed { tangential: 1, axial },
        projector: ProjectorChoice::AXIAL_RUNS,
        device: DeviceChoice::Cpu,
        threads_per_block: None,
        tubes: None,
        psf: None,
        tof: None,
        may_resample: false,
    };
    let mut system = choose_projector(geometry, &settings)?.system;
    let counts = system.project(Subset::ALL, truth, &Task::new())?;
    Michelogram::new(Arc::clone(geometry), counts).map_err(|error| OperatorError::from(Misfit::from(error)).into())
}

/// Searches the counts at which the cylinder has the paper's noise after all iterations. The noise falls about as the root of the
/// counts, and each try corrects the last.
pub fn cylinder_of_nsr(plan: &Plan) -> Result<CylinderCounts, ReproduceError> {
    let target = published::of(published::NSR, PaperColumn::I7).map_or(0.05, |[nsr, _]| 0.01 * nsr);
    let phantom = Scan::Cylinder.phantom(plan)?;
    let extent = Extent { num_steps: plan.num_iterations, view_step: 1 };
    let (mut counts, mut tries) = (plan.cylinder_counts, Vec::new());
    while tries.len() < MAX_TRIES {
        let study = Scan::Cylinder.simulate(plan, counts)?;
        let found = reconstruct("", &study, plan.quality_image(), &Implementation::reference(), extent)?;
        let Some(nsr) = found.and_then(|(_, volume)| cylinder_nsr(&phantom, &volume)) else { break };
        tries.push((counts, nsr));
        if (nsr / target - 1.0).abs() < NSR_TOLERANCE {
            break;
        }
        counts *= (nsr / target).powi(2);
    }
    Ok(CylinderCounts { counts, tries })
}
