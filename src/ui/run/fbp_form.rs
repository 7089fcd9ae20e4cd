//! The form for filtered backprojection: what the user chose, and the settings that it makes.

use crate::data::{Sweep, SweepSpace};
use crate::operator::{Interpolation, grid_about_zero};
use crate::plan::{DeviceChoice, PlaneKernel, Stages, SweepSettings, default_sweep_settings};
use crate::recon::{Baseline, Filter, FilterSettings};
use crate::scanner::epri::Order;
use crate::ui::widgets::fields::held_within;

/// The form's fields.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
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
    /// What the sweep leaves to choose from.
    #[serde(skip)]
    pub choices: Choices,
}

/// What a sweep leaves to choose from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Choices {
    /// What it is an image of.
    pub space: SweepSpace,
    /// Whether it has continuous-wave spectra.
    pub is_continuous_wave: bool,
    /// What its samples span, mm.
    pub samples_mm: f64,
    /// Side of the image that it was planned for, mm.
    pub field_of_view_mm: Option<f64>,
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
            interpolation: Interpolation::default(),
            order: Order::AsAcquired,
            block: 16,
            size: [128; 3],
            voxel_mm: [0.3125; 3],
            device: DeviceChoice::Auto,
            choices: Choices::default(),
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
        let choices = Choices {
            space: sweep.space,
            is_continuous_wave: sweep.is_continuous_wave(),
            samples_mm: sweep.extent_mm(),
            field_of_view_mm: sweep.facts.field_of_view_mm,
        };
        let (size, voxel_mm) = (grid.size, grid.voxel_mm);
        Ok(Self { stages, kernel, filter, cutoff, baseline, interpolation, order, block, size, voxel_mm, device, choices })
    }

    /// Puts right what a text can hold and the window's fields would not take.
    pub fn put_right(&mut self) {
        self.block = self.block.clamp(1, 4096);
        self.size = self.size.map(|n| n.clamp(1, 2048));
        self.voxel_mm = self.voxel_mm.map(|side| held_within(side, 1e-3, 50.0));
        self.cutoff = self.cutoff.map(|part| held_within(part, 0.01, 1.0));
    }

    /// How projections are filtered.
    pub fn filter_settings(&self) -> FilterSettings {
        FilterSettings { filter: self.filter, cutoff: self.cutoff, baseline: self.baseline, interpolation: self.interpolation }
    }

    /// Takes other numbers of voxels for the same extent.
    pub fn set_size(&mut self, size: [usize; 3]) {
        let extent_mm: [f64; 3] = std::array::from_fn(|a| self.size[a] as f64 * self.voxel_mm[a]);
        for a in 0..3 {
            if size[a] != self.size[a] {
                self.voxel_mm[a] = extent_mm[a] / size[a].max(1) as f64;
            }
        }
        self.size = size;
    }

    /// Makes the image a cube of this side, of as many voxels as before.
    pub fn set_extent(&mut self, extent_mm: f64) {
        self.voxel_mm = self.size.map(|n| extent_mm / n.max(1) as f64);
    }

    /// The settings of a run.
    ///
    /// # Errors
    /// A grid that cannot be; the sentence says why.
    pub fn sweep_settings(&self) -> Result<SweepSettings, String> {
        let [x, y, z] = self.voxel_mm;
        // A slice is as thick as its pixels are wide.
        let voxel_mm = [x, y, if self.choices.space.is_slice() { x } else { z }];
        Ok(SweepSettings {
            stages: self.stages,
            kernel: self.kernel,
            filter: self.filter_settings(),
            order: self.order,
            block: self.block,
            grid: grid_about_zero(self.size, voxel_mm).map_err(|error| error.to_string())?,
            device: self.device,
            num_threads: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_voxels_changes_their_size_and_not_the_extent() {
        let mut form = FbpForm { size: [128, 64, 32], voxel_mm: [0.5, 1.0, 2.0], ..FbpForm::default() };
        form.set_size([64, 64, 100]);
        assert_eq!((form.size, form.voxel_mm), ([64, 64, 100], [1.0, 1.0, 0.64]));
        form.set_extent(30.0);
        assert_eq!((form.size, form.voxel_mm), ([64, 64, 100], [30.0 / 64.0, 30.0 / 64.0, 0.3]));
    }
}
