//! `tomoscope project` and `tomoscope backproject`: one application of ȳ = m ⊙ (A x) + a, or of Aᵀ (m ⊙ q).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;

use super::console::{err, out};
use super::options::{ProjectorOptions, TalkOptions};
use super::outputs::Files;
use super::paths::{image_file, projections_file};
use super::{CliResult, Done, notices};
use crate::data::{Michelogram, Study, Unit, Volume};
use crate::geometry::Grid;
use crate::io::{read_study, read_volume, write_projections};
use crate::operator::{Accumulation, Backend, LinearOperator, Subset};
use crate::plan::{
    CorrectionRecord, DataRecord, DeviceChoice, DeviceRecord, FreeMemory, ImageRecord, Made, Projector, ProjectorRecord,
    ProjectorSettings, ProjectorWork, Provenance, SetupError, Start, or_on_cpu, rays_per_bin,
};
use crate::session::thread_pool;
use crate::task::Task;
use crate::words::counted;

/// Options of `tomoscope project`.
#[derive(Args, Clone, Debug)]
pub struct ProjectOptions {
    /// Image to project (.hv, .nii, .nii.gz).
    image: PathBuf,

    /// Projection data whose sampling to use (.hs).
    #[arg(long, value_name = "PROJDATA")]
    like: PathBuf,

    /// Projection data to write (.hs).
    #[arg(short, long, value_name = "OUT.hs", value_parser = projections_file)]
    output: PathBuf,

    #[command(flatten)]
    projector: ProjectorOptions,

    #[command(flatten)]
    talk: TalkOptions,
}

/// Options of `tomoscope backproject`.
#[derive(Args, Clone, Debug)]
pub struct BackprojectOptions {
    /// Projection data to backproject (.hs).
    input: PathBuf,

    /// Image whose grid to use (.hv, .nii, .nii.gz).
    #[arg(long, value_name = "IMAGE")]
    like: PathBuf,

    /// Image to write (.hv, .nii, .nii.gz).
    #[arg(short, long, value_name = "OUT", value_parser = image_file)]
    output: PathBuf,

    #[command(flatten)]
    projector: ProjectorOptions,

    #[command(flatten)]
    talk: TalkOptions,
}

/// Any error as it is told.
type Error = Box<dyn std::error::Error + Send + Sync>;

/// Projects an image and writes the data.
pub fn project(options: &ProjectOptions) -> CliResult<Done> {
    options.talk.apply();
    files(&options.projector).read([&options.image, &options.like]).write("-o", [&options.output]).check()?;
    let (volume, found) = read_volume(&options.image)?;
    notices::print(&found);
    let study = read(&options.like, &options.projector)?;
    let projected = in_pool(&options.projector, || {
        on_device(&options.projector, |device| {
            let (projector, place) = choose(device, &study, &volume.grid, &options.projector)?;
            projector.hand_to(Project { study: &study, volume: &volume, place })
        })
    })?;
    let projected = Michelogram::new(Arc::clone(study.geometry()), projected)?;
    write_projections(&options.output, &projected)?;
    out!("{}: {} bins, total {:.6e}", options.output.display(), projected.counts.len(), projected.total());
    let not_finite = projected.counts.iter().filter(|value| !value.is_finite()).count();
    Ok(done(not_finite, projected.counts.len(), "bin"))
}

/// ȳ = m ⊙ (A x) + a.
struct Project<'a> {
    study: &'a Study,
    volume: &'a Volume,
    place: Place,
}

impl ProjectorWork for Project<'_> {
    type Output = Result<Vec<f32>, SetupError>;

    fn run<B: Backend, A: LinearOperator<B>>(self, mut backend: B, operator: A) -> Self::Output {
        let Self { study, volume, place } = self;
        let start = Instant::now();
        let num_bins = study.geometry().num_bins();
        place.begin(8 * (num_bins + operator.image_len()) as u64)?;
        let x = backend.upload(Arc::new(operator.image_from_volume(volume)))?;
        let mut data = backend.zeros(num_bins)?;
        operator.apply(&mut backend, Subset::ALL, &x, &mut data, &Task::new())?;
        if let Some(factors) = &study.multiplicative {
            let factors = backend.upload(operator.arranged(factors, 1))?;
            backend.multiply(&mut data, 0, &factors, 0..num_bins)?;
        }
        if let Some(background) = &study.additive {
            let background = backend.upload(operator.arranged(background, 1))?;
            backend.add_scaled(&mut data, 0, 1.0, &background, 0..num_bins)?;
        }
        let data = backend.read(&data, <[f32]>::to_vec)?;
        out!("projected in {:.2} s", start.elapsed().as_secs_f64());
        Ok(operator.in_order(data))
    }
}

/// Backprojects data and writes the image.
pub fn backproject(options: &BackprojectOptions) -> CliResult<Done> {
    options.talk.apply();
    files(&options.projector).read([&options.input, &options.like]).write("-o", [&options.output]).check()?;
    if options.projector.additive.is_some() {
        return Err("a backprojection adds nothing to its data: --additive does not go with it".into());
    }
    let start = Start::now();
    let (like, found) = read_volume(&options.like)?;
    notices::print(&found);
    let study = read(&options.input, &options.projector)?;
    let (image, projector, device) = in_pool(&options.projector, || {
        on_device(&options.projector, |device| {
            let (projector, place) = choose(device, &study, &like.grid, &options.projector)?;
            let accumulation = options.projector.accumulation.unwrap_or(projector.default_accumulation());
            let device = DeviceRecord { name: projector.device(), threads: rayon::current_num_threads() };
            let record = ProjectorRecord {
                name: projector.name().to_owned(),
                rays_per_bin: rays_per_bin(study.geometry(), &like.grid, options.projector.rays),
                fov_radius_mm: options.projector.fov_radius_mm.unwrap_or_else(|| like.grid.inscribed_radius_mm()),
                accumulation,
                accumulation_switched: Vec::new(),
            };
            let work = Backproject { study: &study, grid: &like.grid, accumulation, place };
            projector.hand_to(work).map(|image| (image, record, device))
        })
    })?;
    let data = DataRecord::new(&study.title, &study.origin);
    let image_record = ImageRecord::new(&image.grid, image.unit);
    let provenance = Provenance {
        corrections: Some(CorrectionRecord::new(&study)),
        projector: Some(projector),
        ..Provenance::new(Made::Backprojection, data, image_record, device, start.times())
    };
    let provenance = provenance.of_image(&image).beside([options.output.as_path()]);
    notices::print(provenance.write_image(&options.output, &image)?.as_slice());
    out!("{}: total {:.6e}", options.output.display(), image.sum());
    Ok(done(provenance.image.not_finite.unwrap_or(0), image.grid.num_voxels(), "voxel"))
}

/// What a result is worth of which so many values are not finite numbers; those are told.
fn done(num_not_finite: usize, num: usize, what: &str) -> Done {
    if num_not_finite == 0 {
        return Done::Wholly;
    }
    err!("warning: {num_not_finite} of {} do not hold a finite number", counted(num, what));
    Done::InPart
}

/// Aᵀ (m ⊙ q).
struct Backproject<'a> {
    study: &'a Study,
    grid: &'a Grid,
    accumulation: Accumulation,
    place: Place,
}

impl ProjectorWork for Backproject<'_> {
    type Output = Result<Volume, SetupError>;

    fn run<B: Backend, A: LinearOperator<B>>(self, mut backend: B, operator: A) -> Self::Output {
        let Self { study, grid, accumulation, place } = self;
        let start = Instant::now();
        let num_bins = study.geometry().num_bins();
        let scratch = operator.scratch_bytes(Subset::ALL, accumulation);
        let factors = study.multiplicative.as_ref().map_or(0, |_| num_bins);
        place.begin(scratch + 8 * operator.image_len() as u64 + 4 * (num_bins + factors) as u64)?;
        out!("accumulation  {accumulation}");
        let mut data = backend.upload(operator.arranged(&study.measured, 1))?;
        if let Some(factors) = &study.multiplicative {
            let factors = backend.upload(operator.arranged(factors, 1))?;
            backend.multiply(&mut data, 0, &factors, 0..num_bins)?;
        }
        let mut image = backend.zeros(operator.image_len())?;
        operator.adjoint(&mut backend, Subset::ALL, &data, accumulation, &mut image, &Task::new())?;
        let mut volume = Volume { unit: Unit::Mm, ..Volume::filled(grid.clone(), 0.0) };
        backend.read(&image, |image| operator.volume_from_image(image, &mut volume))?;
        out!("backprojected in {:.2} s", start.elapsed().as_secs_f64());
        Ok(volume)
    }
}

/// The files that every projection reads.
fn files(options: &ProjectorOptions) -> Files {
    Files::new().read(&options.multiplicative).read(&options.additive)
}

/// Data with the corrections asked for.
fn read(path: &std::path::Path, options: &ProjectorOptions) -> Result<Study, Error> {
    let (multiplicative, additive) = (options.multiplicative.as_deref(), options.additive.as_deref());
    let study = read_study(path, multiplicative, additive, options.additive_inside)?;
    notices::print(&study.notices);
    Ok(study)
}

/// Where the work is done, in words, and the memory that is free there.
struct Place {
    words: String,
    free: FreeMemory,
}

impl Place {
    /// Prints where the work is done, if there is memory for it.
    fn begin(&self, needed_bytes: u64) -> Result<(), SetupError> {
        self.free.check(needed_bytes)?;
        out!("{}", self.words);
        Ok(())
    }
}

/// The projector asked for, and what it became.
fn choose(
    device: DeviceChoice,
    study: &Study,
    grid: &Grid,
    options: &ProjectorOptions,
) -> Result<(Projector, Place), SetupError> {
    let settings = ProjectorSettings {
        grid: grid.clone(),
        fov_radius_mm: options.fov_radius_mm.unwrap_or_else(|| grid.inscribed_radius_mm()),
        rays: options.rays,
        projector: options.projector,
        device,
        threads_per_block: options.threads_per_block,
    };
    let (projector, found) = Projector::choose(study.geometry(), &settings)?;
    notices::print(&found);
    let words = format!("device        {}\nprojector     {}", projector.device(), projector.name());
    let free = projector.free_memory();
    Ok((projector, Place { words, free }))
}

/// Does work on the device asked for, or says why the processor does it.
fn on_device<T>(options: &ProjectorOptions, work: impl FnMut(DeviceChoice) -> Result<T, SetupError>) -> Result<T, Error> {
    let (result, notice) = or_on_cpu(options.device, work)?;
    notices::print(notice.as_slice());
    Ok(result)
}

/// Does work in as many threads as were asked for.
fn in_pool<T: Send>(options: &ProjectorOptions, work: impl FnOnce() -> Result<T, Error> + Send) -> Result<T, Error> {
    thread_pool(options.threads.map(usize::from))?.install(work)
}
