//! What is measured: the paper's scanner, phantoms and iterations (section 2), or a reduced ring for a quick look.

use serde::Serialize;

use super::implementation::Implementation;
use super::mouse;
use crate::data::BasisKind;
use crate::geometry::Grid;
use crate::operator::Accumulation;
use crate::phantom::{Phantom, ring};
use crate::plan::{DeviceChoice, MatrixAmount, MatrixRecipe};
use crate::reproduce::ReproduceError;
use crate::scanner::{CrystalRing, find_ring};

/// What is scanned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scan {
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
pub(super) struct Plan {
    pub version: u32,
    pub quick: bool,
    scanner: &'static str,
    /// The matrix is simulated until it has so many elements,
    num_elements: Option<u64>,
    /// or with so many decays.
    num_histories: u64,
    /// The same of the matrix of cubes, until there are so many.
    num_cubic_elements: Option<u64>,
    /// Side of the voxels that images are shown and measured on, mm.
    voxel_mm: f64,
    /// Iterations of the images.
    pub num_iterations: usize,
    /// Iterations that the correlation is followed to.
    pub num_long_iterations: usize,
    /// Images are measured after every so many iterations.
    pub measured_every: usize,
    /// Iterations that the processor does beside a GPU.
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
    /// The plain product takes one orbit of lines of so many.
    pub plain_step: usize,
    pub seed: u64,
}

impl Plan {
    /// The paper's, or a quick one; with another number of elements, if one is given.
    pub fn new(quick: bool, num_elements: Option<u64>) -> Self {
        let common = Self {
            version: 1,
            quick,
            scanner: "madpet2",
            num_elements: Some(num_elements.unwrap_or(704_000_000)),
            num_cubic_elements: Some(1_000_000_000),
            num_histories: 0,
            voxel_mm: 0.5,
            num_iterations: 300,
            num_long_iterations: 600,
            measured_every: 10,
            num_cpu_iterations: 20,
            rods_counts: 45_000_000,
            ellipsoid_counts: 9_600_000,
            // 0.2 mCi for four minutes.
            mouse_decays: 7.4e6 * 240.0,
            num_tried: 4_000_000,
            num_times: 3,
            plain_step: 8,
            seed: 1,
        };
        if !quick {
            return common;
        }
        Self {
            scanner: "madpet2-reduced",
            num_elements,
            num_cubic_elements: None,
            num_histories: 1_000_000,
            voxel_mm: 1.0,
            num_iterations: 20,
            num_long_iterations: 30,
            measured_every: 10,
            num_cpu_iterations: 10,
            rods_counts: 100_000,
            ellipsoid_counts: 50_000,
            mouse_decays: 4e6,
            num_tried: 400_000,
            plain_step: 1,
            ..common
        }
    }

    /// The scanner.
    pub fn ring(&self) -> Result<&'static CrystalRing, ReproduceError> {
        find_ring(self.scanner).ok_or(ReproduceError::Scanner(self.scanner))
    }

    /// How its matrix of some functions is simulated.
    pub fn recipe(&self, kind: BasisKind) -> Result<MatrixRecipe, ReproduceError> {
        let num_elements = if kind == BasisKind::Cubic { self.num_cubic_elements } else { self.num_elements };
        let amount = num_elements.map_or(MatrixAmount::Histories(self.num_histories), MatrixAmount::Elements);
        Ok(MatrixRecipe::of(self.ring()?, kind, amount, self.seed))
    }

    /// The voxels of all images: as many as cover the functions.
    pub fn grid(&self) -> Result<Grid, ReproduceError> {
        let ring = self.ring()?;
        let [across, along] =
            [ring.radius_mm, ring.image_half_length_mm].map(|half_mm| (2.0 * half_mm / self.voxel_mm).round() as usize);
        Ok(Grid::centred([across, across, along], [self.voxel_mm; 3])?)
    }

    /// What is scanned, as it lies in the scanner.
    pub fn phantom(&self, scan: Scan) -> Result<Phantom, ReproduceError> {
        Ok(match scan {
            Scan::Rods => ring::by_name("rods")?,
            Scan::Ellipsoid => ring::by_name("ellipsoid")?,
            Scan::Bed(bed) => mouse::phantom()?.raised(-mouse::middle_mm(self.ring()?, bed)),
        })
    }

    /// How many counts a scan has.
    pub fn num_counts(&self, scan: Scan) -> Result<u64, ReproduceError> {
        match scan {
            Scan::Rods => Ok(self.rods_counts),
            Scan::Ellipsoid => Ok(self.ellipsoid_counts),
            Scan::Bed(_) => mouse::num_counts(self, &self.phantom(scan)?),
        }
    }

    /// How many iterations an implementation does of a scan, the reference on `device`.
    pub fn num_iterations_of(&self, scan: Scan, implementation: Implementation, device: DeviceChoice) -> usize {
        let is_followed = matches!(implementation.accumulation, Accumulation::Deterministic | Accumulation::RandomCentralAtomic);
        if implementation.device != device {
            self.num_cpu_iterations
        } else if scan == Scan::Rods && is_followed {
            self.num_long_iterations
        } else {
            self.num_iterations
        }
    }
}
