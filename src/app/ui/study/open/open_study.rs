//! The open study: sinograms, a crystal-pair histogram, list-mode data, or an EPRI acquisition.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use strum::VariantArray as _;

use super::open_images::OpenImages;
use super::open_list::{Following, OpenList};
use super::open_oximetry::OpenOximetry;
use super::open_pairs::OpenPairs;
use super::open_sweep::{Arrivals, OpenSweep};
use super::open_tubes::OpenTubes;
use crate::data::{Counts, Notice, Study};
use crate::operator::Accumulation;
use crate::plan::{Data, ListAcquisition, ListFiles, ScanFiles, SetupProblem, StudyFiles, SubsetRule, scanner_of_tubes};
use crate::remote::RemoteStudy;
use crate::scanner::{self, InPlane, Scanner};
use crate::session::Feed;
use crate::ui::study::image_panel::image_facts;
use crate::ui::study::list_panel::{join_corrections, list_facts};
use crate::ui::study::pair_panel::pair_facts;
use crate::ui::study::sweep_facts::sweep_facts;
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;

pub struct OpenStudy {
    pub study: Arc<Study<Data>>,
    /// Voxels of its image along x, y, z; `None`: the default grid.
    pub size: Option<[usize; 3]>,
    /// State of the window for its kind of data.
    pub data: OpenData,
}

/// State of the window for each kind of data.
pub enum OpenData {
    /// Sinograms.
    Counts(Box<OpenCounts>),
    /// Crystal-pair histogram.
    Pairs(Box<OpenPairs>),
    /// List-mode data.
    Events(Box<OpenList>),
    /// EPRI acquisition.
    Sweep(Box<OpenSweep>),
    /// Acquisitions of pulse oximetry.
    Oximetry(Box<OpenOximetry>),
    /// Images of another program.
    Images(Box<OpenImages>),
}

pub struct OpenCounts {
    pub counts: Counts,
    pub total: f64,
    /// Bound on the number of their subsets.
    pub subset_rule: SubsetRule,
    /// Their files; `None` for a simulation.
    pub files: Option<ScanFiles>,
    /// Calibration in the folder of a scan on a server, Bq/mL of 1 count/mm.
    pub calibration_of_server: Option<f64>,
    pub tubes: Option<Box<OpenTubes>>,
}

impl OpenCounts {
    fn new(counts: Counts, files: Option<ScanFiles>) -> Self {
        let (total, subset_rule) = (counts.prompts.total(), SubsetRule::of_counts(&counts));
        Self { counts, total, subset_rule, files, calibration_of_server: None, tubes: None }
    }

    /// Returns the scanner whose tubes of response can be simulated for them.
    ///
    /// # Errors
    /// The scanner has no tubes.
    pub fn scanner_of_tubes(&self) -> Result<&'static Scanner, SetupProblem> {
        scanner_of_tubes(self.counts.geometry())
    }
}

impl OpenStudy {
    /// Returns the open study of these files; `None`: it was simulated.
    pub fn new(study: Study<Data>, files: Option<StudyFiles>) -> Self {
        let data = match (&study.measured, files) {
            (Data::Counts(counts), files) => {
                let files = files.and_then(|files| if let StudyFiles::Counts(files) = files { Some(files) } else { None });
                OpenData::Counts(Box::new(OpenCounts::new(counts.clone(), files)))
            }
            (Data::Pairs(pairs), files) => {
                OpenData::Pairs(Box::new(OpenPairs::new(pairs.clone(), files.map(|files| files.measured().to_owned()))))
            }
            (Data::Events { list, .. }, files) => {
                let files = match files {
                    Some(StudyFiles::Events(files)) => files,
                    files => ListFiles::of(&files.map_or_else(PathBuf::new, |files| files.measured().to_owned())),
                };
                OpenData::Events(Box::new(OpenList::new(list.clone(), files)))
            }
            (Data::Images(series), files) => {
                let path = files.map(|files| files.measured().to_owned());
                OpenData::Images(Box::new(OpenImages::new(Arc::clone(series), path)))
            }
            (Data::Oximetry(series), files) => {
                let (series, path) = (Arc::clone(series), files.map(|files| files.measured().to_owned()));
                OpenData::Oximetry(Box::new(OpenOximetry { series, path }))
            }
            (Data::Sweep(acquisition), files) => {
                let files = files.and_then(|files| if let StudyFiles::Sweep(files) = files { Some(files) } else { None });
                OpenData::Sweep(Box::new(OpenSweep::new(acquisition.clone(), files)))
            }
        };
        Self { study: Arc::new(study), size: None, data }
    }

    /// Returns an open study with its counts and events on the server.
    pub fn remote(RemoteStudy { study, files, counted, calibration }: RemoteStudy) -> Self {
        let mut open = Self::new(study, Some(files));
        if let (Some(open), Some(counted)) = (open.counts_mut(), counted) {
            (open.total, open.subset_rule) = counted;
            open.calibration_of_server = calibration;
        }
        open
    }

    /// Returns the data of the next run: during a replay the projections so far.
    pub fn to_reconstruct(&self) -> Arc<Study<Data>> {
        match &self.data {
            OpenData::Sweep(open) if open.is_replay() => self.study_with(Data::Sweep(open.acquisition.clone())),
            _ => Arc::clone(&self.study),
        }
    }

    /// Follows a growing file of list-mode data.
    pub fn follow_list(&mut self, acquisition: ListAcquisition, feed: Feed) {
        if let OpenData::Events(open) = &mut self.data {
            let (list, growing) = (open.list.clone(), Some(acquisition.clone()));
            open.following = Some(Following { acquisition, feed });
            self.set_data(Data::Events { list, growing });
        }
    }

    /// Receives new events of a growing file. Returns its notices once it is complete.
    pub fn update_list(&mut self) -> Option<Vec<Notice>> {
        let OpenData::Events(open) = &mut self.data else { return None };
        let notices = open.update()?;
        let list = open.list.clone();
        self.set_data(Data::from(list));
        Some(notices)
    }

    /// Returns a number that changes with the memory requirement of growing data; `None` for complete data.
    pub fn num_received(&self) -> Option<usize> {
        match &self.data {
            // The requirement of growing list-mode data changes at each doubling.
            OpenData::Events(open) if open.following.is_some() => Some(open.counted.num_prompts.next_power_of_two()),
            OpenData::Sweep(open) => Some(open.acquisition.num_complete()),
            OpenData::Counts(_) | OpenData::Pairs(_) | OpenData::Events(_) | OpenData::Oximetry(_) | OpenData::Images(_) => None,
        }
    }

    pub fn facts(&self) -> Vec<(&'static str, String)> {
        match &self.data {
            OpenData::Counts(open) => counts_facts(open),
            OpenData::Pairs(open) => pair_facts(open),
            OpenData::Events(open) => list_facts(open),
            OpenData::Sweep(open) => sweep_facts(open),
            OpenData::Oximetry(open) => open.facts(),
            OpenData::Images(open) => image_facts(open),
        }
    }

    /// Returns the file of the measured data, local or on the server.
    pub fn measured_file(&self) -> Option<&Path> {
        match &self.data {
            OpenData::Counts(open) => open.files.as_ref().map(|files| &*files.measured),
            OpenData::Events(open) => Some(&open.files.list),
            OpenData::Sweep(open) => open.files.as_ref().map(|files| &*files.projections),
            OpenData::Oximetry(open) => open.path.as_deref(),
            OpenData::Images(open) => open.path.as_deref(),
            OpenData::Pairs(_) => None,
        }
    }

    fn set_data(&mut self, data: Data) {
        self.study = self.study_with(data);
    }

    fn study_with(&self, data: Data) -> Arc<Study<Data>> {
        Arc::new(Study::clone(&self.study).map(|_| data))
    }

    pub fn arrivals(&self) -> Arrivals {
        self.sweep().map_or(Arrivals::Over, OpenSweep::arrivals)
    }

    pub fn title(&self) -> &str {
        &self.study.title
    }

    pub fn axes(&self) -> ImageAxes {
        match &self.data {
            OpenData::Counts(_) | OpenData::Pairs(_) | OpenData::Events(_) | OpenData::Images(_) => ImageAxes::PATIENT,
            OpenData::Sweep(open) => ImageAxes::of(open.space()),
            OpenData::Oximetry(open) => ImageAxes::of(open.space()),
        }
    }

    /// Returns the number of axes along which the view fits an object. The field of view of a PET scanner fills its short z axis.
    pub fn num_fitted(&self) -> usize {
        match &self.data {
            OpenData::Counts(_) | OpenData::Pairs(_) | OpenData::Events(_) => 2,
            OpenData::Sweep(_) | OpenData::Oximetry(_) => self.axes().shown().len(),
            OpenData::Images(_) => 3,
        }
    }

    /// Returns the accumulations of its backprojections; none if threads do not share voxels.
    pub fn accumulations(&self) -> &'static [Accumulation] {
        match &self.data {
            OpenData::Counts(_) | OpenData::Events(_) => Accumulation::OF_LINES,
            OpenData::Pairs(_) => Accumulation::VARIANTS,
            OpenData::Sweep(_) | OpenData::Oximetry(_) | OpenData::Images(_) => &[],
        }
    }

    /// Returns the name of the product that a run makes in advance.
    pub fn made_at_start(&self) -> &'static str {
        match &self.data {
            OpenData::Pairs(_) => "the matrix",
            OpenData::Events(_) => "the sensitivity",
            OpenData::Counts(_) | OpenData::Sweep(_) | OpenData::Oximetry(_) | OpenData::Images(_) => "tubes",
        }
    }
}

/// Access to the open data by their kind.
macro_rules! open_data {
    ($($variant:ident($open:ty): $get:ident, $get_mut:ident;)*) => {
        impl OpenStudy {
            $(
                /// Returns the open data if they are of this kind.
                pub fn $get(&self) -> Option<&$open> {
                    if let OpenData::$variant(open) = &self.data { Some(open) } else { None }
                }

                /// Returns the open data for changes if they are of this kind.
                pub fn $get_mut(&mut self) -> Option<&mut $open> {
                    if let OpenData::$variant(open) = &mut self.data { Some(open) } else { None }
                }
            )*
        }
    };
}

open_data! {
    Counts(OpenCounts): counts, counts_mut;
    Pairs(OpenPairs): pairs, pairs_mut;
    Events(OpenList): list, list_mut;
    Sweep(OpenSweep): sweep, sweep_mut;
    Oximetry(OpenOximetry): oximetry, oximetry_mut;
    Images(OpenImages): images, images_mut;
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
    let tof = open.counts.tof_bins().map(|bins| ("Time of flight", bins.text()));
    let facts = vec![
        ("Scanner", known.map_or_else(|| geometry.scanner.clone(), |scanner| scanner.title.clone())),
        ("Counts", format::count(open.total)),
        ("Bins", format::count(geometry.num_bins() as f64)),
        ("Sampling", format!("{views} views × {tangential} × {planes} planes in {} segments, {bins}", geometry.segments.len())),
        ("Corrections", files.map_or_else(|| corrections(&open.counts), |files| files.corrections(&open.counts))),
    ];
    facts.into_iter().chain(tof).collect()
}

fn corrections(counts: &Counts) -> String {
    join_corrections([
        counts.multiplicative.as_ref().map(|_| "attenuation and normalisation".to_owned()),
        counts.additive.as_ref().map(|_| "scatter and randoms".to_owned()),
    ])
}
