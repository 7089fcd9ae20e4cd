//! The tomoscope program: its command line, which also opens the window.

use std::process::ExitCode;

use tomoscope_app::{remote, session};
#[cfg(feature = "window")]
use tomoscope_app::{render, ui};
use tomoscope_base::{coded, data, geometry, scanner, statistics, task, text};
#[cfg(feature = "cuda")]
use tomoscope_engine::cuda;
#[cfg(feature = "mpi")]
use tomoscope_engine::mpi;
use tomoscope_engine::{algebra, measure, montecarlo, operator, phantom, plan, recon, webgpu};
use tomoscope_formats::{io, pacs};
use tomoscope_papers::{bench, reproduce};
use tomoscope_report as report;

mod cli;
#[cfg(not(feature = "window"))]
mod without_window;
#[cfg(not(feature = "window"))]
use without_window as ui;

fn main() -> ExitCode {
    cli::main()
}
