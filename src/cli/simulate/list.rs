//! `tomoscope simulate PHANTOM --scanner NAME --list-mode -o OUT.petsird`: a simulated scan event by event.

use std::sync::Arc;

use super::options::SimulateOptions;
use crate::cli::shared::console::out;
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::notices;
use crate::cli::shared::printed::{remove_stale, written};
use crate::cli::shared::progress::with_bar;
use crate::data::{EventChunk, Events, tof_mm};
use crate::io::list_mode::castor::Writer as CastorWriter;
use crate::io::list_mode::petsird::PetsirdWriter;
use crate::io::{FileKind, map_beside, stale_companions, write_volume};
use crate::phantom;
use crate::phantom::{ListSimulation, SimulatedList, simulate_list};
use crate::plan::Start;
use crate::scanner::Scanner;
use crate::text::counted;

/// Time of a block of a PETSIRD list, ms.
const BLOCK_MS: u32 = 100;

/// Default duration of a scan, s.
const DURATION_SECS: f64 = 60.0;

/// Writes the events; returns a description of them.
fn write(options: &SimulateOptions, list: &SimulatedList) -> CliResult<String> {
    let EventChunk { prompts, delayeds, .. } = &list.events;
    let num_prompts = counted(prompts.len(), "prompt");
    match FileKind::of(&options.output) {
        Some(FileKind::Petsird) => {
            let mut writer = PetsirdWriter::create(&options.output, &list.facts, BLOCK_MS)?;
            writer.write(&list.events)?;
            notices::print(&writer.finish()?);
            Ok(format!("{num_prompts} and {} delayed", delayeds.len()))
        }
        Some(FileKind::Castor) => {
            let mut writer = CastorWriter::create(&options.output, Arc::clone(&list.facts))?;
            let has_randoms = list.randoms_per_pair > 0.0;
            let additive = if has_randoms { vec![list.randoms_per_pair as f32; prompts.len()] } else { Vec::new() };
            writer.put(&Events { additive, ..prompts.clone() })?;
            writer.finish()?;
            Ok(if has_randoms { format!("{num_prompts}, each with its random rate") } else { num_prompts })
        }
        _ => Err(CliError::arguments(format!("{} must end in .petsird or .Cdh (list-mode data)", options.output.display()))),
    }
}

pub fn run(options: &SimulateOptions, scanner: &Scanner) -> CliResult {
    let start = Start::now();
    let phantom = phantom::by_name(&options.phantom, &scanner.geometry)?;
    let simulation = ListSimulation {
        counts: options.counts,
        attenuation: options.attenuation,
        seed: options.seed,
        duration_secs: options.list.duration_secs.unwrap_or(DURATION_SECS),
        tof_fwhm_mm: options.list.tof_ps.map(tof_mm),
        randoms_fraction: options.background,
    };
    let study = with_bar("simulating", |task| simulate_list(&phantom, &scanner.geometry, &simulation, task))??;
    notices::print(&study.notices);
    let map = map_beside(&options.output);
    let stale = stale_companions(&options.output, |file| options.attenuation && file == map)?;
    let what = write(options, &study.measured)?;
    out!("{} on {}", study.title, scanner.title);
    written(&options.output, what);
    if options.attenuation {
        let grid = scanner.geometry.default_grid()?;
        write_volume(&map, &with_bar("drawing", |task| phantom.attenuation(&grid, task))??)?;
        written(&map, "map of attenuation, 1/cm");
    }
    remove_stale(&stale)?;
    options.write_companions(&study, start)
}
