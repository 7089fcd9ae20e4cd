//! `tomoscope bench list-mode`.

use std::sync::Arc;

use clap::Args;

use super::common::{DeviceOptions, device_names, scan};
use crate::algebra::Simd;
use crate::bench::{BenchDevice, ListModeBench, ListModeRow, bench_list_mode};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options;
use crate::operator::Accumulation;
use crate::report::{Column, Columns};
use crate::scanner::Detectors;

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

    #[command(flatten)]
    devices: DeviceOptions,

    /// Accumulation modes, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "deterministic,atomic")]
    accumulation: Vec<Accumulation>,

    /// Approximate measuring time, seconds.
    #[arg(long, default_value_t = 60.0)]
    budget_secs: f64,
}

pub(super) fn resolution(text: &str) -> Result<f64, String> {
    options::number(text, |ps| (1.0..=10_000.0).contains(ps), format!("'{text}' is no resolution; give one from 1 to 10000 ps"))
}

pub fn run(options: ListModeOptions) -> CliResult<(String, Vec<ListModeRow>)> {
    let (scanner, grid, fov_radius_mm) = scan(&options.scanner, options.image)?;
    let detectors = Arc::new(Detectors::of_cylinder(&scanner.geometry)?);
    let gpus = options.devices.gpus();
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
        threads: options.devices.threads(),
        gpus: gpus.clone(),
        accumulations: options.accumulation,
        budget_secs: options.budget_secs,
    };
    let rows = bench_list_mode(&bench, print_row)?;
    Ok((device_names(Simd::fastest(), &gpus), rows))
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
