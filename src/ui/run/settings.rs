//! The reconstruction form: what the user chose, and the run settings that it makes.

use std::ops::Range;
use std::sync::Arc;

use crate::data::{BasisKind, Counts, EventList, Frames, PairCounts, ResponseMatrix};
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::plan::{self, AlgorithmKind, DeviceChoice, PairSettings, ProjectorChoice, Rays, RunSettings, SubsetRule};
use crate::recon::SubsetOrder;
use crate::ui::widgets::fields::held_within;

/// The form's fields.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SettingsForm {
    /// Algorithm.
    pub algorithm: AlgorithmKind,
    /// Full iterations.
    pub num_iterations: usize,
    /// Subsets.
    pub num_subsets: usize,
    /// What bounds the subsets of the study.
    #[serde(skip)]
    pub subset_rule: Option<SubsetRule>,
    /// Voxels along x, y, z.
    pub size: [usize; 3],
    /// Voxel sides, mm.
    pub voxel_mm: [f64; 3],
    /// Radius of the field of view, mm; `None` = the inscribed circle.
    pub fov_radius_mm: Option<f64>,
    /// Lines per bin.
    pub rays: Rays,
    /// Projector.
    pub projector: ProjectorChoice,
    /// Device.
    pub device: DeviceChoice,
    /// Accumulation; `None` = the device's default.
    pub accumulation: Option<Accumulation>,
    /// Whether a non-atomic run's sensitivity image is made with the race too.
    pub racy_sensitivity: bool,
    /// Of a list: the frames that are reconstructed one after the other, as they were typed ([`Frames`]); empty: all of it as one.
    pub frames: String,
}

impl Default for SettingsForm {
    /// What stands in the form before there is a study.
    fn default() -> Self {
        Self {
            algorithm: AlgorithmKind::Osem,
            num_iterations: 4,
            num_subsets: 14,
            subset_rule: None,
            size: [128, 128, 47],
            voxel_mm: [4.0, 4.0, 3.27],
            fov_radius_mm: None,
            rays: Rays::Auto,
            projector: ProjectorChoice::Auto,
            device: DeviceChoice::Auto,
            accumulation: None,
            racy_sensitivity: false,
            frames: String::new(),
        }
    }
}

impl SettingsForm {
    /// The frames of a list, ms; none where all of it is one.
    ///
    /// # Errors
    /// The text does not tell frames; the sentence says what is expected.
    pub fn frames(&self) -> Result<Vec<Range<u32>>, String> {
        match self.frames.trim() {
            "" => Ok(Vec::new()),
            text => Ok(text.parse::<Frames>()?.as_slice().to_vec()),
        }
    }

    /// Puts right what a text can hold and the window's fields would not take.
    pub fn put_right(&mut self) {
        self.num_iterations = self.num_iterations.clamp(1, 100_000);
        self.num_subsets = self.num_subsets.clamp(1, 512);
        self.size = self.size.map(|n| n.clamp(1, 2048));
        self.voxel_mm = self.voxel_mm.map(|side| held_within(side, 0.01, 50.0));
        self.fov_radius_mm = self.fov_radius_mm.filter(|radius| radius.is_finite() && *radius > 0.0);
        if let Rays::Fixed { tangential, axial } = &mut self.rays {
            (*tangential, *axial) = ((*tangential).clamp(1, 16), (*axial).clamp(1, 16));
        }
    }

    /// The form for a new study: the defaults, on a grid of `size` voxels where one is asked for.
    ///
    /// # Errors
    /// The study's default grid cannot be made.
    pub fn for_counts(counts: &Counts, size: Option<[usize; 3]>) -> Result<Self, String> {
        let sentence = |error: plan::SetupError| error.to_string();
        let defaults = plan::default_settings(counts).map_err(sentence)?;
        let grid = match size {
            Some(size) => plan::covering_grid(counts.geometry(), size).map_err(sentence)?,
            None => defaults.grid.clone(),
        };
        Ok(Self::of(RunSettings { grid, ..defaults }))
    }

    /// The form for a list of events: the defaults.
    ///
    /// # Errors
    /// The list's grid cannot be made.
    pub fn for_list(list: &EventList) -> Result<Self, String> {
        Ok(Self::of(plan::default_list_settings(list).map_err(|error| error.to_string())?))
    }

    /// With these defaults.
    fn of(defaults: RunSettings) -> Self {
        Self {
            algorithm: defaults.algorithm,
            num_iterations: defaults.num_iterations,
            num_subsets: defaults.num_subsets,
            subset_rule: defaults.subset_rule,
            size: defaults.grid.size,
            voxel_mm: defaults.grid.voxel_mm,
            fov_radius_mm: None,
            rays: defaults.rays,
            projector: defaults.projector,
            device: defaults.device,
            accumulation: defaults.accumulation,
            racy_sensitivity: defaults.racy_sensitivity,
            frames: String::new(),
        }
    }

    /// Takes on the rule of data that have changed: what were defaults by the rule before become those of this one.
    pub fn follow(&mut self, rule: SubsetRule) {
        if let Some(before) = self.subset_rule.replace(rule) {
            if self.num_subsets == before.num_subsets() {
                self.num_subsets = rule.num_subsets();
            }
            if self.num_iterations == before.num_iterations() {
                self.num_iterations = rule.num_iterations();
            }
        }
    }

    /// The form for counts of pairs of crystals: of what is in it MLEM with a stored matrix knows the iterations, the grid on which
    /// images are shown, the device and the accumulation.
    ///
    /// # Errors
    /// The ring's grid cannot be made.
    pub fn for_pairs(pairs: &PairCounts) -> Result<Self, String> {
        let basis = plan::usual_basis(&pairs.ring, BasisKind::Blobs);
        let grid = plan::shown_grid(&pairs.ring, &basis).map_err(|error| error.to_string())?;
        Ok(Self {
            algorithm: AlgorithmKind::Mlem,
            num_iterations: plan::default_num_iterations(1),
            size: grid.size,
            voxel_mm: grid.voxel_mm,
            ..Self::default()
        })
    }

    /// The settings of a run on counts of pairs of crystals with this matrix.
    ///
    /// # Errors
    /// A grid that cannot be; the sentence says why.
    pub fn pair_settings(&self, matrix: Option<Arc<ResponseMatrix>>) -> Result<PairSettings, String> {
        Ok(PairSettings {
            matrix,
            num_iterations: self.num_iterations,
            grid: Grid::centred(self.size, self.voxel_mm).map_err(|error| error.to_string())?,
            device: self.device,
            accumulation: self.accumulation,
            num_threads: None,
            init: None,
        })
    }

    /// The settings of a run.
    ///
    /// # Errors
    /// A grid that cannot be; the sentence says why.
    pub fn run_settings(&self) -> Result<RunSettings, String> {
        let grid = Grid::centred(self.size, self.voxel_mm).map_err(|error| error.to_string())?;
        let fov_radius_mm = self.fov_radius_mm.unwrap_or_else(|| grid.inscribed_radius_mm());
        Ok(RunSettings {
            algorithm: self.algorithm,
            num_iterations: self.num_iterations,
            num_subsets: self.num_subsets,
            subset_rule: self.subset_rule,
            subset_order: SubsetOrder::default(),
            grid,
            fov_radius_mm,
            rays: self.rays,
            projector: self.projector,
            device: self.device,
            accumulation: self.accumulation,
            racy_sensitivity: self.racy_sensitivity,
            threads_per_block: None,
            tubes: None,
            num_threads: None,
            init: None,
            frame_ms: None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_makes_settings_or_says_why_not() {
        let mut form = {
            let geometry = std::sync::Arc::new(crate::scanner::find("small").unwrap().geometry.clone());
            let counts = vec![0.0; geometry.num_bins()];
            let counts = Counts::new(crate::data::Michelogram::new(geometry, counts).unwrap());
            SettingsForm::for_counts(&counts, None).unwrap()
        };
        let settings = form.run_settings().unwrap();
        assert_eq!(settings.grid.size[2], 15);
        assert_eq!(settings.fov_radius_mm, settings.grid.inscribed_radius_mm());
        form.voxel_mm[1] = 0.0;
        assert!(form.run_settings().unwrap_err().contains("voxel size"));
    }
}
