//! `tomoscope bench tubes`.

use std::sync::Arc;

use clap::Args;

use super::common::{DeviceOptions, scanner_of};
use crate::bench::{TubesBench, TubesRow, bench_tubes};
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options::count;
use crate::operator::Accumulation;
use crate::plan::DeviceChoice;
use crate::report::{Column, Columns};

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

#[derive(Args)]
pub struct TubesOptions {
    /// Scanner of the catalogue that consists of heads.
    #[arg(long, default_value = "vrpet")]
    pub scanner: String,

    #[command(flatten)]
    devices: DeviceOptions,

    /// Numbers of subsets, separated by commas; 1 is MLEM.
    #[arg(long, value_delimiter = ',', default_value = "50", value_parser = count::<u16>)]
    pub subsets: Vec<u16>,

    /// Accumulation modes, separated by commas; the CPU supports only deterministic.
    #[arg(long, value_delimiter = ',', default_value = "deterministic")]
    pub accumulation: Vec<Accumulation>,

    /// Number of timed iterations.
    #[arg(long, default_value_t = 5, value_parser = count::<u16>)]
    pub iterations: u16,
}

pub fn run(options: TubesOptions) -> CliResult<(String, Vec<TubesRow>)> {
    let scanner = scanner_of(&options.scanner)?;
    let on_cpu = options.devices.threads().into_iter().map(|threads| (DeviceChoice::Cpu, Some(threads)));
    let devices: Vec<_> = on_cpu.chain(options.devices.gpus().into_iter().map(|gpu| (DeviceChoice::from(gpu), None))).collect();
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
    Ok((rows.first().map(|row| row.device.clone()).unwrap_or_default(), rows))
}
