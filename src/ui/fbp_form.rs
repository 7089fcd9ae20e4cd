//! The form for filtered backprojection: what the user chose, and the settings that it makes.

use crate::data::Sweep;
use crate::operator::{Interpolation, grid_about_zero};
use crate::recon::{Baseline, Filter, FilterSettings};
use crate::scanner::epri::Order;
use crate::session::{DeviceChoice, PlaneKernel, Stages, SweepSettings, default_sweep_settings};

/// The form's fields.
#[derive(Clone, Debug, PartialEq)]
pub struct FbpForm {
    /// One stage or two.
    pub stages: Stages,
    /// The program for one stage.
    pub kernel: PlaneKernel,
    /// Filter.
    pub filter: Filter,
    /// Part of the frequencies that is kept; `None` = all.
    pub cutoff: Option<f64>,
    /// What is taken off continuous-wave spectra.
    pub baseline: Baseline,
    /// Whether the sweep has such spectra.
    pub is_continuous_wave: bool,
    /// Between samples.
    pub interpolation: Interpolation,
    /// Which projections are used first.
    pub order: Order,
    /// Projections of a step.
    pub block: usize,
    /// Voxels along x, y, z.
    pub size: [usize; 3],
    /// Voxel sides, mm.
    pub voxel_mm: [f64; 3],
    /// Device.
    pub device: DeviceChoice,
}

impl Default for FbpForm {
    /// What stands in the form before there is a sweep.
    fn default() -> Self {
        Self {
            stages: Stages::Single,
            kernel: PlaneKernel::Fast,
            filter: Filter::default(),
            cutoff: None,
            baseline: Baseline::None,
            is_continuous_wave: false,
            interpolation: Interpolation::default(),
            order: Order::AsAcquired,
            block: 16,
            size: [128; 3],
            voxel_mm: [0.3125; 3],
            device: DeviceChoice::Auto,
        }
    }
}

impl FbpForm {
    /// The form for a new sweep: the session's defaults.
    ///
    /// # Errors
    /// The sweep's default grid cannot be made.
    pub fn for_sweep(sweep: &Sweep) -> Result<Self, String> {
        let SweepSettings { stages, kernel, filter, order, block, grid, device, .. } =
            default_sweep_settings(sweep).map_err(|error| error.to_string())?;
        let FilterSettings { filter, cutoff, baseline, interpolation } = filter;
        let is_continuous_wave = sweep.is_continuous_wave();
        let (size, voxel_mm) = (grid.size, grid.voxel_mm);
        Ok(Self {
            stages,
            kernel,
            filter,
            cutoff,
            baseline,
            is_continuous_wave,
            interpolation,
            order,
            block,
            size,
            voxel_mm,
            device,
        })
    }

    /// How projections are filtered.
    pub fn filter_settings(&self) -> FilterSettings {
        FilterSettings { filter: self.filter, cutoff: self.cutoff, baseline: self.baseline, interpolation: self.interpolation }
    }

    /// The settings of a run.
    ///
    /// # Errors
    /// A grid that cannot be; the sentence says why.
    pub fn sweep_settings(&self) -> Result<SweepSettings, String> {
        Ok(SweepSettings {
            stages: self.stages,
            kernel: self.kernel,
            filter: self.filter_settings(),
            order: self.order,
            block: self.block,
            grid: grid_about_zero(self.size, self.voxel_mm).map_err(|error| error.to_string())?,
            device: self.device,
            num_threads: None,
        })
    }
}
