//! `tomoscope bench epri`.

use clap::Args;

use super::common::{DeviceOptions, device_names};
use crate::algebra::Simd;
use crate::bench::{EpriBench, EpriRow, bench_epri};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options::{count, positive};
use crate::report::{Column, Columns};

const EPRI: Columns<14> = Columns([
    Column::words("device", 8),
    Column::words("program", 30),
    Column::words("equal", 10),
    Column::numbers("size", 6),
    Column::numbers("proj.", 6),
    Column::numbers("threads", 9),
    Column::numbers("median s", 12),
    Column::numbers("spread s", 11),
    Column::numbers("kernels s", 11),
    Column::numbers("runs", 6),
    Column::numbers("Gupdates/s", 12),
    Column::numbers("to plain", 10),
    Column::numbers("to single", 11),
    Column::numbers("difference", 12),
]);

#[derive(Args)]
pub struct EpriOptions {
    /// Voxels along each axis of the object, separated by commas: one object for each.
    #[arg(long, value_delimiter = ',', default_value = "64,100,128,150,200", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub size: Vec<u16>,

    /// Minimum number of projections.
    #[arg(long, default_value_t = 208, value_parser = count::<u16>)]
    pub projections: u16,

    #[command(flatten)]
    devices: DeviceOptions,

    /// Also measure the fast program with the other vector instructions of this processor.
    #[arg(long)]
    pub all_simd: bool,

    /// Maximum measuring time per row, seconds.
    #[arg(long, default_value_t = 10.0, value_parser = positive)]
    pub row_secs: f64,
}

pub fn run(options: EpriOptions) -> CliResult<(String, Vec<EpriRow>)> {
    out!("{}", EPRI.titles());
    let gpus = options.devices.gpus();
    let bench = EpriBench {
        sizes: options.size.into_iter().map(usize::from).collect(),
        num_projections: usize::from(options.projections),
        threads: options.devices.threads(),
        all_simd: options.all_simd,
        gpus: gpus.clone(),
        row_secs: options.row_secs,
    };
    let rows = bench_epri(&bench, print_row)?;
    Ok((device_names(Simd::detect(), &gpus), rows))
}

fn print_row(row: &EpriRow) {
    let or_dash = |value: Option<String>| value.unwrap_or_else(|| "–".into());
    let cells = [
        row.device.to_string(),
        row.program.to_string(),
        row.directions.to_string(),
        row.size.to_string(),
        row.num_projections.to_string(),
        row.threads.to_string(),
        format!("{:.5}", row.median_s),
        format!("{:.5}", row.spread_s),
        or_dash(row.kernel_s.map(|secs| format!("{secs:.6}"))),
        row.num_runs.to_string(),
        format!("{:.3}", row.updates_per_s * 1e-9),
        or_dash(row.ratio_to_plain.map(|ratio| format!("{ratio:.1}"))),
        or_dash(row.ratio_to_single_stage.map(|ratio| format!("{ratio:.1}"))),
        or_dash(row.difference.map(|difference| format!("{difference:.1e}"))),
    ];
    out!("{}", EPRI.line(cells));
}
