//! The reconstruction form: the user's choices, and the run settings that they make.

use std::ops::Range;

use super::sources::{RadicalSource, read_radicals};
use crate::data::{Counts, Frames, Psf, Radical, Sweep, SweepSpace, TofBins};
use crate::geometry::Grid;
use crate::operator::{Accumulation, grid_about_zero};
use crate::plan::{
    self, AlgorithmChoice, Data, DataKind, DeviceChoice, ProjectorChoice, Rays, RunSettings, SetupError, SubsetRule, TofSettings,
    Traits, Value, Values,
};
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::widgets::fields::held_within;

#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct SettingsForm {
    pub algorithm: AlgorithmChoice,
    /// Full iterations.
    pub num_iterations: usize,
    pub num_subsets: usize,
    /// Bound on the subsets of the study.
    #[serde(skip)]
    pub subset_rule: Option<SubsetRule>,
    /// Voxels along x, y, z.
    pub size: [usize; 3],
    pub voxel_mm: [f64; 3],
    /// Radius of the field of view, mm; `None` = the inscribed circle.
    pub fov_radius_mm: Option<f64>,
    /// Rays per LOR.
    pub rays: Rays,
    pub psf: Option<Psf>,
    /// Time of flight of sinograms.
    pub tof: TofSettings,
    pub projector: ProjectorChoice,
    pub device: DeviceChoice,
    /// Accumulation; `None` = the device's default.
    pub accumulation: Option<Accumulation>,
    /// Time frames of list-mode data as typed ([`Frames`]), reconstructed one after the other; empty: all events in one image.
    pub frames: String,
    /// Radicals of total variation, with an image each; none: one radical, with the reference spectrum.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub radicals: Vec<RadicalSource>,
    #[serde(flatten)]
    pub parameters: Values,
    #[serde(skip)]
    pub bounds: Bounds,
    /// Grid of the images that come with the study.
    #[serde(skip)]
    pub preset_grid: Option<Grid>,
}

/// Facts of a study that bound the choices of the form.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    pub traits: Traits,
    /// Space of the image of a sweep.
    pub space: SweepSpace,
    /// Time-of-flight bins of a sinogram.
    pub tof: Option<TofBins>,
    /// Extent of the samples of a sweep, mm.
    pub samples_mm: f64,
    /// Side of the image that a sweep was planned for, mm.
    pub field_of_view_mm: Option<f64>,
}

impl Bounds {
    fn of(data: &Data) -> Self {
        let tof = data.counts().and_then(Counts::tof_bins);
        let of_traits = Self { traits: data.traits(), tof, ..Self::default() };
        let of_sweep = |sweep: &Sweep| Self {
            space: sweep.space,
            samples_mm: sweep.extent_mm(),
            field_of_view_mm: sweep.facts.field_of_view_mm,
            ..of_traits
        };
        let of_series = || data.oximetry()?.sweeps.first().map(of_sweep);
        data.sweep().map(|acquisition| acquisition.look(of_sweep)).or_else(of_series).unwrap_or(of_traits)
    }

    /// True if the study is an EPRI acquisition, or several of pulse oximetry.
    pub fn is_sweep(&self) -> bool {
        matches!(self.traits.kind, DataKind::Sweep | DataKind::Oximetry)
    }
}

impl Default for SettingsForm {
    /// Returns the form before there is a study.
    fn default() -> Self {
        Self {
            algorithm: AlgorithmChoice::OSEM,
            num_iterations: 4,
            num_subsets: 14,
            subset_rule: None,
            size: [128, 128, 47],
            voxel_mm: [4.0, 4.0, 3.27],
            fov_radius_mm: None,
            rays: Rays::Auto,
            psf: None,
            tof: TofSettings::default(),
            projector: ProjectorChoice::Auto,
            device: DeviceChoice::Auto,
            accumulation: None,
            frames: String::new(),
            radicals: Vec::new(),
            parameters: Values::default(),
            bounds: Bounds::default(),
            preset_grid: None,
        }
    }
}

pub fn psf_text(psf: &Option<Psf>) -> String {
    psf.as_ref().map_or_else(|| "none".to_owned(), Psf::to_string)
}

impl SettingsForm {
    /// Returns the time frames of list-mode data, ms; none for all events in one image.
    ///
    /// # Errors
    /// The text is no list of frames; the error is a sentence on the expected format.
    pub fn frames(&self) -> Result<Vec<Range<u32>>, String> {
        match self.frames.trim() {
            "" => Ok(Vec::new()),
            text => Ok(text.parse::<Frames>()?.as_slice().to_vec()),
        }
    }

    /// Returns true if the data are reconstructed along lines.
    pub fn has_lines(&self) -> bool {
        matches!(self.bounds.traits.kind, DataKind::Projections | DataKind::Events)
    }

    /// Returns true if the next run can separate radicals.
    pub fn has_radicals(&self) -> bool {
        self.bounds.traits.kind == DataKind::Sweep && self.algorithm.is_least_squares()
    }

    /// Reads the spectra of the radicals of the next run.
    ///
    /// # Errors
    /// Those of [`read_radicals`].
    pub fn read_radicals(&self) -> Result<Vec<Radical>, String> {
        if self.has_radicals() { read_radicals(&self.radicals) } else { Ok(Vec::new()) }
    }

    /// Corrects values of a file that the fields of the window would not accept.
    pub fn sanitize(&mut self) {
        self.num_iterations = self.num_iterations.clamp(1, 100_000);
        self.num_subsets = self.num_subsets.clamp(1, 512);
        self.size = self.size.map(|n| n.clamp(1, 2048));
        self.voxel_mm = self.voxel_mm.map(|side| held_within(side, 1e-3, 50.0));
        self.fov_radius_mm = self.fov_radius_mm.filter(|radius| radius.is_finite() && *radius > 0.0);
        if let Rays::Fixed { tangential, axial } = &mut self.rays {
            (*tangential, *axial) = ((*tangential).clamp(1, 16), (*axial).clamp(1, 16));
        }
        self.tof.mash = self.tof.mash.max(1);
        self.psf = self.psf.take().and_then(|psf| psf.checked().ok());
        // Until version 0.1 the form of a sweep had its stages in place of an algorithm.
        if let Some(Value::Name(stages)) = self.parameters.take("stages") {
            self.algorithm = if stages == "two" { AlgorithmChoice::FBP_MULTISTAGE } else { AlgorithmChoice::FBP };
        }
        self.parameters.keep(&self.algorithm.settings());
    }

    /// Returns the form for a study: the defaults, on the preferred grid of the study.
    ///
    /// # Errors
    /// Making the default grid of the study failed.
    pub fn for_study(open: &OpenStudy) -> Result<Self, String> {
        let text = |error: SetupError| error.to_string();
        let data = &open.study.measured;
        let mut settings = data.default_settings().map_err(text)?.with_preset(&open.study);
        let preset_grid = open.study.preset.as_ref().map(|_| settings.grid.clone());
        if let (Some(counts), Some(size)) = (data.counts(), open.size) {
            settings.grid = plan::covering_grid(counts.geometry(), size).map_err(text)?;
        }
        let mut form = Self {
            algorithm: settings.algorithm,
            num_iterations: settings.num_iterations,
            num_subsets: settings.num_subsets,
            subset_rule: settings.subset_rule,
            size: settings.grid.size,
            voxel_mm: settings.grid.voxel_mm,
            parameters: settings.parameters,
            bounds: Bounds::of(data),
            preset_grid,
            ..Self::default()
        };
        if let Some(sweep) = open.sweep().filter(|sweep| !sweep.radicals.is_empty()) {
            form.set_algorithm(AlgorithmChoice::TV);
            form.radicals = sweep.radicals.iter().map(RadicalSource::of_found).collect();
        }
        Ok(form)
    }

    /// Takes on the rule of data that have changed: defaults by the rule before become those of this one.
    pub fn follow(&mut self, rule: SubsetRule) {
        if let Some(before) = self.subset_rule.replace(rule) {
            if self.num_subsets == before.num_subsets_of(self.algorithm) {
                self.num_subsets = rule.num_subsets_of(self.algorithm);
            }
            if self.num_iterations == before.num_iterations() {
                self.num_iterations = rule.num_iterations();
            }
        }
    }

    /// Takes another algorithm; values of parameters that it shares with the one before stay, and the default number of subsets becomes
    /// its own.
    pub fn set_algorithm(&mut self, algorithm: AlgorithmChoice) {
        if let Some(rule) = self.subset_rule.filter(|rule| rule.num_subsets_of(self.algorithm) == self.num_subsets) {
            self.num_subsets = rule.num_subsets_of(algorithm);
        }
        let [before, default] = [self.algorithm, algorithm].map(AlgorithmChoice::default_iterations);
        if before != default {
            let by_subsets = || self.subset_rule.map_or(self.num_iterations, SubsetRule::num_iterations);
            self.num_iterations = default.unwrap_or_else(by_subsets);
        }
        self.algorithm = algorithm;
        self.parameters.keep(&algorithm.settings());
    }

    /// Takes other numbers of voxels; those of a sweep fill the same extent.
    pub fn set_size(&mut self, size: [usize; 3]) {
        if self.bounds.is_sweep() {
            for a in (0..3).filter(|a| size[*a] != self.size[*a]) {
                self.voxel_mm[a] *= self.size[a] as f64 / size[a].max(1) as f64;
            }
        }
        self.size = size;
    }

    /// Makes the image a cube of this side, of as many voxels as before.
    pub fn set_extent(&mut self, extent_mm: f64) {
        self.voxel_mm = self.size.map(|n| extent_mm / n.max(1) as f64);
    }

    /// Returns the settings of a run.
    ///
    /// # Errors
    /// The grid is invalid; the error is the reason as a sentence.
    pub fn run_settings(&self) -> Result<RunSettings, String> {
        let [x, y, z] = self.voxel_mm;
        let grid = match self.bounds.is_sweep() {
            // A slice is as thick as its pixels are wide.
            true => grid_about_zero(self.size, [x, y, if self.bounds.space.is_slice() { x } else { z }]),
            false => Grid::centred(self.size, self.voxel_mm),
        };
        let grid = grid.map_err(|error| error.to_string())?;
        // Images of other programs need not lie about the axis.
        let preset_grid = self.preset_grid.clone();
        let grid = preset_grid.filter(|preset| (preset.size, preset.voxel_mm) == (grid.size, grid.voxel_mm)).unwrap_or(grid);
        Ok(RunSettings {
            parameters: self.parameters.clone(),
            num_iterations: self.num_iterations,
            num_subsets: self.num_subsets,
            subset_rule: self.subset_rule,
            fov_radius_mm: self.fov_radius_mm.unwrap_or_else(|| grid.inscribed_radius_mm()),
            rays: self.rays,
            psf: self.psf.clone().filter(|_| self.has_lines()),
            tof: self.tof,
            projector: self.projector,
            device: self.device,
            accumulation: self.accumulation,
            ..RunSettings::new(self.algorithm, grid)
        })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::data::{Michelogram, Study};

    #[test]
    fn a_form_makes_settings_or_says_why_not() {
        let geometry = Arc::new(crate::scanner::find("small").unwrap().geometry.clone());
        let counts = vec![0.0; geometry.num_bins()];
        let study = Study::new("empty", Data::from(Counts::new(Michelogram::new(geometry, counts).unwrap())));
        let mut form = SettingsForm::for_study(&OpenStudy::new(study, None)).unwrap();
        let settings = form.run_settings().unwrap();
        assert_eq!(settings.grid.size[2], 15);
        assert_eq!(settings.fov_radius_mm, settings.grid.inscribed_radius_mm());
        form.voxel_mm[1] = 0.0;
        assert!(form.run_settings().unwrap_err().contains("voxel size"));
    }

    #[test]
    fn the_number_of_voxels_of_a_sweep_changes_their_size_and_not_the_extent() {
        let bounds = Bounds { traits: Traits { kind: DataKind::Sweep, ..Traits::default() }, ..Bounds::default() };
        let mut form = SettingsForm { size: [128, 64, 32], voxel_mm: [0.5, 1.0, 2.0], bounds, ..SettingsForm::default() };
        form.set_size([64, 64, 100]);
        assert_eq!((form.size, form.voxel_mm), ([64, 64, 100], [1.0, 1.0, 0.64]));
        form.set_extent(30.0);
        assert_eq!((form.size, form.voxel_mm), ([64, 64, 100], [30.0 / 64.0, 30.0 / 64.0, 0.3]));
    }
}
