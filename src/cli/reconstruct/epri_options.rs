//! Options of `tomoscope reconstruct` for EPRI acquisitions.

use std::path::PathBuf;

use clap::Args;

use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::notices;
use crate::data::Radical;
use crate::io::read_reference;
use crate::plan::PlaneKernel;

/// Options of EPRI acquisitions.
#[derive(Args, Clone, Debug)]
pub struct EpriOptions {
    /// Reference spectrum of continuous-wave data.
    ///
    /// Default: NAME-h in the folder of NAME-proj.
    #[arg(long, value_name = "FILE")]
    pub reference: Option<PathBuf>,

    /// Phase correction of complex projections in degrees, or auto.
    ///
    /// auto: the phase with the minimum imaginary part and a positive absorption (default). A complex reference spectrum has
    /// its own phase.
    #[arg(long, value_name = "DEG", value_parser = phase)]
    pub phase: Option<PhaseChoice>,

    /// Total variation: image file whose positive voxels are reconstructed; the others stay 0.
    #[arg(long, value_name = "FILE")]
    pub mask: Option<PathBuf>,

    /// Total variation: several radicals, NAME=FILE,NAME=FILE, with the spectrum of each. Writes OUT_NAME for each.
    ///
    /// Default: one radical, with the reference spectrum.
    #[arg(long, value_name = "NAME=FILE", value_delimiter = ',', value_parser = source, conflicts_with = "init")]
    pub sources: Vec<Source>,

    /// Implementation of single-stage backprojection: fast, or paper (double precision, in the order of Qiao et al. 2015).
    ///
    /// Default: fast.
    #[arg(long)]
    pub kernel: Option<PlaneKernel>,
}

/// A radical and the file of its spectrum.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name, which is also in file names.
    pub name: String,
    /// The file of its spectrum.
    pub file: PathBuf,
}

fn source(text: &str) -> Result<Source, String> {
    let expected = || format!("'{text}' is not a radical; use NAME=FILE, with letters, digits, - and _ in the name");
    let (name, file) = text.split_once('=').ok_or_else(expected)?;
    if Radical::is_name(name) && !file.is_empty() { Ok(Source { name: name.into(), file: file.into() }) } else { Err(expected()) }
}

impl EpriOptions {
    /// Reads the spectra of the radicals.
    ///
    /// # Errors
    /// Two radicals of one name, an unreadable file.
    pub fn radicals(&self) -> CliResult<Vec<Radical>> {
        let names: Vec<&str> = self.sources.iter().map(|source| source.name.as_str()).collect();
        if let Some(name) = Radical::named_twice(&names) {
            return Err(CliError::arguments(format!("--sources: {name} is named twice")));
        }
        let radical = |source: &Source| {
            let (spectrum, found) = read_reference(&source.file)?;
            notices::print(&found);
            Ok(Radical { name: source.name.clone(), spectrum })
        };
        self.sources.iter().map(radical).collect()
    }
}

/// A requested phase, degrees; `None` = that of the data.
#[derive(Clone, Copy, Debug)]
pub struct PhaseChoice(pub Option<f64>);

pub fn phase(text: &str) -> Result<PhaseChoice, String> {
    if text == "auto" {
        return Ok(PhaseChoice(None));
    }
    let degrees = text.parse().ok().filter(|degrees: &f64| degrees.is_finite());
    degrees.map(|degrees| PhaseChoice(Some(degrees))).ok_or_else(|| format!("'{text}' is not a phase; use auto or degrees"))
}
