//! `tomoscope bench list-mode`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::common::{device_names, scan, write_json};
use crate::algebra::Simd;
use crate::bench::{BenchDevice, ListModeBench, ListModeRow, bench_list_mode};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::known::cuda_device;
use crate::cli::shared::options;
use crate::operator::Accumulation;
use crate::plan::DeviceChoice;
use crate::report::{Column, Columns};
use crate::scanner::Detectors;

/// Columns of the times.
const LIST_MODE: Columns<11> = Columns([
    Column::words("device", 8),
    Column::words("code", 9),
    Column::words("order", 12),
    Column::words("TOF", 5),
    Column::words("accumulation", 14),
    Column::numbers("threads", 8),
    Column::numbers("set-up s", 10),
    Column::numbers("forward s", 12),
    Column::numbers("back s", 12),
    Column::numbers("Mevents/s", 12),
    Column::numbers("ratio", 8),
]);

#[derive(Args)]
pub struct ListModeOptions {
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
    #[arg(long, default_value_t = 400.0, value_name = "PS", value_parser = resolution)]
    tof_ps: f64,

    /// Device: auto (the CPU and the first CUDA device), cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::one_device)]
    device: DeviceChoice,

    /// Numbers of threads, separated by commas (default: one and all).
    #[arg(long, value_delimiter = ',', value_parser = options::count::<u16>)]
    threads: Vec<u16>,

    /// Accumulation modes, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "deterministic,atomic")]
    accumulation: Vec<Accumulation>,

    /// Approximate measuring time, seconds.
    #[arg(long, default_value_t = 60.0)]
    budget_secs: f64,

    /// Write the rows to this file as JSON.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

fn resolution(text: &str) -> Result<f64, String> {
    let ps = text.parse().ok().filter(|ps| (1.0..=10_000.0).contains(ps));
    ps.ok_or_else(|| format!("'{text}' is no resolution; give one from 1 to 10000 ps"))
}

pub fn run(options: ListModeOptions) -> CliResult {
    let (scanner, grid, fov_radius_mm) = scan(&options.scanner, options.image)?;
    let detectors = Arc::new(Detectors::of_cylinder(&scanner.geometry)?);
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let threads: Vec<usize> = match options.threads {
        _ if matches!(options.device, DeviceChoice::Cuda(_)) => Vec::new(),
        given if !given.is_empty() => given.into_iter().map(usize::from).collect(),
        _ if all > 1 => vec![1, all],
        _ => vec![1],
    };
    let cuda = cuda_device(options.device);
    let [nx, ny, nz] = options.image;
    out!(
        "{}: {} crystals, {} events, image {nx} × {ny} × {nz}, one line per event, field of view {fov_radius_mm} mm",
        scanner.title,
        detectors.crystals().len(),
        options.events
    );
    out!("{}", LIST_MODE.titles());
    let bench = ListModeBench {
        detectors,
        grid,
        fov_radius_mm,
        num_events: options.events as usize,
        tof_ps: options.tof_ps,
        threads,
        cuda,
        accumulations: options.accumulation,
        budget_secs: options.budget_secs,
    };
    let rows = bench_list_mode(&bench, print_row)?;
    write_json(options.json.as_deref(), device_names(Simd::fastest(), cuda), rows)
}

fn print_row(row: &ListModeRow) {
    let cells = [
        row.device.to_string(),
        row.code.to_owned(),
        row.order.to_owned(),
        if row.tof { "yes" } else { "no" }.to_owned(),
        row.accumulation.to_string(),
        if row.device == BenchDevice::Cpu { row.threads.to_string() } else { "–".to_owned() },
        format!("{:.3}", row.setup_s),
        format!("{:.5}", row.forward_s),
        format!("{:.5}", row.back_s),
        format!("{:.3}", row.events_per_s * 1e-6),
        row.ratio.map_or("–".to_owned(), |ratio| format!("{ratio:.2}")),
    ];
    out!("{}", LIST_MODE.line(cells));
}
