//! `tomoscope attenuation MU --like SCAN -o FACTORS`: the attenuation factors of a sinogram.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use clap::Args;

use super::shared::console::out;
use super::shared::error::{CliResult, Done};
use super::shared::notices;
use super::shared::options::{TalkOptions, rays};
use super::shared::outputs::Files;
use super::shared::paths::file_of;
use crate::data::{CorrectionContent, MuUnit};
use crate::io::formats::Content;
use crate::io::{OwnFacts, read_geometry, write_projections_with};
use crate::plan::{Rays, attenuation_factors, read_maps};
use crate::task::Task;

/// Options of `tomoscope attenuation`.
#[derive(Args, Clone, Debug)]
pub struct AttenuationOptions {
    /// Attenuation map: linear attenuation coefficients at 511 keV ({read images}), on any grid; or CT, a DICOM series.
    mu: PathBuf,

    /// Projection data whose sampling to use ({read projections}); the header alone is enough.
    #[arg(long, value_name = "PROJDATA")]
    like: PathBuf,

    /// Further map to add, as of a bed or a holder; also more than once.
    #[arg(long, value_name = "MU")]
    add: Vec<PathBuf>,

    /// Unit of the maps: per-cm or per-mm.
    ///
    /// Default: that of each file, else per-cm if its largest value is above 0.06, and per-mm if it is below 0.02.
    #[arg(long, value_name = "UNIT")]
    mu_unit: Option<MuUnit>,

    /// Factors to write ({write projections}): exp(−∫µ), for --multiplicative.
    #[arg(short, long, value_name = "OUT.hs", value_parser = file_of(Content::Projections))]
    output: PathBuf,

    /// Rays per bin, tangential and axial, whose mean integral is taken: T,A or auto.
    #[arg(long, default_value = "auto", value_name = "T,A", value_parser = rays)]
    rays: Rays,

    #[command(flatten)]
    talk: TalkOptions,
}

/// Projects the maps and writes the factors.
pub fn run(options: &AttenuationOptions) -> CliResult<Done> {
    options.talk.apply();
    Files::new().read([&options.mu, &options.like]).read(&options.add).write("-o", [&options.output]).check()?;
    let geometry = Arc::new(notices::printed(read_geometry(&options.like)?));
    let field = geometry.default_grid()?;
    let maps = notices::printed(read_maps(&options.mu, None, &options.add, options.mu_unit, &field)?);
    let start = Instant::now();
    let factors = attenuation_factors(&geometry, &maps, options.rays, &Task::new())?;
    out!("projected in {:.2} s", start.elapsed().as_secs_f64());
    // (They belong to the object, not to one of its scans.)
    let own = OwnFacts { contents: Some(vec![CorrectionContent::Attenuation]), ..OwnFacts::default() };
    write_projections_with(&options.output, &factors, &own)?;
    let least = factors.counts.iter().copied().fold(1.0, f32::min);
    out!("{}: {} factors, the smallest {least:.6}", options.output.display(), factors.counts.len());
    Ok(Done::Complete)
}
