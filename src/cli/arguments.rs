//! The arguments of the program: a study for the window, or a command with its options.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::cli::attenuation;
use crate::cli::bench;
use crate::cli::connect;
use crate::cli::convert;
use crate::cli::earl;
use crate::cli::histogram;
use crate::cli::inspect;
use crate::cli::linewidth;
use crate::cli::manual;
use crate::cli::mu_map;
use crate::cli::oximetry;
use crate::cli::project;
use crate::cli::reconstruct;
use crate::cli::reproduce;
use crate::cli::send;
use crate::cli::serve;
use crate::cli::simulate;
use crate::cli::window;

/// Watch a PET or EPRI image reconstruct live.
#[derive(Parser)]
#[command(name = "tomoscope", version, args_conflicts_with_subcommands = true)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<CliCommand>,

    /// Study to open in the window; without it the built-in study runs.
    ///
    /// Projection data ({read projections}), list-mode data ({read lists}), a crystal-pair histogram (.pairs), an EPRI
    /// acquisition ({read acquisitions}) or a session (.session).
    pub study: Option<PathBuf>,

    #[command(flatten)]
    pub opened: window::StudyOptions,

    #[command(flatten)]
    pub connect: connect::ConnectOptions,

    /// Write a timeline of the window and the reconstruction as JSON lines.
    #[arg(long, value_name = "FILE")]
    pub trace: Option<PathBuf>,
}

/// Commands without a window.
#[derive(Subcommand)]
pub enum CliCommand {
    /// Measures the speed of the program.
    Bench(bench::run::BenchOptions),
    /// Lists the compute devices.
    Devices,
    /// Checks this computer and prints its state for a bug report.
    ///
    /// Program, system, processor, folders, display, CUDA and graphics, then the problems and their remedies. The report contains no
    /// names of users or hosts.
    Doctor(inspect::doctor::DoctorOptions),
    /// Describes a file.
    Info(inspect::info::InfoOptions),
    /// Simulates a scan of an analytic phantom.
    Simulate(Box<simulate::options::SimulateOptions>),
    /// Reconstructs images from projection data, list-mode data or EPRI acquisitions.
    Reconstruct(Box<reconstruct::batch::BatchOptions>),
    /// Reproduces the tables of a published paper.
    Reproduce(reproduce::ReproduceOptions),
    /// Forward-projects an image.
    Project(project::ProjectOptions),
    /// Backprojects projection data into an image.
    Backproject(project::BackprojectOptions),
    /// Histograms list-mode data into a sinogram.
    Histogram(histogram::HistogramOptions),
    /// Converts an image to another format.
    Convert(convert::ConvertOptions),
    /// Projects attenuation maps into the factors of a sinogram.
    Attenuation(attenuation::AttenuationOptions),
    /// Converts CT into an attenuation map at 511 keV.
    MuMap(mu_map::MuMapOptions),
    /// Maps relaxation rates and oxygen pressure from EPRI images at several delays or echo times.
    ///
    /// Writes OUT_r1 (OUT_r2), OUT_pO2 and its standard deviation OUT_pO2_sd. Voxels without a rate are NaN.
    Oximetry(Box<oximetry::options::OximetryOptions>),
    /// Measures concentrations and numbers of spins on an EPRI image, by a sample of known concentration or amount.
    Concentration(inspect::concentration::ConcentrationOptions),
    /// Maps amplitude, width and position of the lines in the spectra of an EPRI image.
    ///
    /// Writes OUT_amplitude, OUT_linewidth, OUT_linewidth_sd and OUT_position. Voxels without a line are NaN.
    Linewidth(linewidth::options::LinewidthOptions),
    /// Measures regions of interest on an image.
    Measure(inspect::measure::MeasureOptions),
    /// Measures lesions: maximum, mean, peak, volume, total glycolysis, and their change since a baseline.
    Lesions(Box<inspect::lesions::LesionArguments>),
    /// Compares two images.
    Compare(inspect::compare::CompareOptions),
    /// Simulates tubes of response of a scanner with rotating heads.
    Tubes(simulate::tubes::TubesOptions),
    /// Simulates the system matrix of a ring of crystals.
    Matrix(simulate::matrix::MatrixOptions),
    /// Measures NEMA image quality (NU 2 body phantom, NU 4 small-animal phantom).
    Nema(inspect::nema::NemaOptions),
    /// Finds iterations, post-filters and strengths of a penalty that comply with a standard of PET image quality (EARL).
    ///
    /// Reconstructs a scan of the NEMA NU 2 phantom with six hot spheres, and measures the image of every iteration after every
    /// post-filter. Exit code 1 if no setting complies.
    Earl(Box<earl::EarlOptions>),
    /// Sends DICOM files to a node of the network (PACS).
    Send(send::SendOptions),
    /// Runs the server of a remote window (started by tomoscope --connect).
    Serve(serve::ServeArguments),
    /// Prints shell completions.
    Completions(manual::CompletionOptions),
    /// Prints the manual page.
    Man(manual::ManOptions),
}
