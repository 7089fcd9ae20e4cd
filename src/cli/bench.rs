//! `tomoscope bench`: how fast the program is, measured by itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, Subcommand};
use serde::Serialize;

use super::bench_list_mode;
use super::bench_matrix;
use super::console::out;
use super::options::{TalkOptions, count, positive};
use super::outputs::Files;
use super::progress::with_bar;
use super::simulate::known_scanner;
use super::{CliResult, options, wrong};
use crate::algebra::Simd;
use crate::bench::{
    ArrivalBench, BenchReport, EpriBench, EpriRow, IterationRow, ProjectorBench, ProjectorRow, TubesBench, TubesRow,
    bench_arrival, bench_epri, bench_iteration, bench_projector, bench_tubes,
};
use crate::data::{Counts, Study};
use crate::geometry::Grid;
use crate::io::IoError;
use crate::operator::Accumulation;
use crate::phantom::{self, Noise, SimulationOptions};
use crate::plan::{AlgorithmKind, Device, DeviceChoice, ProjectorChoice, Rays, RunSettings, available_devices, default_settings};
use crate::report::{Column, Columns};
use crate::scanner::{ScanGeometry, Scanner};
use crate::words::{bytes, counted};

/// Columns of the projectors' times.
const PROJECTOR: Columns<11> = Columns([
    Column::words("device", 8),
    Column::words("projector", 26),
    Column::words("direction", 16),
    Column::words("accumulation", 15),
    Column::numbers("threads", 8),
    Column::numbers("median s", 12),
    Column::numbers("spread s", 11),
    Column::numbers("MLOR/s", 10),
    Column::numbers("Gvisits/s", 11),
    Column::numbers("ratio", 8),
    Column::words("views", 0),
]);
/// A time of an iteration in milliseconds, and what more there is to say.
const ITERATION: Columns<3> = Columns([Column::words("", 16), Column::numbers("", 11), Column::words("", 0)]);
/// What an iteration needs.
const MEMORY: Columns<2> = Columns([Column::words("", 20), Column::words("", 0)]);
/// Columns of the times of EPRI backprojections.
const EPRI: Columns<12> = Columns([
    Column::words("program", 30),
    Column::words("equal", 10),
    Column::numbers("size", 6),
    Column::numbers("proj.", 6),
    Column::numbers("threads", 9),
    Column::numbers("median s", 12),
    Column::numbers("spread s", 11),
    Column::numbers("runs", 6),
    Column::numbers("Gupdates/s", 12),
    Column::numbers("to plain", 10),
    Column::numbers("to single", 11),
    Column::numbers("difference", 12),
]);
/// Columns of the times from the arrival of a projection to the image.
const ARRIVAL: Columns<7> = Columns([
    Column::words("device", 32),
    Column::numbers("size", 6),
    Column::numbers("proj./s", 9),
    Column::numbers("median ms", 11),
    Column::numbers("spread ms", 11),
    Column::numbers("95 %", 9),
    Column::numbers("longest ms", 12),
]);

/// Columns of the times of iterations with tubes of response.
const TUBES: Columns<8> = Columns([
    Column::words("device", 36),
    Column::words("accumulation", 14),
    Column::numbers("subsets", 8),
    Column::numbers("median s", 11),
    Column::numbers("spread s", 11),
    Column::numbers("forward s", 11),
    Column::numbers("back s", 11),
    Column::numbers("ratio", 8),
]);

/// Options of `tomoscope bench`.
#[derive(Args)]
pub struct BenchOptions {
    #[command(subcommand)]
    what: What,

    #[command(flatten)]
    talk: TalkOptions,
}

#[derive(Subcommand)]
enum What {
    /// Measures projectors: forward projection and backprojection by projector, accumulation and number of threads.
    Projector(ProjectorOptions),
    /// Measures a whole reconstruction: time by stage, cost of the live view, time from data to image.
    Iteration(IterationOptions),
    /// Measures EPRI backprojection: plain, fast and in two stages, for several image sizes.
    Epri(EpriOptions),
    /// Measures the latency from a completed EPRI projection to the displayed image.
    Arrival(ArrivalOptions),
    /// Measures an iteration with tubes of response by number of threads and subsets.
    Tubes(TubesOptions),
    /// Measures projection and backprojection with a system matrix.
    Matrix(bench_matrix::MatrixOptions),
    /// Measures list-mode projection and backprojection in several event orders, with and without time of flight.
    ListMode(bench_list_mode::ListModeOptions),
}

#[derive(Args)]
struct TubesOptions {
    /// Scanner of the catalogue that consists of heads.
    #[arg(long, default_value = "vrpet")]
    scanner: String,

    /// Device: auto (the CPU and the first CUDA device), cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::one_device)]
    device: DeviceChoice,

    /// Numbers of threads, separated by commas (default: one and all).
    #[arg(long, value_delimiter = ',', value_parser = count::<u16>)]
    threads: Vec<u16>,

    /// Numbers of subsets, separated by commas; 1 is MLEM.
    #[arg(long, value_delimiter = ',', default_value = "50", value_parser = count::<u16>)]
    subsets: Vec<u16>,

    /// Accumulation modes, separated by commas; the CPU supports only deterministic.
    #[arg(long, value_delimiter = ',', default_value = "deterministic")]
    accumulation: Vec<Accumulation>,

    /// Number of timed iterations.
    #[arg(long, default_value_t = 5, value_parser = count::<u16>)]
    iterations: u16,

    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Args)]
struct ArrivalOptions {
    /// Voxels along each axis, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "64,128", value_parser = clap::value_parser!(u16).range(2..))]
    size: Vec<u16>,

    /// Projections per second.
    #[arg(long, default_value_t = 25.0, value_name = "N", value_parser = positive)]
    pace: f64,

    /// Device: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::one_device)]
    device: DeviceChoice,

    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Args)]
struct ProjectorOptions {
    /// Scanner of the catalogue.
    #[arg(long, default_value = "discovery-ste")]
    scanner: String,

    /// Image size in voxels; the image spans the scanner's field of view.
    #[arg(long, default_value = "256,256,47", value_name = "NX,NY,NZ", value_parser = options::triple::<usize, 3>)]
    image: [usize; 3],

    /// Device: auto (the CPU and the first CUDA device), cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::one_device)]
    device: DeviceChoice,

    /// Numbers of threads, separated by commas (default: one and all).
    #[arg(long, value_delimiter = ',', value_parser = count::<usize>)]
    threads: Vec<usize>,

    /// Projector to measure: auto (both, for the ratio), per-lor or axial-runs.
    #[arg(long, default_value = "auto")]
    projector: ProjectorChoice,

    /// Accumulation modes, separated by commas (default: all).
    #[arg(long, value_delimiter = ',', default_value = "deterministic,atomic,non-atomic")]
    accumulation: Vec<Accumulation>,

    /// Also measure the fast projector with the other vector instructions of this processor.
    #[arg(long)]
    all_simd: bool,

    /// Approximate measuring time, seconds.
    #[arg(long, default_value_t = 120.0, value_parser = positive)]
    budget_secs: f64,

    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Args)]
struct IterationOptions {
    /// Scanner of the catalogue.
    #[arg(long, default_value = "discovery-ste")]
    scanner: String,

    /// Image size in voxels; the image spans the scanner's field of view.
    #[arg(long, default_value = "256,256,47", value_name = "NX,NY,NZ", value_parser = options::triple::<usize, 3>)]
    image: [usize; 3],

    /// Where to reconstruct: auto, cpu, cuda, cuda:N, or several GPUs together: cuda:N,M or cuda:all. Given more than once, one after
    /// the other; times are compared with the first.
    #[arg(long, default_value = "auto", value_parser = options::device)]
    device: Vec<DeviceChoice>,

    /// Projectors, separated by commas: axial-runs, per-lor.
    #[arg(long, value_delimiter = ',', default_value = "per-lor,axial-runs")]
    projector: Vec<ProjectorChoice>,

    /// Accumulation modes, separated by commas (default: all).
    #[arg(long, value_delimiter = ',', default_value = "atomic,deterministic,non-atomic")]
    accumulation: Vec<Accumulation>,

    /// Subsets; 1 is MLEM.
    #[arg(long, default_value_t = 1, value_parser = count::<usize>)]
    subsets: usize,

    /// Iterations of a run.
    #[arg(long, default_value_t = 40, value_parser = count::<usize>)]
    iterations: usize,

    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

#[derive(Args)]
struct EpriOptions {
    /// Voxels along each axis of the object, separated by commas: one object for each.
    #[arg(long, value_delimiter = ',', default_value = "64,100,128,150,200", value_parser = clap::value_parser!(u16).range(1..=1024))]
    size: Vec<u16>,

    /// Minimum number of projections.
    #[arg(long, default_value_t = 208, value_parser = count::<u16>)]
    projections: u16,

    /// Numbers of threads, separated by commas (default: one and all).
    #[arg(long, value_delimiter = ',', value_parser = count::<u16>)]
    threads: Vec<u16>,

    /// Device: auto (the CPU and the first CUDA device), cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::one_device)]
    device: DeviceChoice,

    /// Also measure the fast program with the other vector instructions of this processor.
    #[arg(long)]
    all_simd: bool,

    /// Maximum measuring time per row, seconds.
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    row_secs: f64,

    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// Runs `tomoscope bench`.
pub fn run(options: BenchOptions) -> CliResult {
    options.talk.apply_to_notes();
    let json = match &options.what {
        What::Projector(options) => &options.json,
        What::Iteration(options) => &options.json,
        What::Epri(options) => &options.json,
        What::Arrival(options) => &options.json,
        What::Tubes(options) => &options.json,
        What::Matrix(options) => &options.json,
        What::ListMode(options) => &options.json,
    };
    Files::new().write_lines("--json", json).check()?;
    match options.what {
        What::Projector(options) => run_projector(options),
        What::Iteration(options) => run_iteration(options),
        What::Epri(options) => run_epri(options),
        What::Arrival(options) => run_arrival(options),
        What::Tubes(options) => run_tubes(options),
        What::Matrix(options) => bench_matrix::run(options),
        What::ListMode(options) => bench_list_mode::run(options),
    }
}

/// A scanner of the catalogue.
fn scanner_of(name: &str) -> CliResult<&'static Scanner> {
    known_scanner(name).map_err(wrong)
}

/// A scanner's geometry and an image that spans its field of view: its grid and the radius.
pub fn scan(name: &str, size: [usize; 3]) -> CliResult<(&'static Scanner, Grid, f64)> {
    let scanner = scanner_of(name)?;
    let (geometry, [nx, ny, nz]) = (&scanner.geometry, size);
    let fov_radius_mm = geometry.fov_radius_mm;
    // 2·rings − 1 planes fill the axial field of view between the outer rings' middles.
    let dz = 0.5 * geometry.ring_spacing_mm * (2 * geometry.num_rings - 1) as f64 / nz.max(1) as f64;
    let grid = Grid::centred(size, [2.0 * fov_radius_mm / nx as f64, 2.0 * fov_radius_mm / ny as f64, dz])?;
    Ok((scanner, grid, fov_radius_mm))
}

fn run_projector(options: ProjectorOptions) -> CliResult {
    let (scanner, grid, fov_radius_mm) = scan(&options.scanner, options.image)?;
    let [nx, ny, nz] = options.image;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match options.threads {
        _ if matches!(options.device, DeviceChoice::Cuda(_)) => Vec::new(),
        given if !given.is_empty() => given,
        _ if all > 1 => vec![1, all],
        _ => vec![1],
    };
    let cuda = cuda_device(options.device);
    out!(
        "{}: {} LORs, image {nx} × {ny} × {nz}, one line per bin, field of view {fov_radius_mm} mm",
        scanner.title,
        scanner.geometry.num_bins()
    );
    out!("{}", PROJECTOR.titles());
    let bench = ProjectorBench {
        geometry: Arc::new(scanner.geometry.clone()),
        grid,
        fov_radius_mm,
        threads,
        cuda,
        per_lor: options.projector != ProjectorChoice::AXIAL_RUNS,
        axial_runs: options.projector != ProjectorChoice::PER_LOR,
        accumulations: options.accumulation,
        simd: if options.all_simd { Simd::available() } else { vec![Simd::fastest()] },
        budget_secs: options.budget_secs,
    };
    let rows = bench_projector(&bench, print_row)?;
    write_json(options.json.as_deref(), device_names(Simd::detect(), cuda), rows)
}

fn print_row(row: &ProjectorRow) {
    let cells = [
        row.device.to_string(),
        row.projector.clone(),
        row.direction.to_string(),
        row.accumulation.map_or(String::new(), |a| a.to_string()),
        row.threads.to_string(),
        format!("{:.5}", row.median_s),
        format!("{:.5}", row.spread_s),
        format!("{:.3}", row.lors_per_s * 1e-6),
        format!("{:.3}", row.voxel_visits_per_s * 1e-9),
        row.ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
        row.measured_views.clone(),
    ];
    out!("{}", PROJECTOR.line(cells));
}

fn run_iteration(options: IterationOptions) -> CliResult {
    let (scanner, grid, fov_radius_mm) = scan(&options.scanner, options.image)?;
    let study = Arc::new(nema_study(&scanner.geometry)?);
    let mut rows: Vec<IterationRow> = Vec::new();
    let ways = options.projector.iter().flat_map(|&projector| options.accumulation.iter().map(move |&way| (projector, way)));
    for (projector, accumulation) in ways {
        for &device in &options.device {
            let settings = RunSettings {
                algorithm: if options.subsets > 1 { AlgorithmKind::Osem } else { AlgorithmKind::Mlem },
                num_iterations: options.iterations,
                num_subsets: options.subsets,
                grid: grid.clone(),
                fov_radius_mm,
                rays: Rays::Fixed { tangential: 1, axial: 1 },
                projector,
                device,
                accumulation: Some(accumulation),
                ..default_settings(&study.measured)?
            };
            let row = bench_iteration(&study, &settings)?;
            print_iteration(&row, rows.first());
            rows.push(row);
        }
    }
    write_json(options.json.as_deref(), rows.first().map(|row| row.device.clone()).unwrap_or_default(), rows)
}

fn print_iteration(row: &IterationRow, first: Option<&IterationRow>) {
    out!("{}, {}, {}", row.device, row.projector, row.accumulation);
    let fact = |name: &str, secs: f64, digits: usize, what: String| {
        out!("  {}", ITERATION.line([name.to_owned(), format!("{:.digits$}", 1e3 * secs), what]));
    };
    let ratio = first.map_or(String::new(), |first| format!(", {:.2} × the first", first.median_s / row.median_s));
    fact("iteration", row.median_s, 3, format!("± {:.3} ms{ratio}", 1e3 * row.spread_s));
    for (name, secs) in row.stages_s.iter().filter(|(_, secs)| *secs > 0.0) {
        fact(&format!("  {name}"), *secs, 3, format!("ms {:>5.1} %", 100.0 * secs / row.median_s));
    }
    let added = 100.0 * (row.viewed_median_s / row.median_s - 1.0);
    fact("viewed", row.viewed_median_s, 3, format!("± {:.3} ms, {added:+.1} %", 1e3 * row.viewed_spread_s));
    fact("cold start", row.cold_start_s, 1, "ms".to_owned());
    let iterations = counted(row.num_iterations, "iteration");
    fact(&iterations, row.run_s, 1, "ms from data to volume in host memory".to_owned());
    let used = row.used_bytes.map_or(String::new(), |used| format!(", {} taken on the device", bytes(used)));
    out!("  {}", MEMORY.line(["memory".to_owned(), format!("{} estimated{used}", bytes(row.estimated_bytes))]));
}

/// The CUDA device to measure; where none was named the first one, if it can be used.
pub fn cuda_device(choice: DeviceChoice) -> Option<usize> {
    match choice {
        DeviceChoice::Cpu | DeviceChoice::Gpus(_) => None,
        DeviceChoice::Cuda(number) => Some(number),
        DeviceChoice::Auto => {
            let is_usable = |device: &Device| device.choice == DeviceChoice::Cuda(0) && device.why_not.is_none();
            available_devices().iter().any(is_usable).then_some(0)
        }
    }
}

fn run_epri(options: EpriOptions) -> CliResult {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match options.threads {
        given if !given.is_empty() => given.into_iter().map(usize::from).collect(),
        _ if all > 1 => vec![1, all],
        _ => vec![1],
    };
    out!("{}", EPRI.titles());
    let bench = EpriBench {
        sizes: options.size.into_iter().map(usize::from).collect(),
        num_projections: usize::from(options.projections),
        threads,
        all_simd: options.all_simd,
        cuda: cuda_device(options.device),
        row_secs: options.row_secs,
    };
    let rows = bench_epri(&bench, print_epri)?;
    write_json(options.json.as_deref(), device_names(Simd::detect(), None), rows)
}

fn run_arrival(options: ArrivalOptions) -> CliResult {
    out!("{}", ARRIVAL.titles());
    let mut rows = Vec::new();
    for size in options.size {
        let row = bench_arrival(&ArrivalBench { size: size.into(), per_sec: options.pace, device: options.device })?;
        let ms = [row.median_s, row.spread_s, row.p95_s, row.longest_s].map(|secs| 1e3 * secs);
        let [median, spread, p95, longest] = ms.map(|ms| format!("{ms:.2}"));
        let rate = format!("{:.1}", row.per_sec);
        out!("{}", ARRIVAL.line([row.device.clone(), row.size.to_string(), rate, median, spread, p95, longest]));
        rows.push(row);
    }
    write_json(options.json.as_deref(), rows.first().map(|row| row.device.clone()).unwrap_or_default(), rows)
}

fn run_tubes(options: TubesOptions) -> CliResult {
    let scanner = scanner_of(&options.scanner)?;
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads: Vec<usize> = match options.threads {
        _ if matches!(options.device, DeviceChoice::Cuda(_)) => Vec::new(),
        given if !given.is_empty() => given.into_iter().map(usize::from).collect(),
        _ if all > 1 => vec![1, all],
        _ => vec![1],
    };
    let on_cpu = threads.into_iter().map(|threads| (DeviceChoice::Cpu, Some(threads)));
    let devices: Vec<_> = on_cpu.chain(cuda_device(options.device).map(|number| (DeviceChoice::Cuda(number), None))).collect();
    let geometry = Arc::new(scanner.geometry.clone());
    out!("{}: {} LORs, one count in each; ratio = time of the first row over a row's", scanner.title, geometry.num_bins());
    out!("{}", TUBES.titles());
    let mut rows: Vec<TubesRow> = Vec::new();
    for (device, num_threads) in devices {
        let each = options.subsets.iter().flat_map(|subsets| options.accumulation.iter().map(move |way| (*subsets, *way)));
        for (subsets, accumulation) in each {
            let row = bench_tubes(&TubesBench {
                geometry: Arc::clone(&geometry),
                device,
                num_threads,
                num_subsets: subsets.into(),
                accumulation,
                num_iterations: options.iterations.into(),
            })?;
            let ratio = rows.first().map_or(1.0, |first| first.median_s / row.median_s);
            let times = [row.median_s, row.spread_s, row.forward_s, row.backprojection_s].map(|secs| format!("{secs:.5}"));
            let [median, spread, forward, back] = times;
            let ways = row.accumulation.to_string();
            let cells = [row.device.clone(), ways, subsets.to_string(), median, spread, forward, back, format!("{ratio:.1}")];
            out!("{}", TUBES.line(cells));
            rows.push(row);
        }
    }
    write_json(options.json.as_deref(), rows.first().map(|row| row.device.clone()).unwrap_or_default(), rows)
}

fn print_epri(row: &EpriRow) {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".into());
    let cells = [
        row.program.to_string(),
        row.directions.to_string(),
        row.size.to_string(),
        row.num_projections.to_string(),
        row.threads.to_string(),
        format!("{:.5}", row.median_s),
        format!("{:.5}", row.spread_s),
        row.num_runs.to_string(),
        format!("{:.3}", row.updates_per_s * 1e-9),
        or_dash(row.ratio_to_plain.map(|ratio| format!("{ratio:.1}"))),
        or_dash(row.ratio_to_single_stage.map(|ratio| format!("{ratio:.1}"))),
        or_dash(row.difference.map(|difference| format!("{difference:.1e}"))),
    ];
    out!("{}", EPRI.line(cells));
}

/// The image-quality phantom, without noise.
fn nema_study(geometry: &ScanGeometry) -> CliResult<Study<Counts>> {
    let phantom = phantom::by_name("nema-iq-2001", geometry)?;
    let options = SimulationOptions { noise: Noise::None, ..SimulationOptions::default() };
    Ok(with_bar("simulating", |task| phantom::simulate(&phantom, Arc::new(geometry.clone()), &options, task))??)
}

/// The processor with these instructions, and a CUDA device, as the rows of a benchmark name them.
pub fn device_names(simd: Simd, cuda: Option<usize>) -> String {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let cpu = format!("CPU, {}, {}", counted(all, "thread"), simd.name());
    let of_number = |number| available_devices().into_iter().find(|device| device.choice == DeviceChoice::Cuda(number));
    match cuda.and_then(of_number) {
        Some(device) => format!("{cpu}; {}", device.name),
        None => cpu,
    }
}

/// Writes the rows of a benchmark.
pub fn write_json<R: Serialize>(path: Option<&Path>, device: String, rows: Vec<R>) -> CliResult {
    let Some(path) = path else { return Ok(()) };
    std::fs::write(path, serde_json::to_vec_pretty(&BenchReport { device, rows })?).map_err(IoError::write(path))?;
    Ok(())
}
