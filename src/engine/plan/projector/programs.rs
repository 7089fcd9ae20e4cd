//! Programs that backproject the planes of an EPRI acquisition.

use crate::algebra::Backend;
use crate::data::Sweep;
use crate::operator::{PlaneBackprojector, PlaneSampling};
use crate::plan::algorithms::common::PlaneKernel;
use crate::plan::algorithms::registry::FbpMethod;
use crate::plan::device::memory::{FreeMemory, NUM_FRAMES};
use crate::recon::{Algorithm, Fbp, FbpSettings, ReconError};

/// A program that backprojects planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaneProgram {
    /// Number of its stages.
    pub stages: FbpMethod,
    /// Implementation.
    pub kernel: PlaneKernel,
}

/// A program on its device.
pub trait PlaneSystem {
    /// Returns the device in words, as this program uses it.
    fn device(&self) -> &str;

    /// Returns its name, for people.
    fn name(&self) -> &'static str;

    /// Returns the memory that is free where the arrays are.
    fn free_memory(&self) -> FreeMemory;

    /// Returns the bytes of a run on its device: the image, the volumes in transfer to the screen, and the working memory of the
    /// program for blocks of this number of projections.
    fn memory_bytes(&self, block: usize, sampling: &PlaneSampling) -> u64;

    /// Makes a filtered backprojection of a sweep with it.
    ///
    /// # Errors
    /// Data or settings that do not suit, too little memory on the device.
    fn fbp(self: Box<Self>, sweep: &Sweep, settings: FbpSettings) -> Result<Box<dyn Algorithm>, ReconError>;
}

/// A program on its back end.
pub(in crate::plan) struct ProgramOn<B, P> {
    pub backend: B,
    pub planes: P,
    pub device: String,
    pub free_memory: fn(&B) -> FreeMemory,
}

impl<B: Backend + 'static, P: PlaneBackprojector<B> + 'static> PlaneSystem for ProgramOn<B, P> {
    fn device(&self) -> &str {
        &self.device
    }

    fn name(&self) -> &'static str {
        self.planes.name()
    }

    fn free_memory(&self) -> FreeMemory {
        (self.free_memory)(&self.backend)
    }

    fn memory_bytes(&self, block: usize, sampling: &PlaneSampling) -> u64 {
        4 * (1 + NUM_FRAMES) * self.planes.grid().num_voxels() as u64 + self.planes.scratch_bytes(block, sampling)
    }

    fn fbp(self: Box<Self>, sweep: &Sweep, settings: FbpSettings) -> Result<Box<dyn Algorithm>, ReconError> {
        Ok(Box::new(Fbp::new(self.backend, self.planes, sweep, settings)?))
    }
}
