//! `tomoscope simulate PHANTOM --scanner NAME -o OUT.hs`: a scan of an analytic phantom, as files. (With `--epri` in place
//! of a scanner: [`super::epri`].)

use super::options::{Detectors, SimulateOptions};
use super::{epri, list, petric, photons, scan};
use crate::cli::shared::error::{CliError, CliResult};

pub fn run(options: &SimulateOptions) -> CliResult {
    options.talk.apply();
    if let Some(folder) = &options.petric {
        return petric::run(options, folder);
    }
    options.files().check()?;
    match (options.epri.epri, options.scanner) {
        (Some(scheme), _) => epri::run(options, scheme),
        (None, Some(Detectors::Bins(scanner))) if options.list.list_mode => list::run(options, scanner),
        (None, Some(Detectors::Bins(scanner))) => scan::run_scan(options, scanner),
        (None, Some(Detectors::Ring(_))) if options.list.list_mode => {
            Err(CliError::arguments("--list-mode is for scanners; a ring of crystals gives a crystal-pair histogram (.pairs)"))
        }
        (None, Some(Detectors::Ring(ring))) => photons::run_ring(options, ring),
        (None, None) => Err(CliError::arguments("name a scanner (--scanner) or the directions of an EPRI sweep (--epri)")),
    }
}
