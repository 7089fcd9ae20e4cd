//! `tomoscope project` and `tomoscope backproject`: one application of ȳ = m ⊙ (A x) + a, or of Aᵀ (m ⊙ q).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;

use crate::cli::shared::console::{err, out};
use crate::cli::shared::error::{CliError, CliResult, Done};
use crate::cli::shared::notices;
use crate::cli::shared::options::{ProjectorOptions, TalkOptions};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::{image_file, projections_file};
use crate::data::{Counts, Michelogram, Notice, Study, TubeSet, Unit};
use crate::geometry::Grid;
use crate::io::{check_image_unit, read_study, read_volume, write_projections};
use crate::operator::{Accumulation, Subset};
use crate::plan::{
    ChosenProjector, CorrectionRecord, DataRecord, DeviceChoice, DeviceRecord, ImageKind, ImageRecord, ProjectorRecord,
    ProjectorSettings, Provenance, SetupError, Start, System, choose_projector, rays_per_bin, with_cpu_fallback,
};
use crate::session::thread_pool;
use crate::task::Task;
use crate::text::counted;

/// Options of `tomoscope project`.
#[derive(Args, Clone, Debug)]
pub struct ProjectOptions {
    /// Image to project ({read images}).
    image: PathBuf,

    /// Projection data whose sampling to use ({write projections}).
    #[arg(long, value_name = "PROJDATA")]
    like: PathBuf,

    /// Projection data to write ({write projections}).
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
    /// Projection data to backproject ({write projections}).
    input: PathBuf,

    /// Image whose grid to use ({read images}).
    #[arg(long, value_name = "IMAGE")]
    like: PathBuf,

    /// Image to write ({read images}).
    #[arg(short, long, value_name = "OUT", value_parser = image_file)]
    output: PathBuf,

    #[command(flatten)]
    projector: ProjectorOptions,

    #[command(flatten)]
    talk: TalkOptions,
}

/// Projects an image and writes the data: m ⊙ (A x) + a.
pub fn project(options: &ProjectOptions) -> CliResult<Done> {
    options.talk.apply();
    options.projector.check_effects()?;
    files(&options.projector).read([&options.image, &options.like]).write("-o", [&options.output]).check()?;
    let (volume, found) = read_volume(&options.image)?;
    notices::print(&found);
    let study = read(&options.like, &options.projector)?;
    let tubes = options.projector.tubes(study.measured.geometry())?;
    let projected = in_pool(&options.projector, || {
        on_device(&options.projector, |device| {
            let ChosenProjector { entry, mut system, notices } =
                choose(device, &study.measured, &volume.grid, &options.projector, &tubes)?;
            begin(&*system, entry.name, &notices, system.default_accumulation())?;
            let start = Instant::now();
            let projected = system.project(Subset::ALL, &volume, &Task::new())?;
            out!("projected in {:.2} s", start.elapsed().as_secs_f64());
            Ok(system.data().in_order(projected))
        })
    })?;
    let projected = with_corrections(projected, &study.measured);
    let projected = Michelogram::new(Arc::clone(study.measured.geometry()), projected)?;
    write_projections(&options.output, &projected)?;
    out!("{}: {} bins, total {:.6e}", options.output.display(), projected.counts.len(), projected.total());
    let not_finite = projected.counts.iter().filter(|value| !value.is_finite()).count();
    Ok(done(not_finite, projected.counts.len(), "bin"))
}

/// m ⊙ p + a.
fn with_corrections(mut data: Vec<f32>, counts: &Counts) -> Vec<f32> {
    if let Some(factors) = &counts.multiplicative {
        data.iter_mut().zip(factors.counts.iter()).for_each(|(value, factor)| *value *= factor);
    }
    if let Some(background) = &counts.additive {
        data.iter_mut().zip(background.counts.iter()).for_each(|(value, background)| *value += background);
    }
    data
}

/// Backprojects data and writes the image: Aᵀ (m ⊙ q).
pub fn backproject(options: &BackprojectOptions) -> CliResult<Done> {
    options.talk.apply();
    options.projector.check_effects()?;
    files(&options.projector).read([&options.input, &options.like]).write("-o", [&options.output]).check()?;
    if options.projector.additive.is_some() {
        return Err(CliError::arguments("a backprojection has no additive term: leave out --additive"));
    }
    check_image_unit(&options.output, Unit::Mm)?;
    let start = Start::now();
    let (like, found) = read_volume(&options.like)?;
    notices::print(&found);
    let study = read(&options.input, &options.projector)?;
    let counts = &study.measured.prompts.counts;
    let data = match study.measured.multiplicative {
        Some(_) => Arc::new(with_corrections(counts.to_vec(), &study.measured)),
        None => Arc::clone(counts),
    };
    let tubes = options.projector.tubes(study.measured.geometry())?;
    let (image, projector, device) = in_pool(&options.projector, || {
        on_device(&options.projector, |device| {
            let ChosenProjector { entry, mut system, notices } =
                choose(device, &study.measured, &like.grid, &options.projector, &tubes)?;
            let accumulation = options.projector.accumulation.unwrap_or(system.default_accumulation());
            begin(&*system, entry.name, &notices, accumulation)?;
            out!("accumulation  {accumulation}");
            let begin = Instant::now();
            let arranged = system.data().arranged(&data, 1);
            let image = system.backproject(Subset::ALL, arranged, accumulation, &Task::new())?;
            out!("backprojected in {:.2} s", begin.elapsed().as_secs_f64());
            let device = DeviceRecord { name: system.device().to_owned(), threads: rayon::current_num_threads() };
            let fov_radius_mm = options.projector.fov_radius_mm.unwrap_or_else(|| like.grid.inscribed_radius_mm());
            let record = ProjectorRecord {
                name: entry.name.to_owned(),
                rays_per_bin: rays_per_bin(study.measured.geometry(), &like.grid, fov_radius_mm, options.projector.rays),
                fov_radius_mm,
                accumulation,
                accumulation_switched: Vec::new(),
                tubes: ProjectorRecord::tubes_of(entry.name, tubes.as_deref()),
            };
            Ok((image, record, device))
        })
    })?;
    let data = DataRecord::new(&study.title, &study.origin);
    let image_record = ImageRecord::new(&image.grid, image.unit);
    let provenance = Provenance {
        corrections: Some(CorrectionRecord::new(&study.origin, &study.measured)),
        projector: Some(projector),
        ..Provenance::new(ImageKind::Backprojection, data, image_record, device, start.times())
    };
    let provenance = provenance.of_image(&image).beside([options.output.as_path()]);
    notices::print(provenance.write_image(&options.output, &image)?.as_slice());
    out!("{}: total {:.6e}", options.output.display(), image.sum());
    Ok(done(provenance.image.not_finite.unwrap_or(0), image.grid.num_voxels(), "voxel"))
}

/// Whether a result is whole: values that are not finite numbers make it incomplete, with a warning.
fn done(num_not_finite: usize, num: usize, what: &str) -> Done {
    if num_not_finite == 0 {
        return Done::Wholly;
    }
    err!("warning: {num_not_finite} of {} do not hold a finite number", counted(num, what));
    Done::InPart
}

/// The files that every projection reads.
fn files(options: &ProjectorOptions) -> Files {
    Files::new().read(&options.multiplicative).read(&options.additive)
}

/// Data with the corrections asked for.
fn read(path: &std::path::Path, options: &ProjectorOptions) -> CliResult<Study<Counts>> {
    let (multiplicative, additive) = (options.multiplicative.as_deref(), options.additive.as_deref());
    let study = read_study(path, multiplicative, additive, options.additive_inside)?;
    notices::print(&study.notices);
    Ok(study)
}

/// Says where the work is done, if there is memory for it.
fn begin(system: &dyn System, projector: &str, found: &[Notice], accumulation: Accumulation) -> Result<(), SetupError> {
    notices::print(found);
    system.free_memory().check(system.memory_bytes_once(Subset::ALL, accumulation))?;
    out!("device        {}\nprojector     {projector}", system.device());
    Ok(())
}

/// The projector asked for.
fn choose(
    device: DeviceChoice,
    counts: &Counts,
    grid: &Grid,
    options: &ProjectorOptions,
    tubes: &Option<Arc<TubeSet>>,
) -> Result<ChosenProjector, SetupError> {
    let settings = ProjectorSettings {
        grid: grid.clone(),
        fov_radius_mm: options.fov_radius_mm.unwrap_or_else(|| grid.inscribed_radius_mm()),
        rays: options.rays,
        projector: options.choice(),
        device,
        threads_per_block: options.threads_per_block,
        tubes: tubes.clone(),
    };
    choose_projector(counts.geometry(), &settings)
}

/// Does work on the device asked for, or says why the processor does it.
fn on_device<T>(options: &ProjectorOptions, work: impl FnMut(DeviceChoice) -> Result<T, SetupError>) -> CliResult<T> {
    let (result, notice) = with_cpu_fallback(options.device, work)?;
    notices::print(notice.as_slice());
    Ok(result)
}

/// Does work in as many threads as were asked for.
fn in_pool<T: Send>(options: &ProjectorOptions, work: impl FnOnce() -> CliResult<T> + Send) -> CliResult<T> {
    thread_pool(options.threads.map(usize::from))?.install(work)
}
