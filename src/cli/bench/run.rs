//! `tomoscope bench`: how fast the program is, measured by itself.

use clap::{Args, Subcommand};

use super::{arrival, epri, iteration, list_mode, matrix, projector, tubes};
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options::TalkOptions;
use crate::cli::shared::outputs::Files;

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
    Projector(projector::ProjectorOptions),
    /// Measures a whole reconstruction: time by stage, cost of the live view, time from data to image.
    Iteration(iteration::IterationOptions),
    /// Measures EPRI backprojection: plain, fast and in two stages, for several image sizes.
    Epri(epri::EpriOptions),
    /// Measures the latency from a completed EPRI projection to the displayed image.
    Arrival(arrival::ArrivalOptions),
    /// Measures an iteration with tubes of response by number of threads and subsets.
    Tubes(tubes::TubesOptions),
    /// Measures projection and backprojection with a system matrix.
    Matrix(matrix::MatrixOptions),
    /// Measures list-mode projection and backprojection in several event orders, with and without time of flight.
    ListMode(list_mode::ListModeOptions),
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
        What::Projector(options) => projector::run(options),
        What::Iteration(options) => iteration::run(options),
        What::Epri(options) => epri::run(options),
        What::Arrival(options) => arrival::run(options),
        What::Tubes(options) => tubes::run(options),
        What::Matrix(options) => matrix::run(options),
        What::ListMode(options) => list_mode::run(options),
    }
}
