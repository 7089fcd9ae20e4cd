//! The plan of the measurements.

use super::{Edition, sources};
use crate::data::{Counts, Study, SuperLors, TubeSet};
use crate::montecarlo::{Amount, TubeRecipe};
use crate::phantom::{self, Phantom};
use crate::plan::{ProjectorChoice, make_tubes, scan_photons};
use crate::reproduce::device::timed_threads;
use crate::reproduce::prelude::*;
use crate::scanner::{self, ScanGeometry, Scanner, Segment};
use crate::session::num_cores;
use crate::text::counted;

/// Views and rings of a quick look.
const QUICK_VIEWS: usize = 4;
const QUICK_RINGS: usize = 6;

/// Object of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    Derenzo,
    /// Points in a warm bar.
    Points,
    /// Lines in a warm cylinder.
    Lines,
}

/// All that the measurements of a folder have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub version: u32,
    pub paper: Edition,
    pub quick: bool,
    /// Subsets of the iteration that is timed.
    pub num_subsets: usize,
    /// Iterations that are timed, after one that is not.
    pub timed_iterations: [usize; 2],
    /// Counts of a scan of the Derenzo phantom.
    pub num_counts: u64,
    /// Counts of a scan of points, and of lines.
    pub num_source_counts: [u64; 2],
    /// Annihilations that the tubes are simulated with.
    pub num_histories: u64,
    /// Subsets and iterations of the images whose rods are measured.
    pub rods: [usize; 2],
    /// The same of the images of points and lines.
    pub sources: [usize; 2],
}

impl Plan {
    pub fn new(paper: Edition, quick: bool) -> Self {
        let num_subsets = if quick { 2 } else { 50 };
        Self {
            version: 2,
            paper,
            quick,
            num_subsets,
            timed_iterations: if quick { [1, 2] } else { [2, 10] },
            num_counts: if quick { 1_000 } else { 200_000 },
            num_source_counts: if quick { [1_000, 1_000] } else { [1_000_000, 500_000] },
            num_histories: if quick { 400_000 } else { 100_000_000 },
            rods: if quick { [2, 2] } else { [10, 6] },
            sources: if quick { [2, 1] } else { [10, 6] },
        }
    }

    /// Returns the scanner; for a quick look with few views and rings.
    pub fn scanner(&self) -> Result<Scanner, ReproduceError> {
        let name = if self.paper == Edition::Nima2011 { "vrpet" } else { "vrpet-2010" };
        let scanner = scanner::find(name).ok_or(ReproduceError::Scanner(name))?.clone();
        if !self.quick {
            return Ok(scanner);
        }
        let last = QUICK_RINGS as i32 - 1;
        let segments = (-last..=last).map(|difference| Segment::full(difference, difference, QUICK_RINGS)).collect();
        let geometry = ScanGeometry { num_views: QUICK_VIEWS, num_rings: QUICK_RINGS, segments, ..scanner.geometry };
        let heads = scanner.heads.map(|mut heads| {
            heads.crystals.num[1] = QUICK_RINGS;
            heads
        });
        Ok(Scanner { geometry, heads, ..scanner })
    }

    pub fn phantom(&self, object: Object) -> Result<Phantom, ReproduceError> {
        match object {
            Object::Derenzo => Ok(phantom::by_name("derenzo", &self.scanner()?.geometry)?),
            Object::Points => Ok(sources::points()),
            Object::Lines => Ok(sources::lines()),
        }
    }

    /// Returns a scan of an object, photon by photon.
    pub fn scan(&self, object: Object, seed: u64) -> Result<Study<Counts>, ReproduceError> {
        let [of_points, of_lines] = self.num_source_counts;
        let num_counts = match object {
            Object::Derenzo => self.num_counts,
            Object::Points => of_points,
            Object::Lines => of_lines,
        };
        Ok(scan_photons(&self.phantom(object)?, &self.scanner()?, num_counts, seed, &Task::new())?)
    }

    /// Returns the tubes, made on the fastest device.
    pub fn tubes(&self) -> Result<Arc<TubeSet>, ReproduceError> {
        let super_lors = SuperLors { radial: 3, ring_differences: 3, along: 9 };
        let recipe = TubeRecipe { amount: Amount::Histories(self.num_histories), super_lors, ..TubeRecipe::default() };
        Ok(Arc::new(make_tubes(&self.scanner()?, &recipe, DeviceChoice::Auto, &Task::new())?.result.tubes))
    }
}

/// One way to reconstruct.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Implementation {
    /// On a number of threads of the CPU; 0 = all.
    Cpu(usize),
    /// The paper's kernels on this CUDA device.
    PaperKernels(usize),
    /// The fast kernels on this CUDA device.
    FastKernels(usize),
}

impl Implementation {
    /// Returns the implementations whose times are compared: one thread first.
    pub fn of_times(device: DeviceChoice) -> Vec<Self> {
        let (all, mut threads) = (num_cores(), timed_threads());
        if all > 8 || !threads.contains(&all) {
            threads.push(all);
        }
        threads.into_iter().map(Self::Cpu).chain(Self::of_gpu(device)).collect()
    }

    /// Returns the implementations whose images are compared with those of the CPU.
    pub fn of_gpu(device: DeviceChoice) -> Vec<Self> {
        match device {
            DeviceChoice::Cuda(number) => vec![Self::PaperKernels(number), Self::FastKernels(number)],
            _ => Vec::new(),
        }
    }

    pub fn device(self) -> DeviceChoice {
        match self {
            Self::Cpu(_) => DeviceChoice::Cpu,
            Self::PaperKernels(number) | Self::FastKernels(number) => DeviceChoice::Cuda(number),
        }
    }

    pub fn num_threads(self) -> Option<usize> {
        if let Self::Cpu(threads) = self { Some(threads) } else { None }
    }

    pub fn projector(self) -> ProjectorChoice {
        if let Self::PaperKernels(_) = self { ProjectorChoice::TUBES_PAPER } else { ProjectorChoice::TUBES }
    }

    /// Returns its part of the key of a measurement.
    pub fn key(self) -> String {
        match self {
            Self::Cpu(threads) => format!("cpu-{threads}"),
            Self::PaperKernels(number) => format!("cuda-{number}-paper"),
            Self::FastKernels(number) => format!("cuda-{number}"),
        }
    }

    /// Returns its name in tables.
    pub fn title(self) -> String {
        match self {
            Self::Cpu(threads) => format!("CPU, {}", counted(threads, "thread")),
            Self::PaperKernels(number) => format!("cuda:{number}, paper's kernels"),
            Self::FastKernels(number) => format!("cuda:{number}"),
        }
    }

    /// Returns the index of the corresponding row in the paper's table.
    pub fn paper_row(self) -> Option<usize> {
        match self {
            Self::Cpu(1) => Some(0),
            Self::Cpu(8) => Some(1),
            Self::PaperKernels(_) => Some(3),
            _ => None,
        }
    }
}
