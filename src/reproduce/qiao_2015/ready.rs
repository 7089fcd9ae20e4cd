//! The programs, each ready for one object, behind one trait.

use std::time::Instant;

use super::program::Program;
use crate::algebra::{Backend, Host, Image};
#[cfg(feature = "cuda")]
use crate::cuda::{CudaArray, CudaBackend, FastPlanes, PaperPlanes};
use crate::data::Volume;
use crate::geometry::Grid;
use crate::operator::{
    FilteredProjections, MultiStage, OperatorError, OperatorLimit, PlaneBackprojector, SingleStage, backproject_plain,
};
#[cfg(feature = "cuda")]
use crate::plan::{Chosen, DeviceChoice, choose_device};
use crate::reproduce::ReproduceError;
use crate::task::Task;

/// A program that is ready for an object.
pub(super) trait Ready {
    /// Backprojects; seconds of computing and of the transfer to the host, which is none on the processor.
    fn run(&mut self) -> Result<(f64, Option<f64>), OperatorError>;

    /// The object `[z, y, x]` after one run.
    fn image(&mut self) -> Vec<f64>;

    /// The device in words.
    fn device(&self) -> String;
}

/// The program [`backproject_plain`].
struct Plain<'a> {
    grid: Grid,
    data: &'a FilteredProjections,
    image: Vec<f64>,
}

impl Ready for Plain<'_> {
    fn run(&mut self) -> Result<(f64, Option<f64>), OperatorError> {
        let begin = Instant::now();
        self.image.fill(0.0);
        backproject_plain(&self.grid, self.data, &mut self.image, &Task::new())?;
        Ok((begin.elapsed().as_secs_f64(), None))
    }

    fn image(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.image)
    }

    fn device(&self) -> String {
        Host.name()
    }
}

/// A fast program. Its object comes to the host as it does for the screen.
struct Fast<'a, B: Backend, P> {
    backend: B,
    program: P,
    data: &'a FilteredProjections,
    image: B::Array<Image>,
    display: Option<B::Display>,
    volume: Volume,
}

impl<'a, B: Backend, P: PlaneBackprojector<B>> Fast<'a, B, P> {
    fn new(mut backend: B, program: P, data: &'a FilteredProjections) -> Result<Self, OperatorError> {
        let image = backend.zeros(program.grid().num_voxels())?;
        let volume = Volume::filled(program.grid().clone(), 0.0);
        let display = backend.display(program.grid().num_voxels(), &|voxel| voxel)?;
        Ok(Self { backend, program, data, image, display, volume })
    }
}

impl<B: Backend, P: PlaneBackprojector<B>> Ready for Fast<'_, B, P> {
    fn run(&mut self) -> Result<(f64, Option<f64>), OperatorError> {
        let begin = Instant::now();
        self.backend.fill(&mut self.image, 0.0)?;
        self.program.add(&mut self.backend, self.data, &mut self.image, &Task::new())?;
        self.backend.finish()?;
        let computing_s = begin.elapsed().as_secs_f64();
        match &mut self.display {
            Some(display) => self.backend.begin_copy(&self.image, 1.0, display)?(self.volume.as_mut_slice())?,
            None => self.backend.read(&self.image, |image| self.volume.as_mut_slice().copy_from_slice(image))?,
        }
        let total_s = begin.elapsed().as_secs_f64();
        Ok(if B::SHARES_MEMORY { (total_s, None) } else { (computing_s, Some(total_s - computing_s)) })
    }

    fn image(&mut self) -> Vec<f64> {
        self.volume.as_slice().iter().map(|&value| f64::from(value)).collect()
    }

    fn device(&self) -> String {
        self.backend.name()
    }
}

/// The paper's kernel. Its object is in double precision, as the paper's, and comes to ordinary memory; it goes on from
/// what it holds.
#[cfg(feature = "cuda")]
struct Paper<'a> {
    backend: CudaBackend,
    program: PaperPlanes,
    data: &'a FilteredProjections,
    single: CudaArray<Image>,
    image: Vec<f64>,
}

#[cfg(feature = "cuda")]
impl Ready for Paper<'_> {
    fn run(&mut self) -> Result<(f64, Option<f64>), OperatorError> {
        let begin = Instant::now();
        self.program.add(&mut self.backend, self.data, &mut self.single, &Task::new())?;
        self.backend.finish()?;
        let computing_s = begin.elapsed().as_secs_f64();
        self.image = self.program.sum(&self.backend)?;
        Ok((computing_s, Some(begin.elapsed().as_secs_f64() - computing_s)))
    }

    fn image(&mut self) -> Vec<f64> {
        std::mem::take(&mut self.image)
    }

    fn device(&self) -> String {
        self.backend.name()
    }
}

/// The program of a CUDA device.
#[cfg(feature = "cuda")]
fn on_cuda<'a>(
    program: Program,
    number: usize,
    grid: Grid,
    data: &'a FilteredProjections,
) -> Result<Box<dyn Ready + 'a>, ReproduceError> {
    let (Chosen::Cuda(backend), _) = choose_device(DeviceChoice::Cuda(number))? else { return Err(no_gpu(number)) };
    let mut backend = *backend;
    if matches!(program, Program::FastKernel(_)) {
        let fast = FastPlanes::new(&backend, grid).map_err(OperatorError::from)?;
        return Ok(Box::new(Fast::new(backend, fast, data)?));
    }
    let single = backend.zeros(grid.num_voxels()).map_err(OperatorError::from)?;
    let program = PaperPlanes::new(&backend, grid)?;
    Ok(Box::new(Paper { program, backend, data, single, image: Vec::new() }))
}

#[cfg(not(feature = "cuda"))]
fn on_cuda<'a>(_: Program, number: usize, _: Grid, _: &'a FilteredProjections) -> Result<Box<dyn Ready + 'a>, ReproduceError> {
    Err(no_gpu(number))
}

fn no_gpu(number: usize) -> ReproduceError {
    OperatorError::from(OperatorLimit::NoGpu(number)).into()
}

/// Makes a program ready.
pub(super) fn ready<'a>(
    program: Program,
    grid: Grid,
    data: &'a FilteredProjections,
) -> Result<Box<dyn Ready + 'a>, ReproduceError> {
    Ok(match program {
        Program::Plain => Box::new(Plain { image: vec![0.0; grid.num_voxels()], grid, data }),
        Program::MultiStage | Program::MultiStageAll => Box::new(Fast::new(Host, MultiStage::new(grid), data)?),
        Program::SingleStage => Box::new(Fast::new(Host, SingleStage::new(grid), data)?),
        Program::PaperKernel(number) | Program::FastKernel(number) => on_cuda(program, number, grid, data)?,
    })
}
