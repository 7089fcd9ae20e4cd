//! The programs, each ready for one object.

use std::time::Instant;

use super::program::Program;
use crate::algebra::{Backend, Host};
#[cfg(feature = "cuda")]
use crate::cuda::{CudaBackend, FastPlanes, PaperPlanes};
use crate::operator::{
    FilteredProjections, MultiStage, OperatorError, OperatorLimit, PlaneBackprojector, SingleStage, backproject_plain,
};
#[cfg(feature = "cuda")]
use crate::plan::choose_device;
use crate::reproduce::prelude::*;

/// Backprojects, and copies the object `[z, y, x]` into a vector if there is one; returns seconds of computing and of the
/// transfer to the host, which the CPU lacks.
type Run<'a> = Box<dyn FnMut(Option<&mut Vec<f64>>) -> Result<(f64, Option<f64>), OperatorError> + 'a>;

/// A program that is ready for an object.
pub struct Ready<'a> {
    pub device: String,
    run: Run<'a>,
}

impl Ready<'_> {
    /// Backprojects; returns seconds of computing and of the transfer to the host.
    pub fn run(&mut self) -> Result<(f64, Option<f64>), OperatorError> {
        (self.run)(None)
    }

    /// Backprojects once; returns the object `[z, y, x]`.
    pub fn image(mut self) -> Result<Vec<f64>, OperatorError> {
        let mut image = Vec::new();
        (self.run)(Some(&mut image))?;
        Ok(image)
    }
}

/// Prepares the program [`backproject_plain`].
fn plain(grid: Grid, data: &FilteredProjections) -> Ready<'_> {
    let mut image = vec![0.0; grid.num_voxels()];
    let run = move |into: Option<&mut Vec<f64>>| {
        let begin = Instant::now();
        image.fill(0.0);
        backproject_plain(&grid, data, &mut image, &Task::new())?;
        let secs = begin.elapsed().as_secs_f64();
        into.into_iter().for_each(|into| into.clone_from(&image));
        Ok((secs, None))
    };
    Ready { device: Host.name(), run: Box::new(run) }
}

/// Prepares a fast program. Its object is copied to the host as for the screen.
fn fast<'a, B: Backend + 'a, P: PlaneBackprojector<B> + 'a>(
    mut backend: B,
    mut program: P,
    data: &'a FilteredProjections,
) -> Result<Ready<'a>, OperatorError> {
    let (device, mut image) = (backend.name(), backend.zeros(program.grid().num_voxels())?);
    let mut volume = Volume::filled(program.grid().clone(), 0.0);
    let mut display = backend.display(program.grid().size, &|voxel| voxel)?;
    let run = move |into: Option<&mut Vec<f64>>| {
        let begin = Instant::now();
        backend.fill(&mut image, 0.0)?;
        program.add(&mut backend, data, &mut image, &Task::new())?;
        backend.finish()?;
        let computing_s = begin.elapsed().as_secs_f64();
        match &mut display {
            Some(display) => backend.begin_copy(&image, 1.0, display)?.fill(volume.as_mut_slice())?,
            None => backend.read(&image, |image| volume.as_mut_slice().copy_from_slice(image))?,
        }
        let total_s = begin.elapsed().as_secs_f64();
        into.into_iter().for_each(|into| *into = volume.as_slice().iter().map(|&value| f64::from(value)).collect());
        Ok(if B::SHARES_MEMORY { (total_s, None) } else { (computing_s, Some(total_s - computing_s)) })
    };
    Ok(Ready { device, run: Box::new(run) })
}

/// Prepares the paper's kernel. Its object is in double precision, as the paper's, and is copied to ordinary memory. Each run
/// adds to the object of the last.
#[cfg(feature = "cuda")]
fn paper(mut backend: CudaBackend, grid: Grid, data: &FilteredProjections) -> Result<Ready<'_>, OperatorError> {
    let mut single = backend.zeros(grid.num_voxels())?;
    let (device, mut program) = (backend.name(), PaperPlanes::new(&backend, grid)?);
    let run = move |into: Option<&mut Vec<f64>>| {
        let begin = Instant::now();
        program.add(&mut backend, data, &mut single, &Task::new())?;
        backend.finish()?;
        let computing_s = begin.elapsed().as_secs_f64();
        let image = program.sum(&backend)?;
        let transfer_s = begin.elapsed().as_secs_f64() - computing_s;
        into.into_iter().for_each(|into| into.clone_from(&image));
        Ok((computing_s, Some(transfer_s)))
    };
    Ok(Ready { device, run: Box::new(run) })
}

#[cfg(feature = "cuda")]
fn on_cuda(program: Program, number: usize, grid: Grid, data: &FilteredProjections) -> Result<Ready<'_>, ReproduceError> {
    let Some(backend) = choose_device(DeviceChoice::Cuda(number))?.0.take_cuda() else { return Err(no_gpu(number)) };
    if !matches!(program, Program::FastKernel(_)) {
        return Ok(paper(backend, grid, data)?);
    }
    let planes = FastPlanes::new(&backend, grid).map_err(OperatorError::from)?;
    Ok(fast(backend, planes, data)?)
}

#[cfg(not(feature = "cuda"))]
fn on_cuda(_: Program, number: usize, _: Grid, _: &FilteredProjections) -> Result<Ready<'_>, ReproduceError> {
    Err(no_gpu(number))
}

fn no_gpu(number: usize) -> ReproduceError {
    OperatorError::from(OperatorLimit::NoGpu(number)).into()
}

pub fn ready(program: Program, grid: Grid, data: &FilteredProjections) -> Result<Ready<'_>, ReproduceError> {
    Ok(match program {
        Program::Plain => plain(grid, data),
        Program::MultiStage | Program::MultiStageAll => fast(Host, MultiStage::new(grid), data)?,
        Program::SingleStage => fast(Host, SingleStage::new(grid), data)?,
        Program::PaperKernel(number) | Program::FastKernel(number) => on_cuda(program, number, grid, data)?,
    })
}
