//! `tomoscope doctor`: the contents of a bug report, and nothing private.
//!
//! Each section is one function that reads facts through the functions of the program and adds the problems that it finds. Text
//! and JSON are two prints of the same [`Section`]s. Sections are printed as they are found, the graphics drivers last: if a
//! driver ends the process, the rest is on the screen.

#![cfg_attr(not(feature = "window"), allow(dead_code, unused_imports))] // of the sections of the window

mod devices;
mod folders;
mod private;
mod problem;
mod section;
mod system;

use serde_json::{Map, Value};

use self::private::Private;
use self::problem::Findings;
use self::section::Section;
use crate::cli::shared::console::{out, print_result};
use crate::cli::shared::error::CliResult;

/// Options of `tomoscope doctor`.
#[derive(clap::Args)]
pub struct DoctorOptions {
    /// Print the report as one JSON object.
    #[arg(long)]
    json: bool,
}

/// Returns a section of the report; adds the problems that it finds.
type Probe = fn(&Private, &mut Findings) -> Section;

/// The sections in their order.
const PROBES: &[Probe] = &[
    system::program,
    system::system,
    system::processor,
    folders::folders,
    #[cfg(feature = "window")]
    system::display,
    system::locale,
    devices::cuda,
    #[cfg(feature = "window")]
    devices::graphics,
];

/// Prints the report. Problems do not change the exit code.
pub fn run(options: &DoctorOptions) -> CliResult {
    let private = Private::of_the_user();
    let mut findings = Findings::default();
    let mut report = Map::new();
    for probe in PROBES {
        let section = probe(&private, &mut findings);
        if options.json {
            report.insert(section.key(), section.json(&private));
        } else {
            out!("{}", section.text(&private));
        }
    }
    let problems = &findings.problems;
    if options.json {
        let problems = problems.iter().map(|problem| problem.json(&private)).collect();
        report.insert("problems".to_owned(), Value::Array(problems));
        print_result(format_args!("{}\n", serde_json::to_string_pretty(&report)?));
    } else {
        out!("{}", problem::text(problems, &private));
    }
    Ok(())
}
