//! `tomoscope simulate PHANTOM --epri SCHEME --oxygen -o OUT.sweep`: a sweep for each delay or echo time of pulse oximetry.

use std::path::PathBuf;
use std::sync::Arc;

use super::options::SimulateOptions;
use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::notices;
use crate::cli::shared::printed::written;
use crate::cli::shared::progress::with_bar;
use crate::data::RelaxationRate;
use crate::io::oximetry::{self, OximetryStudy};
use crate::io::write_sweep;
use crate::phantom::epri::{Phantom, SweepOptions, simulate_oxygen};
use crate::plan::Start;
use crate::text::counted;

pub fn run(options: &SimulateOptions, phantom: &Phantom, sweep_options: &SweepOptions, start: Start) -> CliResult {
    let oxygen = options.oxygen.options()?;
    let scan = with_bar("simulating", |task| simulate_oxygen(phantom, sweep_options, &oxygen, task))??;
    for (study, path) in scan.sweeps.iter().zip(options.oxygen.outputs(&options.output)) {
        notices::print(&study.notices);
        write_sweep(&path, study)?;
        let measured = &study.measured;
        written(&path, format!("{}: {}", study.title, counted(measured.num_complete(), "projection")));
    }
    let acquisitions = oxygen.times_us.iter().copied().zip(options.oxygen.outputs(&options.output));
    let file_name = |path: PathBuf| path.file_name().map(PathBuf::from).unwrap_or_default();
    let study = OximetryStudy {
        title: phantom.title.to_owned(),
        calibration: oxygen.calibration.clone(),
        acquisitions: acquisitions.map(|(time, path)| (time, file_name(path))).collect(),
    };
    let path = options.oxygen.study_file(&options.output);
    oximetry::write(&path, &study, &options.oxygen.calibration_beside(&path))?;
    written(&path, "study of pulse oximetry, for tomoscope oximetry and the window");
    let option = if oxygen.calibration.rate == RelaxationRate::R1 { "--delays-us" } else { "--echo-times-us" };
    let times: Vec<String> = oxygen.times_us.iter().map(f64::to_string).collect();
    out!("images of other programs need {option} {} --calibration {}", times.join(","), options.oxygen.calibration);
    let Some(mut study) = scan.sweeps.into_iter().next() else { return Ok(()) };
    study.title = format!("{}, pO2 by {}", phantom.title, oxygen.calibration.title);
    study.truth = scan.truth.map(Arc::new);
    options.write_companions(&study, start)
}
