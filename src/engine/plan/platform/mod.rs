//! Platforms: devices with arrays that compute with them. A further platform needs a file here with an implementation of [`Platform`],
//! a variant of [`DeviceChoice`](crate::plan::device::choice::DeviceChoice), and a line in [`open`].

pub mod agreement;
pub mod choose;
#[cfg(feature = "cuda")]
mod cuda;
mod host;
pub mod open;
pub mod recipes;
mod webgpu;

use std::sync::Arc;

use self::recipes::{EventRecipe, ListRecipe};
use crate::algebra::{PeerGroup, RingBasis, Simd};
use crate::data::{Experiment, Radical, ResponseMatrix, Sweep, Volume};
use crate::geometry::Grid;
use crate::measure::oximetry::{FitsOnThreads, VoxelFits};
use crate::montecarlo::{HistorySimulator, Response, ResponsePart, RingDetector};
use crate::operator::{Accumulation, CrystalPairs, OperatorError, Residence, SpectralConvolution, padded_size};
use crate::plan::device::memory::{Arrays, FreeMemory};
use crate::plan::error::SetupError;
use crate::plan::problem::SetupProblem;
use crate::plan::projector::inputs::ProjectorInputs;
use crate::plan::projector::programs::{PlaneProgram, PlaneSystem};
use crate::plan::projector::ring_functions::RingFunctions;
use crate::plan::projector::system::System;
use crate::recon::{Algorithm, TvImages, TvSettings};
use crate::task::Task;

/// An open device. Its systems and algorithms own its arrays and programs; each of them takes the device with it, so that a
/// platform makes one. A platform refuses missing capabilities.
pub trait Platform: Send {
    /// Returns the device's name.
    fn name(&self) -> String;

    /// Returns the device of a run in words: its name, or the threads and the instructions that they use.
    fn text(&self, simd: Simd) -> String;

    /// Returns the memory that is free for arrays.
    fn free_memory(&self) -> FreeMemory;

    /// Returns true if it has its own memory, to which arrays are copied.
    fn has_own_memory(&self) -> bool {
        true
    }

    /// Returns the default accumulation of single events.
    fn accumulation_of_events(&self) -> Accumulation {
        Accumulation::Atomic
    }

    /// Returns how many images are projected onto single events at once, and the bytes of the operator for them. `num_events` = those
    /// of a subset.
    fn images_at_once(&self, _num_events: usize, _image_len: usize, _has_tof: bool, _accumulation: Accumulation) -> (usize, u64) {
        (1, 0)
    }

    /// Makes a system with the projector of this name; `None` where the platform lacks the projector.
    ///
    /// # Errors
    /// The geometry does not suit the projector, or the device failed.
    fn view_system(&mut self, _projector: &str, _between: &ProjectorInputs) -> Option<Result<Box<dyn System>, OperatorError>> {
        None
    }

    /// Makes a system that backprojects planes with a program; `None` where the platform lacks the program.
    ///
    /// # Errors
    /// The device failed.
    fn plane_system(&mut self, _program: &PlaneProgram, _grid: Grid) -> Option<Result<Box<dyn PlaneSystem>, OperatorError>> {
        None
    }

    /// Returns the bytes of a convolution of coupled images of `size` voxels: its kernels, complex between images, and two half spectra of
    /// the rows.
    fn convolution_bytes(&self, size: [usize; 3], num_images: usize) -> u64 {
        let [len_x, len_y, len_z] = padded_size(size).map(|n| n as u64);
        let (half, num_images) = (len_x / 2 + 1, num_images as u64);
        4 * num_images * num_images * half * len_y * len_z + 16 * num_images * half * (size[1] * size[2]) as u64
    }

    /// Makes a reconstruction of a sweep, and of further acquisitions of the same object, with total variation.
    ///
    /// # Errors
    /// Data or settings that do not suit, or the device failed.
    fn total_variation(
        &mut self,
        _sweep: &Sweep,
        _radicals: &[Radical],
        _experiments: &[Experiment],
        _grid: &Grid,
        _settings: TvSettings,
        _images: TvImages,
    ) -> Result<Box<dyn Algorithm>, SetupError> {
        Err(self.lacks("total variation"))
    }

    /// Returns the bytes of a convolution of spectra in voxels where the arrays of a run are.
    fn spectral_convolution_bytes(&self, size: [usize; 3], num_samples: usize) -> u64 {
        SpectralConvolution::<f32>::bytes(size, num_samples)
    }

    /// Makes an algorithm that reconstructs single events, for the share of a member of a team.
    ///
    /// # Errors
    /// Events or settings do not suit, or the device failed.
    fn list_algorithm(&mut self, _recipe: &ListRecipe, _team: PeerGroup) -> Result<Box<dyn Algorithm>, SetupError> {
        Err(self.lacks("reconstruction of list-mode data"))
    }

    /// Returns Aᵀ q of events with these values.
    ///
    /// # Errors
    /// Events do not suit, stopped, or the device failed.
    fn backproject_events(&mut self, _recipe: EventRecipe, _values: Vec<f32>, _task: &Task) -> Result<Volume, SetupError> {
        Err(self.lacks("backprojection of list-mode data"))
    }

    /// Returns the bytes of a run with a system matrix, whose arrays are these, and the orders of the matrix that the device holds.
    fn matrix_need(
        &self,
        _matrix: &ResponseMatrix,
        _data: &CrystalPairs,
        _accumulation: Accumulation,
        arrays: &Arrays,
    ) -> (u64, Residence) {
        (arrays.bytes(1, Accumulation::Deterministic, 0), Residence::Both)
    }

    /// Makes a system with a system matrix.
    ///
    /// # Errors
    /// The matrix does not suit, or the device failed.
    fn matrix_system(
        &mut self,
        _matrix: &Arc<ResponseMatrix>,
        _image: RingBasis,
        _data: CrystalPairs,
        _residence: Residence,
    ) -> Result<Box<dyn System>, SetupError> {
        Err(self.lacks("reconstruction with a system matrix"))
    }

    /// Makes the tallies of a part of a system matrix.
    ///
    /// # Errors
    /// The ring does not suit, or the device failed.
    fn response<'a>(
        &'a self,
        _detector: &'a RingDetector,
        _functions: &'a RingFunctions,
        _part: ResponsePart,
        _seed: u64,
    ) -> Result<Box<dyn Response + 'a>, SetupError> {
        Err(self.lacks("simulation of system matrices"))
    }

    /// Makes what follows histories of photons for tubes of response.
    ///
    /// # Errors
    /// The device failed.
    fn history_simulator(&mut self) -> Result<Box<dyn HistorySimulator>, SetupError> {
        Err(self.lacks("simulation of tubes of response"))
    }

    /// Makes what fits relaxation rates: the processor, unless the platform has a kernel.
    ///
    /// # Errors
    /// The device failed.
    fn voxel_fits(&mut self) -> Result<Box<dyn VoxelFits>, SetupError> {
        Ok(Box::new(FitsOnThreads))
    }

    /// Takes the CUDA device, for measurements on CUDA only; `None` on other platforms.
    #[cfg(feature = "cuda")]
    fn take_cuda(&mut self) -> Option<crate::cuda::CudaBackend> {
        None
    }

    /// Returns the refusal of something that the platform lacks.
    fn lacks(&self, what: &'static str) -> SetupError {
        SetupProblem::Lacks { device: self.name(), what }.into()
    }
}
