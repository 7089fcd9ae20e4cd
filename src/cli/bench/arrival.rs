//! `tomoscope bench arrival`.

use clap::Args;

use crate::bench::{ArrivalBench, ArrivalRow, bench_arrival};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options;
use crate::cli::shared::options::positive;
use crate::plan::DeviceChoice;
use crate::report::{Column, Columns};

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

#[derive(Args)]
pub struct ArrivalOptions {
    /// Voxels along each axis, separated by commas.
    #[arg(long, value_delimiter = ',', default_value = "64,128", value_parser = clap::value_parser!(u16).range(2..))]
    pub size: Vec<u16>,

    /// Projections per second.
    #[arg(long, default_value_t = 25.0, value_name = "N", value_parser = positive)]
    pub pace: f64,

    /// Device: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::one_device)]
    pub device: DeviceChoice,
}

pub fn run(options: ArrivalOptions) -> CliResult<(String, Vec<ArrivalRow>)> {
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
    Ok((rows.first().map(|row| row.device.clone()).unwrap_or_default(), rows))
}
