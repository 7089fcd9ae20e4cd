//! Every program that backprojects planes, for each back end. A further one is a line here.

use crate::algebra::{Backend, Host};
#[cfg(feature = "cuda")]
use crate::cuda::{CudaBackend, FastPlanes, PaperPlanes};
use crate::data::Sweep;
use crate::geometry::Grid;
#[cfg(feature = "cuda")]
use crate::operator::OperatorError;
use crate::operator::{MultiStage, PlainPlanes, PlaneBackprojector, PlaneSampling, SingleStage};
use crate::plan::algorithms::registry::Stages;
use crate::plan::algorithms::research::PlaneKernel;
use crate::plan::platform::memory::{FreeMemory, NUM_FRAMES};
use crate::recon::{Algorithm, Fbp, FbpSettings, ReconError};
use crate::words::counted;

/// Makes a program on a device.
#[cfg(feature = "cuda")]
type MakeOnCuda = fn(CudaBackend, Grid) -> Result<Box<dyn PlaneSystem>, OperatorError>;

/// A program by what is asked of it.
pub(in crate::plan) struct ProgramEntry {
    pub stages: Stages,
    /// Which one; of two stages there is one.
    pub kernel: PlaneKernel,
    pub on_host: fn(Grid) -> Box<dyn PlaneSystem>,
    #[cfg(feature = "cuda")]
    pub on_cuda: Option<MakeOnCuda>,
}

/// All programs.
pub(in crate::plan) static PROGRAMS: [ProgramEntry; 3] = [
    ProgramEntry {
        stages: Stages::Single,
        kernel: PlaneKernel::Fast,
        on_host: |grid| {
            let planes = SingleStage::new(grid);
            let device = format!("{}, {}", processor(), planes.simd().name());
            host(planes, device)
        },
        #[cfg(feature = "cuda")]
        on_cuda: Some(|backend, grid| {
            let planes = FastPlanes::new(&backend, grid).map_err(OperatorError::from)?;
            Ok(device(backend, planes))
        }),
    },
    ProgramEntry {
        stages: Stages::Single,
        kernel: PlaneKernel::Paper,
        on_host: |grid| host(PlainPlanes::new(grid), "CPU, 1 thread".into()),
        #[cfg(feature = "cuda")]
        on_cuda: Some(|backend, grid| {
            let planes = PaperPlanes::new(&backend, grid)?;
            Ok(device(backend, planes))
        }),
    },
    ProgramEntry {
        stages: Stages::Two,
        kernel: PlaneKernel::Fast,
        on_host: |grid| host(MultiStage::new(grid), processor()),
        #[cfg(feature = "cuda")]
        on_cuda: None,
    },
];

/// The program that is asked for; `None` = there is none.
pub(in crate::plan) fn program(stages: Stages, kernel: PlaneKernel) -> Option<&'static ProgramEntry> {
    PROGRAMS.iter().find(|entry| (entry.stages, entry.kernel) == (stages, kernel))
}

/// What can be asked of a program on its device.
pub(in crate::plan) trait PlaneSystem {
    /// The device in words, as this program uses it.
    fn device(&self) -> &str;

    /// Its name, for people.
    fn name(&self) -> &'static str;

    /// Memory that is free where the arrays are.
    fn free_memory(&self) -> FreeMemory;

    /// Bytes of a run where its arrays are: the image, the volumes on their way to the screen, the program's working memory for
    /// blocks of so many projections.
    fn memory_bytes(&self, block: usize, sampling: &PlaneSampling) -> u64;

    /// Filtered backprojection of a sweep with it.
    ///
    /// # Errors
    /// Data or settings that do not suit, too little memory on the device.
    fn fbp(self: Box<Self>, sweep: &Sweep, settings: FbpSettings) -> Result<Box<dyn Algorithm>, ReconError>;
}

struct OnDevice<B, P> {
    backend: B,
    planes: P,
    device: String,
    free_memory: fn(&B) -> FreeMemory,
}

impl<B: Backend + 'static, P: PlaneBackprojector<B> + 'static> PlaneSystem for OnDevice<B, P> {
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

fn processor() -> String {
    format!("CPU, {}", counted(rayon::current_num_threads(), "thread"))
}

fn host(planes: impl PlaneBackprojector<Host> + 'static, device: String) -> Box<dyn PlaneSystem> {
    Box::new(OnDevice { backend: Host, planes, device, free_memory: |_| FreeMemory::of_the_computer() })
}

#[cfg(feature = "cuda")]
fn device(backend: CudaBackend, planes: impl PlaneBackprojector<CudaBackend> + 'static) -> Box<dyn PlaneSystem> {
    Box::new(OnDevice { device: backend.name(), backend, planes, free_memory: FreeMemory::of_device })
}
