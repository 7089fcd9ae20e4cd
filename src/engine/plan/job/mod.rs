//! Job: data and the settings of a run. Also the description of a run after its setup.

pub mod acquisition;
pub mod data;
pub mod defaults;
pub mod facts;
pub mod replicates;
pub mod settings;
pub mod subsets;

use std::ops::Range;
use std::sync::Arc;

use self::data::Data;
use self::settings::RunSettings;
use self::subsets::{SubsetRule, default_num_iterations};
use crate::data::{FieldAxis, FrameTime, Notice, Study};
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::plan::algorithms::penalised::{AUTO, BETA, KAPPA, KAPPA_OF_FILE};
use crate::plan::algorithms::registry::FbpMethod;
use crate::plan::algorithms::total_variation::tv_settings;
use crate::plan::device::memory::DeviceMemory;
use crate::plan::iteration_scheme::IterationScheme;
use crate::recon::Estimate;
use crate::text::counted;

/// Data to reconstruct, and settings.
#[derive(Clone, Debug)]
pub struct Job {
    /// The measured data.
    pub study: Arc<Study<Data>>,
    /// Settings of the run.
    pub settings: Box<RunSettings>,
}

impl Job {
    /// Returns a study of any kind with the settings of its run. An algorithm that climbs begins at the start image of the study, if
    /// the settings have none and it has their grid, and with its κ, if they have that of no other file.
    pub fn new(study: Arc<Study<Data>>, mut settings: RunSettings) -> Self {
        if settings.inputs.init.is_none() && settings.algorithm.has_penalty() {
            let start = study.preset.as_ref().and_then(|preset| preset.start.clone());
            settings.inputs.init = start.filter(|start| start.grid.same_as(&settings.grid));
        }
        if settings.inputs.kappa.is_none() && settings.parameters.is(&KAPPA, KAPPA_OF_FILE) {
            settings.inputs.kappa = study.preset.as_ref().and_then(|preset| preset.kappa.clone());
        }
        Self { study, settings: Box::new(settings) }
    }

    /// Returns a study with data of one kind.
    pub fn of<M: Clone + Into<Data>>(study: &Study<M>, settings: RunSettings) -> Self {
        Self::new(Arc::new(study.clone().map(M::into)), settings)
    }

    /// Returns the data.
    pub fn data(&self) -> &Data {
        &self.study.measured
    }

    /// Returns the grid of the image.
    pub fn grid(&self) -> &Grid {
        &self.settings.grid
    }

    /// Returns the fields of the spectra that the run finds in each voxel, if it does.
    pub fn spectral_axis(&self) -> Option<FieldAxis> {
        let RunSettings { algorithm, parameters, .. } = &*self.settings;
        let spectrum = tv_settings(parameters).spectrum.filter(|_| algorithm.is_least_squares())?;
        self.data().sweep()?.look(|sweep| spectrum.axis(sweep))
    }

    /// Returns true if the run finds the strength of its penalty.
    pub fn finds_strength(&self) -> bool {
        let RunSettings { algorithm, parameters, .. } = &*self.settings;
        if algorithm.is_least_squares() { tv_settings(parameters).is_by_noise() } else { parameters.is(&BETA, AUTO) }
    }

    /// Returns what its steps are called and counted by.
    pub fn iteration_scheme(&self) -> IterationScheme {
        self.data().iteration_scheme(self.settings.algorithm)
    }

    /// Returns the full iterations to do; of what may grow one, which is all of it.
    pub fn num_iterations(&self) -> usize {
        if self.iteration_scheme().by_iteration { self.settings.num_iterations } else { 1 }
    }

    /// Returns the same job of one frame of a list, ms.
    pub fn in_frame(mut self, frame_ms: Range<u32>) -> Self {
        self.settings.frame_ms = Some(frame_ms);
        self
    }

    /// Returns the frame of list-mode data that is reconstructed, ms, selected by the settings or at reading; `None` = all events.
    pub fn frame_ms(&self) -> Option<&Range<u32>> {
        self.data().frame_ms(self.settings.frame_ms.as_ref())
    }

    /// Returns the true limits of the frame that is reconstructed; `None` = all events.
    pub fn frame_time(&self) -> Option<FrameTime> {
        Some(self.data().events()?.frame_time(self.frame_ms()?))
    }

    /// Returns the share of the scan's time that the data are of; `None` where that is not known: of a frame of a list without a
    /// duration, and of a list that is still being written.
    pub fn share_of_scan(&self) -> Option<f64> {
        self.data().facts().share_of_scan(self.frame_ms())
    }

    /// Returns the duration of the scan or of the frame that is reconstructed, s, if the data contain it.
    pub fn duration_secs(&self) -> Option<f64> {
        self.data().duration_secs(self.settings.frame_ms.as_ref())
    }

    /// Returns the same job to this number of full iterations; a sweep has one.
    pub fn until(mut self, num_iterations: usize) -> Self {
        self.settings.num_iterations = num_iterations;
        self
    }

    /// Returns true if all is done in one step (two stages): it stores nothing before its end, and a stop interrupts it.
    pub fn is_one_step(&self) -> bool {
        self.settings.algorithm.stages() == Some(FbpMethod::Two)
    }

    /// Returns the notice that the data do not support this number of subsets.
    pub fn subset_notice(&self) -> Option<Notice> {
        if self.settings.algorithm.has_penalty() {
            return None;
        }
        self.settings.subset_rule?.notice(self.settings.subsets_in_use())
    }

    /// Returns the notice that few counts in a frame lower the subsets of all.
    pub fn notice_of_frames(&self) -> Option<Notice> {
        let settings = &self.settings;
        let schedule = format!("{} × {}", counted(settings.num_subsets, "subset"), counted(settings.num_iterations, "iteration"));
        let text = |reason| format!("all frames: {schedule}; the frame with the fewest counts has {reason}");
        settings.why_subsets().map(|reason| Notice::info(text(reason)))
    }

    /// Returns the same job for these frames of a list, ms: where subsets and iterations are the defaults of the whole they become those
    /// of its frames, which are all alike, so that their images can be compared.
    pub fn for_frames(mut self, frames_ms: &[Range<u32>]) -> Self {
        let settings = &mut self.settings;
        if let Some(list) = self.study.measured.events()
            && let Some(of_whole) = settings.subset_rule
            && let Some(rule) = SubsetRule::of_frames(list, frames_ms)
        {
            if settings.num_subsets == of_whole.num_subsets_of(settings.algorithm) {
                settings.num_subsets = rule.num_subsets_of(settings.algorithm);
            }
            if settings.num_iterations == of_whole.num_iterations() {
                settings.num_iterations = default_num_iterations(settings.subsets_in_use());
            }
            settings.subset_rule = Some(rule);
        }
        self
    }
}

/// Description of a run after its setup.
#[derive(Clone, Debug)]
pub struct StartInfo {
    /// Device in words ("CPU, 2 threads, AVX-512").
    pub device: String,
    /// Projector in use ("axial-runs", "per-lor").
    pub projector: String,
    /// Subiterations of a full iteration; of a sweep its projections, as far as they are known; of events that arrive 1.
    pub num_subsets: usize,
    /// Accumulation in use.
    pub accumulation: Accumulation,
    /// Accumulations that can be switched to.
    pub accumulations: &'static [Accumulation],
    /// Memory and time.
    pub estimate: Estimate,
    /// Memory that it uses of each device of this machine.
    pub memory: Vec<DeviceMemory>,
    /// The job, with the settings as they were used.
    pub job: Job,
}
