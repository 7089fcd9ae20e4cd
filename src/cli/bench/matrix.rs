//! `tomoscope bench matrix`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::common::thread_counts;
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::cli::shared::options::{count, one_device};
use crate::io::saved_matrix::read_matrix;
use crate::plan::{DeviceChoice, MatrixTimes, MatrixTiming, matrix_times};
use crate::report::{Column, Columns};
use crate::scanner::find_ring;
use crate::session::thread_pool;

const MATRIX: Columns<9> = Columns([
    Column::words("device", 26),
    Column::words("layout", 8),
    Column::words("accumulation", 22),
    Column::numbers("forward s", 11),
    Column::numbers("spread s", 10),
    Column::numbers("back s", 11),
    Column::numbers("spread s", 10),
    Column::numbers("ratio", 8),
    Column::words("loading s", 15),
]);

#[derive(Args)]
pub struct MatrixOptions {
    /// The matrix (.matrix).
    matrix: PathBuf,

    /// Device: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = one_device)]
    device: DeviceChoice,

    /// Numbers of threads of the CPU, separated by commas; by default one and all.
    #[arg(long, value_delimiter = ',', value_parser = count::<u16>)]
    threads: Vec<u16>,

    /// Number of repetitions.
    #[arg(long, default_value_t = 5, value_parser = count::<u16>)]
    times: u16,
}

pub fn run(options: MatrixOptions) -> CliResult<(String, Vec<MatrixTimes>)> {
    let matrix = Arc::new(read_matrix(&options.matrix)?);
    let Some(ring) = find_ring(&matrix.scanner) else {
        return Err(CliError::failed(Failure::Input, format!("there is no ring '{}'", matrix.scanner)));
    };
    let threads: Vec<Option<usize>> = match options.device {
        DeviceChoice::Cpu => thread_counts(&options.threads).into_iter().map(Some).collect(),
        _ => vec![None],
    };
    out!("{}: {} elements; ratio = time of the first row, both ways, over a row's", ring.title, matrix.elements.len());
    out!("{}", MATRIX.titles());
    let mut rows: Vec<MatrixTimes> = Vec::new();
    for num_threads in threads {
        let (matrix, device, num_times) = (Arc::clone(&matrix), options.device, options.times.into());
        let timing = MatrixTiming { ring, matrix, device, num_times, plain_step: 1 };
        for row in thread_pool(num_threads)?.install(|| matrix_times(&timing))? {
            let ratio = rows.first().map_or(1.0, |first| first.both_s() / row.both_s());
            let [forward, forward_spread] = row.forward_s.map(|secs| format!("{secs:.5}"));
            let [back, back_spread] = row.backprojection_s.map(|secs| format!("{secs:.5}"));
            let (device, layout, way) = (row.device.clone(), row.layout.to_string(), row.accumulation.to_string());
            let loading = row.loading_s.map_or(String::new(), |[lines, functions]| format!("{lines:.3} + {functions:.3}"));
            let ratio = format!("{ratio:.1}");
            out!("{}", MATRIX.line([device, layout, way, forward, forward_spread, back, back_spread, ratio, loading]));
            rows.push(row);
        }
    }
    Ok((rows.first().map(|row| row.device.clone()).unwrap_or_default(), rows))
}
