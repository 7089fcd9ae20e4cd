//! `tomoscope bench`: the speed of the program.

use clap::{Args, Subcommand};

use super::common::WithRows;
use super::{arrival, epri, iteration, list_mode, matrix, penalty, projector, replicates, tubes};
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options::TalkOptions;

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
    Projector(WithRows<projector::ProjectorOptions>),
    /// Measures a whole reconstruction: time by stage, cost of the live view, time from data to image.
    Iteration(WithRows<iteration::IterationOptions>),
    /// Measures EPRI backprojection: plain, fast and in two stages, for several image sizes.
    Epri(WithRows<epri::EpriOptions>),
    /// Measures the latency from a completed EPRI projection to the displayed image.
    Arrival(WithRows<arrival::ArrivalOptions>),
    /// Measures an iteration with tubes of response by number of threads and subsets.
    Tubes(WithRows<tubes::TubesOptions>),
    /// Measures projection and backprojection with a system matrix.
    Matrix(WithRows<matrix::MatrixOptions>),
    /// Measures a gradient of a penalty next to an iteration of MLEM, and an epoch of SVRG next to one of OSEM.
    Penalty(WithRows<penalty::PenaltyOptions>),
    /// Measures list-mode projection and backprojection in several event orders, with and without time of flight.
    ListMode(WithRows<list_mode::ListModeOptions>),
    /// Measures an iteration with replicates of list-mode data next to one without.
    Replicates(WithRows<replicates::ReplicatesOptions>),
}

pub fn run(options: BenchOptions) -> CliResult {
    options.talk.apply_to_notes();
    match options.what {
        What::Projector(options) => options.run(projector::run),
        What::Iteration(options) => options.run(iteration::run),
        What::Epri(options) => options.run(epri::run),
        What::Arrival(options) => options.run(arrival::run),
        What::Tubes(options) => options.run(tubes::run),
        What::Matrix(options) => options.run(matrix::run),
        What::Penalty(options) => options.run(penalty::run),
        What::ListMode(options) => options.run(list_mode::run),
        What::Replicates(options) => options.run(replicates::run),
    }
}
