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
use crate::cli::shared::paths::file_of;
use crate::cli::shared::printed::remove_stale;
use crate::data::{Counts, Michelogram, Notice, Study, Unit, Volume};
use crate::geometry::Grid;
use crate::io::formats::Content;
use crate::io::{CorrectionFiles, check_image_unit, read_study, read_volume, stale_companions, write_projections};
use crate::operator::{Accumulation, Subset};
use crate::plan::{
    ChosenProjector, CorrectionRecord, DataRecord, DeviceRecord, ImageKind, ImageRecord, ProjectorRecord, ProjectorSettings,
    Provenance, Rays, SetupError, Start, System, TofRecord, TofSettings, choose_projector, rays_per_bin, with_cpu_fallback,
};
use crate::scanner::ScanGeometry;
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
    #[arg(short, long, value_name = "OUT.hs", value_parser = file_of(Content::Projections))]
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
    #[arg(short, long, value_name = "OUT", value_parser = file_of(Content::Image))]
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
    files(&options.projector).read([&options.image, &options.like]).write_scans("-o", [&options.output]).check()?;
    let volume = notices::printed(read_volume(&options.image)?);
    let study = read(&options.like, &options.projector)?;
    let field = field_of_view(&options.projector, study.measured.geometry(), &volume.grid, Some(&volume));
    let projected = with_projector(&options.projector, &study.measured, &volume.grid, field, None, |_, system, _, _| {
        let start = Instant::now();
        let projected = system.project(Subset::ALL, &volume, &Task::new())?;
        out!("projected in {:.2} s", start.elapsed().as_secs_f64());
        Ok(system.data().in_order(projected))
    })?;
    let geometry = Arc::clone(study.measured.geometry());
    let projected = match study.measured.tof_bins() {
        Some(bins) => Michelogram::with_tof(geometry, bins, projected)?,
        None => Michelogram::new(geometry, projected)?,
    };
    let projected = with_corrections(projected, &study.measured);
    let stale = stale_companions(&options.output, |_| false)?;
    write_projections(&options.output, &projected)?;
    remove_stale(&stale)?;
    out!("{}: {} bins, total {:.6e}", options.output.display(), projected.counts.len(), projected.total());
    let not_finite = projected.counts.iter().filter(|value| !value.is_finite()).count();
    Ok(done(not_finite, projected.counts.len(), "bin"))
}

/// Returns m ⊙ p + a.
fn with_corrections(mut data: Michelogram, counts: &Counts) -> Michelogram {
    if let Some(factors) = &counts.multiplicative {
        data.scale_bins(&factors.counts);
    }
    match &counts.additive {
        Some(background) => data.plus(background),
        None => data,
    }
}

/// Backprojects data and writes the image: Aᵀ (m ⊙ q).
pub fn backproject(options: &BackprojectOptions) -> CliResult<Done> {
    options.talk.apply();
    options.projector.check_effects()?;
    files(&options.projector).read([&options.input, &options.like]).write("-o", [&options.output]).check()?;
    if options.projector.additive.is_some() {
        return Err(CliError::arguments("a backprojection has no additive term: leave out --additive"));
    }
    check_image_unit(&options.output, Unit::Mm, None)?;
    let start = Start::now();
    let like = notices::printed(read_volume(&options.like)?);
    let study = read(&options.input, &options.projector)?;
    let data = with_corrections(study.measured.prompts.clone(), &study.measured);
    let data = data.tof.map_or(data.counts, |tof| tof.values);
    let accumulation = options.projector.accumulation;
    let work = |name: &str, system: &mut dyn System, settings: &ProjectorSettings, accumulation| {
        out!("accumulation  {accumulation}");
        let begin = Instant::now();
        let arranged = system.data().arranged(&data, 1);
        let image = system.backproject(Subset::ALL, arranged, accumulation, &Task::new())?;
        out!("backprojected in {:.2} s", begin.elapsed().as_secs_f64());
        let device = DeviceRecord { name: system.device().to_owned(), threads: rayon::current_num_threads() };
        let record = ProjectorRecord {
            name: name.to_owned(),
            rays_per_bin: rays_per_bin(study.measured.geometry(), &like.grid, settings.fov_radius_mm, settings.rays),
            psf: None,
            tof: TofRecord::of(&study.measured, &TofSettings::default()),
            fov_radius_mm: settings.fov_radius_mm,
            accumulation,
            accumulation_switched: Vec::new(),
            tubes: ProjectorRecord::tubes_of(name, settings.tubes.as_deref()),
        };
        Ok((image, record, device))
    };
    let field = field_of_view(&options.projector, study.measured.geometry(), &like.grid, None);
    let (image, projector, device) = with_projector(&options.projector, &study.measured, &like.grid, field, accumulation, work)?;
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

/// Returns the outcome: values that are not finite make it incomplete, with a warning.
fn done(num_not_finite: usize, num: usize, what: &str) -> Done {
    if num_not_finite == 0 {
        return Done::Complete;
    }
    err!("warning: {num_not_finite} of {} do not hold a finite number", counted(num, what));
    Done::Partial
}

/// Returns the files that every projection reads.
fn files(options: &ProjectorOptions) -> Files {
    Files::new().read(&options.multiplicative).read(&options.additive)
}

/// Reads data with the requested corrections.
fn read(path: &std::path::Path, options: &ProjectorOptions) -> CliResult<Study<Counts>> {
    let &ProjectorOptions { multiplicative_inverse, additive_inside, .. } = options;
    let (multiplicative, additive) = (options.multiplicative.as_deref(), options.additive.as_deref());
    let study = read_study(path, CorrectionFiles { multiplicative, multiplicative_inverse, additive, additive_inside })?;
    notices::print(&study.notices);
    Ok(study)
}

/// Returns the radius of the field of view, mm, and the rays per LOR: by default every voxel, with the rays of the inscribed circle of
/// a grid on the axis. A circle that cuts off a part of the image is reported.
fn field_of_view(options: &ProjectorOptions, geometry: &ScanGeometry, grid: &Grid, image: Option<&Volume>) -> (f64, Rays) {
    let share_outside = |radius_mm: f64| image.map_or(1.0, |image| image.share_outside(radius_mm));
    if let Some(radius_mm) = options.fov_radius_mm {
        let share = share_outside(radius_mm);
        if image.is_some() && share > 0.0 {
            let percent = 100.0 * share;
            let text = format!(
                "{percent:.2} % of the sum of the image lies outside the field of view of {radius_mm} mm and is not projected"
            );
            notices::print(&[Notice::warning(text)]);
        }
        return (radius_mm, options.rays);
    }
    let inscribed_mm = grid.inscribed_radius_mm();
    // Zeros need no path.
    let radius_mm = if share_outside(inscribed_mm) > 0.0 { grid.farthest_from_axis_mm() } else { inscribed_mm };
    let [tangential, axial] = rays_per_bin(geometry, grid, grid.half_side_mm(), options.rays);
    (radius_mm, Rays::Fixed { tangential, axial })
}

/// Runs `work` with the requested projector and its name, settings and accumulation, on the requested threads and device, or on
/// the CPU if that device fails. Prints device and projector if the memory suffices.
fn with_projector<T: Send>(
    options: &ProjectorOptions,
    counts: &Counts,
    grid: &Grid,
    (fov_radius_mm, rays): (f64, Rays),
    accumulation: Option<Accumulation>,
    mut work: impl FnMut(&str, &mut dyn System, &ProjectorSettings, Accumulation) -> Result<T, SetupError> + Send,
) -> CliResult<T> {
    let tubes = options.tubes(counts.geometry())?;
    thread_pool(options.threads.map(usize::from))?.install(|| {
        let (result, notice) = with_cpu_fallback(options.device, |device| {
            let settings = ProjectorSettings {
                grid: grid.clone(),
                fov_radius_mm,
                rays,
                projector: options.choice(),
                device,
                threads_per_block: options.threads_per_block,
                tubes: tubes.clone(),
                psf: None,
                tof: counts.tof_bins().map(|bins| TofSettings::default().kernel(bins)),
                may_resample: true,
            };
            let ChosenProjector { entry, mut system, notices } = choose_projector(counts.geometry(), &settings)?;
            notices::print(&notices);
            let accumulation = accumulation.unwrap_or(system.default_accumulation());
            system.free_memory().check(system.memory_bytes_once(Subset::ALL, accumulation))?;
            out!("device        {}\nprojector     {}", system.device(), entry.name);
            work(entry.name, &mut *system, &settings, accumulation)
        })?;
        notices::print(notice.as_slice());
        Ok(result)
    })
}
