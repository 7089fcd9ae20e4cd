//! `tomoscope bench replicates`.

use std::sync::Arc;

use clap::Args;

use super::common::{device_names, scan};
use crate::algebra::Simd;
use crate::bench::{BenchGpu, ListModeBench, ReplicatesBench, ReplicatesRow, bench_replicates};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::known::gpus_to_measure;
use crate::cli::shared::options;
use crate::cli::shared::options::{count, one_device};
use crate::plan::DeviceChoice;
use crate::report::{Column, Columns};
use crate::scanner::Detectors;

const REPLICATES: Columns<7> = Columns([
    Column::words("device", 8),
    Column::words("replicates", 20),
    Column::numbers("subsets", 8),
    Column::words("accumulation", 14),
    Column::numbers("median ms", 12),
    Column::numbers("spread ms", 11),
    Column::numbers("ratio", 8),
]);

#[derive(Args)]
pub struct ReplicatesOptions {
    /// Scanner of the catalogue.
    #[arg(long, default_value = "discovery-ste-detectors")]
    scanner: String,

    /// Image size in voxels; the image spans the scanner's field of view.
    #[arg(long, default_value = "256,256,47", value_name = "NX,NY,NZ", value_parser = options::triple::<usize, 3>)]
    image: [usize; 3],

    /// Events to draw: pairs of crystals whose lines meet the field of view, all as likely.
    #[arg(long, default_value = "1e6", value_name = "N", value_parser = options::count::<u32>)]
    events: u32,

    /// Resolution of the time of flight, full width at half maximum, ps.
    #[arg(long, default_value_t = 400.0, value_name = "PS", value_parser = super::list_mode::resolution)]
    tof_ps: f64,

    /// Device: auto (the CPU and the first CUDA device), cpu, cuda, cuda:N, gpu or gpu:N. Given more than once, one after the
    /// other.
    #[arg(long, default_value = "auto", value_parser = one_device)]
    device: Vec<DeviceChoice>,

    /// Number of replicates.
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = count::<usize>)]
    bootstrap: usize,

    /// Numbers of subsets, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "1,14", value_parser = count::<usize>)]
    subsets: Vec<usize>,

    /// Timed iterations.
    #[arg(long, default_value_t = 3, value_parser = count::<usize>)]
    iterations: usize,
}

pub fn run(options: ReplicatesOptions) -> CliResult<(String, Vec<ReplicatesRow>)> {
    let (scanner, grid, fov_radius_mm) = scan(&options.scanner, options.image)?;
    let has_cpu = options.device.iter().any(|choice| matches!(choice, DeviceChoice::Auto | DeviceChoice::Cpu));
    let gpus = gpus_to_measure(&options.device);
    let devices: Vec<Option<BenchGpu>> = has_cpu.then_some(None).into_iter().chain(gpus.iter().copied().map(Some)).collect();
    let list = ListModeBench {
        detectors: Arc::new(Detectors::of_cylinder(&scanner.geometry)?),
        grid,
        fov_radius_mm,
        num_events: options.events as usize,
        tof_ps: options.tof_ps,
        threads: Vec::new(),
        gpus: Vec::new(),
        accumulations: Vec::new(),
        budget_secs: 0.0,
    };
    let [nx, ny, nz] = options.image;
    out!(
        "{}: {} events, time of flight {} ps, image {nx} × {ny} × {nz}, {} replicates. An iteration of OSEM",
        scanner.title,
        options.events,
        options.tof_ps,
        options.bootstrap
    );
    out!("{}", REPLICATES.titles());
    let mut rows = Vec::new();
    for gpu in devices {
        let bench = ReplicatesBench {
            list: list.clone(),
            gpu,
            num_replicates: options.bootstrap,
            num_subsets: options.subsets.clone(),
            num_iterations: options.iterations,
        };
        rows.extend(bench_replicates(&bench, print_row)?);
    }
    Ok((device_names(Simd::fastest(), &gpus), rows))
}

fn print_row(row: &ReplicatesRow) {
    let ratio = row.ratio.map_or(String::new(), |ratio| format!("{ratio:.2}"));
    let [median, spread] = [row.median_s, row.spread_s].map(|secs| format!("{:.3}", 1e3 * secs));
    let cells = [
        row.device.to_string(),
        row.replicates.to_owned(),
        row.num_subsets.to_string(),
        row.accumulation.to_string(),
        median,
        spread,
        ratio,
    ];
    out!("{}", REPLICATES.line(cells));
}
