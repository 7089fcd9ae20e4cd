//! What is open: counts of a PET scan, along lines or of pairs of crystals, its single events, or an EPRI sweep.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use strum::VariantArray as _;

use super::open_list::{Following, OpenList};
use super::open_pairs::OpenPairs;
use super::open_sweep::{Arrivals, OpenSweep};
use super::open_tubes::OpenTubes;
use crate::data::{Counts, Notice, Study};
use crate::operator::Accumulation;
use crate::plan::{Data, ListAcquisition, ListFiles, ScanFiles, SetupProblem, StudyFiles, SubsetRule, scanner_of_tubes};
use crate::scanner::{self, InPlane, Scanner};
use crate::session::Feed;
use crate::ui::study::list_panel::list_facts;
use crate::ui::study::pair_panel::pair_facts;
use crate::ui::study::sweep_facts::sweep_facts;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;

/// The study that is open.
pub struct OpenStudy {
    /// The study.
    pub study: Arc<Study<Data>>,
    /// Voxels along x, y, z that it is best reconstructed on, where they are not the default.
    pub size: Option<[usize; 3]>,
    /// What the window keeps for its kind of data.
    pub data: OpenData,
}

/// What the window keeps for each kind of data.
pub enum OpenData {
    /// Counts along lines.
    Counts(Box<OpenCounts>),
    /// Counts of pairs of crystals.
    Pairs(Box<OpenPairs>),
    /// Single events.
    Events(Box<OpenList>),
    /// An EPRI sweep.
    Sweep(Box<OpenSweep>),
}

/// Counts that are open.
pub struct OpenCounts {
    /// The counts.
    pub counts: Counts,
    /// Their total.
    pub total: f64,
    /// Bound on the number of their subsets.
    pub subset_rule: SubsetRule,
    /// The files that they were read from; `None` for a simulation.
    pub files: Option<ScanFiles>,
    /// Tubes of response for them; `None` = none were made or opened yet.
    pub tubes: Option<Box<OpenTubes>>,
}

impl OpenCounts {
    fn new(counts: Counts, files: Option<ScanFiles>) -> Self {
        let (total, subset_rule) = (counts.prompts.total(), SubsetRule::of_counts(&counts));
        Self { counts, total, subset_rule, files, tubes: None }
    }

    /// Returns the scanner whose tubes of response can be simulated for them.
    ///
    /// # Errors
    /// The scanner has none.
    pub fn scanner_of_tubes(&self) -> Result<&'static Scanner, SetupProblem> {
        scanner_of_tubes(self.counts.geometry())
    }
}

impl OpenStudy {
    /// A study that was read from these files; `None` = it was simulated.
    pub fn new(study: Study<Data>, files: Option<StudyFiles>) -> Self {
        let data = match (&study.measured, files) {
            (Data::Counts(counts), Some(StudyFiles::Counts(files))) => {
                OpenData::Counts(Box::new(OpenCounts::new(counts.clone(), Some(files))))
            }
            (Data::Counts(counts), _) => OpenData::Counts(Box::new(OpenCounts::new(counts.clone(), None))),
            (Data::Pairs(pairs), files) => {
                OpenData::Pairs(Box::new(OpenPairs::new(pairs.clone(), files.map(|files| files.measured().to_owned()))))
            }
            (Data::Events { list, .. }, Some(StudyFiles::Events(files))) => {
                OpenData::Events(Box::new(OpenList::new(list.clone(), files)))
            }
            (Data::Events { list, .. }, files) => {
                let list_file = files.map_or_else(PathBuf::new, |files| files.measured().to_owned());
                OpenData::Events(Box::new(OpenList::new(list.clone(), ListFiles::of(&list_file))))
            }
            (Data::Sweep(acquisition), Some(StudyFiles::Sweep(files))) => {
                OpenData::Sweep(Box::new(OpenSweep::new(acquisition.clone(), Some(files))))
            }
            (Data::Sweep(acquisition), _) => OpenData::Sweep(Box::new(OpenSweep::new(acquisition.clone(), None))),
        };
        Self { study: Arc::new(study), size: None, data }
    }

    /// Returns what a run reconstructs now: while a sweep is replayed, what the replay has shown of it so far.
    pub fn to_reconstruct(&self) -> Arc<Study<Data>> {
        match &self.data {
            OpenData::Sweep(open) if open.is_replay() => self.study_with(Data::Sweep(open.acquisition.clone())),
            _ => Arc::clone(&self.study),
        }
    }

    /// Follows a list that is still being written.
    pub fn follow_list(&mut self, acquisition: ListAcquisition, feed: Feed) {
        if let OpenData::Events(open) = &mut self.data {
            let (list, growing) = (open.list.clone(), Some(acquisition.clone()));
            open.following = Some(Following { acquisition, feed });
            self.set_data(Data::Events { list, growing });
        }
    }

    /// Takes in the events that have arrived of a list that is being written. Returns the notices about it once it is whole.
    pub fn update_list(&mut self) -> Option<Vec<Notice>> {
        let OpenData::Events(open) = &mut self.data else { return None };
        let notices = open.update()?;
        let list = open.list.clone();
        self.set_data(Data::from(list));
        Some(notices)
    }

    /// Returns a number that changes with the need of a run on growing data; `None` where they do not grow.
    pub fn num_received(&self) -> Option<usize> {
        match &self.data {
            // A growing list begins a need of its own at each doubling.
            OpenData::Events(open) if open.following.is_some() => Some(open.counted.num_prompts.next_power_of_two()),
            OpenData::Sweep(open) => Some(open.acquisition.num_complete()),
            OpenData::Counts(_) | OpenData::Pairs(_) | OpenData::Events(_) => None,
        }
    }

    /// Returns the facts about it as names and values.
    pub fn facts(&self) -> Vec<(&'static str, String)> {
        match &self.data {
            OpenData::Counts(open) => counts_facts(open),
            OpenData::Pairs(open) => pair_facts(open),
            OpenData::Events(open) => list_facts(open),
            OpenData::Sweep(open) => sweep_facts(open),
        }
    }

    /// Returns the file with the measured data, wherever it is.
    pub fn measured_file(&self) -> Option<&Path> {
        match &self.data {
            OpenData::Counts(open) => open.files.as_ref().map(|files| &*files.measured),
            OpenData::Events(open) => Some(&open.files.list),
            OpenData::Sweep(open) => open.files.as_ref().map(|files| &*files.projections),
            OpenData::Pairs(_) => None,
        }
    }

    /// Takes other data of the same study.
    fn set_data(&mut self, data: Data) {
        self.study = self.study_with(data);
    }

    fn study_with(&self, data: Data) -> Arc<Study<Data>> {
        Arc::new(Study::clone(&self.study).map(|_| data))
    }

    /// How its projections come.
    pub fn arrivals(&self) -> Arrivals {
        self.sweep().map_or(Arrivals::Over, OpenSweep::arrivals)
    }

    /// Returns its title.
    pub fn title(&self) -> &str {
        &self.study.title
    }

    /// The axes of its image.
    pub fn axes(&self) -> ImageAxes {
        match &self.data {
            OpenData::Counts(_) | OpenData::Pairs(_) | OpenData::Events(_) => ImageAxes::PATIENT,
            OpenData::Sweep(open) => ImageAxes::of(open.space()),
        }
    }

    /// Along how many axes of the view an object is fitted. What a PET scanner sees fills its short z axis.
    pub fn num_fitted(&self) -> usize {
        match &self.data {
            OpenData::Counts(_) | OpenData::Pairs(_) | OpenData::Events(_) => 2,
            OpenData::Sweep(_) => self.axes().shown().len(),
        }
    }

    /// The counts, where they are some.
    pub fn counts(&self) -> Option<&OpenCounts> {
        match &self.data {
            OpenData::Counts(open) => Some(open),
            _ => None,
        }
    }

    /// The counts, to be changed.
    pub fn counts_mut(&mut self) -> Option<&mut OpenCounts> {
        match &mut self.data {
            OpenData::Counts(open) => Some(open),
            _ => None,
        }
    }

    /// The ways to add that its backprojections may know; none where nothing is added by several threads.
    pub fn accumulations(&self) -> &'static [Accumulation] {
        match &self.data {
            OpenData::Counts(_) | OpenData::Events(_) => Accumulation::OF_LINES,
            OpenData::Pairs(_) => Accumulation::VARIANTS,
            OpenData::Sweep(_) => &[],
        }
    }

    /// What a start makes where it has to, in words.
    pub fn made_at_start(&self) -> &'static str {
        match &self.data {
            OpenData::Pairs(_) => "the matrix",
            OpenData::Events(_) => "the sensitivity",
            OpenData::Counts(_) | OpenData::Sweep(_) => "tubes",
        }
    }

    /// The counts of pairs of crystals, where they are some.
    pub fn pairs(&self) -> Option<&OpenPairs> {
        match &self.data {
            OpenData::Pairs(open) => Some(open),
            _ => None,
        }
    }

    /// The counts of pairs of crystals, to be changed.
    pub fn pairs_mut(&mut self) -> Option<&mut OpenPairs> {
        match &mut self.data {
            OpenData::Pairs(open) => Some(open),
            _ => None,
        }
    }

    /// The list of events, where it is one.
    pub fn list(&self) -> Option<&OpenList> {
        match &self.data {
            OpenData::Events(open) => Some(open),
            _ => None,
        }
    }

    /// The list of events, to be changed.
    pub fn list_mut(&mut self) -> Option<&mut OpenList> {
        match &mut self.data {
            OpenData::Events(open) => Some(open),
            _ => None,
        }
    }

    /// The EPRI sweep, where it is one.
    pub fn sweep(&self) -> Option<&OpenSweep> {
        match &self.data {
            OpenData::Sweep(open) => Some(open),
            _ => None,
        }
    }

    /// The EPRI sweep, to be changed.
    pub fn sweep_mut(&mut self) -> Option<&mut OpenSweep> {
        match &mut self.data {
            OpenData::Sweep(open) => Some(open),
            _ => None,
        }
    }
}

fn counts_facts(open: &OpenCounts) -> Vec<(&'static str, String)> {
    let geometry = open.counts.geometry();
    let known = scanner::find_by_originating_system(&geometry.scanner);
    let bins = match geometry.in_plane {
        InPlane::ArcCorrected { .. } => "arc-corrected",
        InPlane::Detectors | InPlane::DetectorPairs => "not arc-corrected",
        InPlane::Heads { .. } => "arc-corrected, rotating heads",
    };
    let (views, tangential, planes) = (geometry.num_views, geometry.num_tangential, geometry.num_planes());
    let files = open.files.as_ref();
    vec![
        ("Scanner", known.map_or_else(|| geometry.scanner.clone(), |scanner| scanner.title.clone())),
        ("Counts", format::count(open.total)),
        ("Bins", format::count(geometry.num_bins() as f64)),
        ("Sampling", format!("{views} views × {tangential} × {planes} planes in {} segments, {bins}", geometry.segments.len())),
        ("Corrections", files.map_or_else(|| corrections(&open.counts), |files| files.corrections(&open.counts))),
    ]
}

fn corrections(counts: &Counts) -> String {
    let parts = [
        counts.multiplicative.as_ref().map(|_| "attenuation and normalisation"),
        counts.additive.as_ref().map(|_| "scatter and randoms"),
    ];
    let words: Vec<&str> = parts.into_iter().flatten().collect();
    if words.is_empty() { "none".into() } else { words.join("; ") }
}
