//! The plan: the paper's scanner, phantoms and iterations (section 2), or a reduced ring for a quick look.

use super::mouse;
use crate::data::BasisKind;
use crate::phantom::{Phantom, ring};
use crate::plan::{MatrixRecipe, SimulationBudget};
use crate::reproduce::prelude::*;
use crate::scanner::{CrystalRing, find_ring};

/// Object of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scan {
    /// The warm cylinder with a hot and a cold rod.
    Rods,
    /// The ellipsoid with point sources.
    Ellipsoid,
    /// The mouse on one of its bed positions.
    Bed(usize),
}

impl Scan {
    /// Its name in keys of measurements.
    pub fn name(self) -> String {
        match self {
            Scan::Rods => "rods".into(),
            Scan::Ellipsoid => "ellipsoid".into(),
            Scan::Bed(bed) => format!("bed-{}", bed + 1),
        }
    }
}

/// All that the measurements of a folder have in common.
#[derive(Clone, Debug, Serialize)]
pub struct Plan {
    pub version: u32,
    pub quick: bool,
    scanner: &'static str,
    /// Number of elements to simulate for the matrix of blobs,
    num_elements: Option<u64>,
    /// or else its number of decays.
    num_histories: u64,
    /// Number of elements to simulate for the matrix of cubes.
    num_cubic_elements: Option<u64>,
    /// Side of the voxels that images are shown and measured on, mm.
    voxel_mm: f64,
    /// Iterations of the images.
    pub num_iterations: usize,
    /// Iterations that the correlation is followed to.
    pub num_long_iterations: usize,
    /// Iterations from one measured image to the next.
    pub measured_every: usize,
    /// Iterations of the CPU if the device is a GPU.
    pub num_cpu_iterations: usize,
    /// Counts of the rods and of the ellipsoid.
    rods_counts: u64,
    ellipsoid_counts: u64,
    /// Decays of the whole mouse while one bed is scanned.
    pub mouse_decays: f64,
    /// Places that are tried to see which share of these a bed counts.
    pub num_tried: u64,
    /// Products that are timed, after one that is not.
    pub num_times: usize,
    /// The plain product takes every `plain_step`-th orbit of lines.
    pub plain_step: usize,
    pub seed: u64,
}

impl Plan {
    /// Returns the plan of the paper, or a quick one; with a requested number of elements, if there is one.
    pub fn new(quick: bool, num_elements: Option<u64>) -> Self {
        let default_elements = if quick { None } else { Some(704_000_000) };
        Self {
            version: 1,
            quick,
            scanner: if quick { "madpet2-reduced" } else { "madpet2" },
            num_elements: num_elements.or(default_elements),
            num_histories: if quick { 1_000_000 } else { 0 },
            num_cubic_elements: if quick { None } else { Some(1_000_000_000) },
            voxel_mm: if quick { 1.0 } else { 0.5 },
            num_iterations: if quick { 20 } else { 300 },
            num_long_iterations: if quick { 30 } else { 600 },
            measured_every: 10,
            num_cpu_iterations: if quick { 10 } else { 20 },
            rods_counts: if quick { 100_000 } else { 45_000_000 },
            ellipsoid_counts: if quick { 50_000 } else { 9_600_000 },
            // 0.2 mCi for four minutes.
            mouse_decays: if quick { 4e6 } else { 7.4e6 * 240.0 },
            num_tried: if quick { 400_000 } else { 4_000_000 },
            num_times: 3,
            plain_step: if quick { 1 } else { 8 },
            seed: 1,
        }
    }

    pub fn ring(&self) -> Result<&'static CrystalRing, ReproduceError> {
        find_ring(self.scanner).ok_or(ReproduceError::Scanner(self.scanner))
    }

    pub fn recipe(&self, kind: BasisKind) -> Result<MatrixRecipe, ReproduceError> {
        let num_elements = if kind == BasisKind::Cubic { self.num_cubic_elements } else { self.num_elements };
        let amount = num_elements.map_or(SimulationBudget::Histories(self.num_histories), SimulationBudget::Elements);
        Ok(MatrixRecipe::of(self.ring()?, kind, amount, self.seed))
    }

    /// Returns the voxels of all images, which cover the functions.
    pub fn grid(&self) -> Result<Grid, ReproduceError> {
        let ring = self.ring()?;
        let [across, along] =
            [ring.radius_mm, ring.image_half_length_mm].map(|half_mm| (2.0 * half_mm / self.voxel_mm).round() as usize);
        Ok(Grid::centred([across, across, along], [self.voxel_mm; 3])?)
    }

    /// Returns the object of a scan, in its position in the scanner.
    pub fn phantom(&self, scan: Scan) -> Result<Phantom, ReproduceError> {
        Ok(match scan {
            Scan::Rods => ring::by_name("rods")?,
            Scan::Ellipsoid => ring::by_name("ellipsoid")?,
            Scan::Bed(bed) => mouse::phantom()?.raised(-mouse::middle_mm(self.ring()?, bed)),
        })
    }

    /// Returns the number of counts of a scan; that of a bed follows from the simulated share of counted decays.
    pub fn num_counts(&self, scan: Scan) -> Result<u64, ReproduceError> {
        match scan {
            Scan::Rods => Ok(self.rods_counts),
            Scan::Ellipsoid => Ok(self.ellipsoid_counts),
            Scan::Bed(_) => {
                let share = mouse::counted_share(self.ring()?, &self.phantom(scan)?, self.num_tried, self.seed)?;
                Ok((self.mouse_decays * share[1] as f64 / share[0].max(1) as f64).round() as u64)
            }
        }
    }
}
