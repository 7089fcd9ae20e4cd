//! What is open: counts of a PET scan, along lines or of pairs of crystals, its single events, or an EPRI sweep.

use std::sync::Arc;

use strum::VariantArray as _;

use super::open_list::OpenList;
use super::open_pairs::OpenPairs;
use super::open_sweep::{Arrivals, OpenSweep};
use super::open_tubes::OpenTubes;
use crate::data::{Counts, Roi, Study, Volume};
use crate::operator::Accumulation;
use crate::plan::{Course, ScanFiles, SetupProblem, SubsetRule, scanner_of_tubes};
use crate::scanner::Scanner;
use crate::ui::widgets::image_axes::ImageAxes;

/// The study that is open.
pub enum OpenStudy {
    /// Counts along lines.
    Counts(OpenCounts),
    /// Counts of pairs of crystals.
    Pairs(OpenPairs),
    /// Single events.
    Events(OpenList),
    /// An EPRI sweep.
    Sweep(Box<OpenSweep>),
}

/// Counts that are open.
pub struct OpenCounts {
    /// The study.
    pub study: Arc<Study<Counts>>,
    /// Its total counts.
    pub total: f64,
    /// What bounds the number of their subsets.
    pub subset_rule: SubsetRule,
    /// The files that it was read from; `None` for a simulation.
    pub files: Option<ScanFiles>,
    /// Voxels that it is best reconstructed on, where they are not the scanner's default.
    pub size: Option<[usize; 3]>,
    /// Tubes of response for them; `None` = none were made or opened yet.
    pub tubes: Option<Box<OpenTubes>>,
}

impl OpenCounts {
    /// The scanner whose tubes of response can be simulated for them.
    ///
    /// # Errors
    /// Why they have none.
    pub fn scanner_of_tubes(&self) -> Result<&'static Scanner, SetupProblem> {
        scanner_of_tubes(self.study.measured.geometry())
    }
}

impl OpenStudy {
    /// How its projections come.
    pub fn arrivals(&self) -> Arrivals {
        self.sweep().map_or(Arrivals::Over, OpenSweep::arrivals)
    }

    /// Name for people.
    pub fn title(&self) -> &str {
        match self {
            OpenStudy::Counts(open) => &open.study.title,
            OpenStudy::Pairs(open) => &open.study.title,
            OpenStudy::Events(open) => &open.study.title,
            OpenStudy::Sweep(open) => &open.study.title,
        }
    }

    /// The true image, for phantoms.
    pub fn truth(&self) -> Option<&Volume> {
        match self {
            OpenStudy::Counts(open) => open.study.truth.as_deref(),
            OpenStudy::Pairs(open) => open.study.truth.as_deref(),
            OpenStudy::Events(open) => open.study.truth.as_deref(),
            OpenStudy::Sweep(open) => open.study.truth.as_deref(),
        }
    }

    /// Regions that came with it.
    pub fn rois(&self) -> &[Roi] {
        match self {
            OpenStudy::Counts(open) => &open.study.rois,
            OpenStudy::Pairs(open) => &open.study.rois,
            OpenStudy::Events(open) => &open.study.rois,
            OpenStudy::Sweep(open) => &open.study.rois,
        }
    }

    /// The axes of its image.
    pub fn axes(&self) -> ImageAxes {
        match self {
            OpenStudy::Counts(_) | OpenStudy::Pairs(_) | OpenStudy::Events(_) => ImageAxes::PATIENT,
            OpenStudy::Sweep(open) => ImageAxes::of(open.space()),
        }
    }

    /// What the steps of its reconstruction are called and counted by.
    pub fn course(&self) -> Course {
        match self {
            OpenStudy::Counts(_) => Course::ITERATIONS,
            OpenStudy::Events(_) => Course::EVENTS,
            OpenStudy::Pairs(_) => Course::DENSITIES,
            OpenStudy::Sweep(_) => Course::PROJECTIONS,
        }
    }

    /// Along how many axes of the view an object is fitted. What a PET scanner sees fills its short z axis.
    pub fn num_fitted(&self) -> usize {
        match self {
            OpenStudy::Counts(_) | OpenStudy::Pairs(_) | OpenStudy::Events(_) => 2,
            OpenStudy::Sweep(_) => self.axes().shown().len(),
        }
    }

    /// The counts, where they are some.
    pub fn counts(&self) -> Option<&OpenCounts> {
        match self {
            OpenStudy::Counts(open) => Some(open),
            _ => None,
        }
    }

    /// The counts, to be changed.
    pub fn counts_mut(&mut self) -> Option<&mut OpenCounts> {
        match self {
            OpenStudy::Counts(open) => Some(open),
            _ => None,
        }
    }

    /// The ways to add that its backprojections may know; none where nothing is added by several threads.
    pub fn accumulations(&self) -> &'static [Accumulation] {
        match self {
            OpenStudy::Counts(_) | OpenStudy::Events(_) => Accumulation::OF_LINES,
            OpenStudy::Pairs(_) => Accumulation::VARIANTS,
            OpenStudy::Sweep(_) => &[],
        }
    }

    /// What a start makes where it has to, in words.
    pub fn made_at_start(&self) -> &'static str {
        match self {
            OpenStudy::Pairs(_) => "the matrix",
            OpenStudy::Events(_) => "the sensitivity",
            OpenStudy::Counts(_) | OpenStudy::Sweep(_) => "tubes",
        }
    }

    /// The counts of pairs of crystals, where they are some.
    pub fn pairs(&self) -> Option<&OpenPairs> {
        match self {
            OpenStudy::Pairs(open) => Some(open),
            _ => None,
        }
    }

    /// The counts of pairs of crystals, to be changed.
    pub fn pairs_mut(&mut self) -> Option<&mut OpenPairs> {
        match self {
            OpenStudy::Pairs(open) => Some(open),
            _ => None,
        }
    }

    /// The list of events, where it is one.
    pub fn list(&self) -> Option<&OpenList> {
        match self {
            OpenStudy::Events(open) => Some(open),
            _ => None,
        }
    }

    /// The list of events, to be changed.
    pub fn list_mut(&mut self) -> Option<&mut OpenList> {
        match self {
            OpenStudy::Events(open) => Some(open),
            _ => None,
        }
    }

    /// The EPRI sweep, where it is one.
    pub fn sweep(&self) -> Option<&OpenSweep> {
        match self {
            OpenStudy::Sweep(open) => Some(open),
            _ => None,
        }
    }

    /// The EPRI sweep, to be changed.
    pub fn sweep_mut(&mut self) -> Option<&mut OpenSweep> {
        match self {
            OpenStudy::Sweep(open) => Some(open),
            _ => None,
        }
    }
}
