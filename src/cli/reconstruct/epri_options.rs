//! Options of `tomoscope reconstruct` for EPRI acquisitions.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::notices;
use crate::data::{Experiment, Notice, Radical};
use crate::io::{ReferenceChoice, field_notice, identity, read_reference, read_sweep_at_phase};
use crate::recon::field_warnings;

/// Options of EPRI acquisitions.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "EPRI acquisitions")]
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

    /// Shift of the field of the reference spectrum towards that of the projections, of continuous-wave data: mT, auto or none.
    ///
    /// Positive: the lines of the projections are at a higher field. auto: the shift that the projections show (a finished acquisition).
    /// Default: none.
    #[arg(long, value_name = "MT", value_parser = field_shift, allow_hyphen_values = true)]
    pub field_shift: Option<FieldShiftChoice>,

    /// Total variation: image file whose positive voxels are reconstructed; the others stay 0.
    #[arg(long, value_name = "FILE", group = "variation")]
    pub mask: Option<PathBuf>,

    /// Total variation: several radicals, NAME=FILE,NAME=FILE, with the spectrum of each. Writes OUT_NAME for each.
    ///
    /// Default: one radical, with the reference spectrum.
    #[arg(id = "radicals", long, alias = "sources", value_name = "NAME=FILE", value_delimiter = ',', value_parser = source, conflicts_with_all = ["init", "reference"], group = "variation")]
    pub sources: Vec<Source>,

    /// Total variation: further acquisition of the same object with another microwave power, modulation, field range or gradients; also
    /// more than once.
    ///
    /// The image explains all acquisitions at once. With --radicals, the spectrum of each radical in this acquisition follows the file:
    /// --radicals A=FILE,B=FILE --experiment FILE,A=FILE,B=FILE. Without, its reference spectrum is NAME-h in the folder of NAME-proj.
    #[arg(long, value_name = "FILE,NAME=FILE", value_parser = experiment, conflicts_with = "follow", group = "variation")]
    pub experiment: Vec<ExperimentFiles>,
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

/// The files of a further acquisition.
#[derive(Clone, Debug)]
pub struct ExperimentFiles {
    /// The projections.
    pub file: PathBuf,
    /// The spectra of the radicals.
    pub sources: Vec<Source>,
}

fn experiment(text: &str) -> Result<ExperimentFiles, String> {
    let mut parts = text.split(',');
    let file = parts.next().filter(|file| !file.is_empty()).ok_or("expected an acquisition: FILE or FILE,NAME=FILE,NAME=FILE")?;
    Ok(ExperimentFiles { file: file.into(), sources: parts.map(source).collect::<Result<_, _>>()? })
}

impl ExperimentFiles {
    pub fn files(&self) -> impl Iterator<Item = &PathBuf> {
        [&self.file].into_iter().chain(self.sources.iter().map(|source| &source.file))
    }

    /// Returns the spectra of these radicals, in their order.
    ///
    /// # Errors
    /// A spectrum that is missing, or of another radical.
    fn spectra_of(&self, radicals: &[Source]) -> CliResult<Vec<&Source>> {
        let of = |name: &str| self.sources.iter().find(|source| source.name == name);
        let found: Vec<&Source> = radicals.iter().filter_map(|radical| of(&radical.name)).collect();
        if found.len() == radicals.len() && self.sources.len() == radicals.len() {
            return Ok(found);
        }
        let names = |sources: &[Source]| sources.iter().map(|source| source.name.as_str()).collect::<Vec<_>>().join(", ");
        let file = self.file.display();
        Err(CliError::arguments(match (radicals.is_empty(), self.sources.is_empty()) {
            (true, _) => format!("--experiment {file}: spectra of radicals ({}) need --radicals", names(&self.sources)),
            (false, true) => {
                format!("--experiment {file}: the spectra of {} in it are missing: add ,NAME=FILE for each", names(radicals))
            }
            (false, false) => {
                format!("--experiment {file}: expected one spectrum each of {}, found {}", names(radicals), names(&self.sources))
            }
        }))
    }

    /// Reads it, and prints its notices.
    fn read(&self, radicals: &[Source]) -> CliResult<Experiment> {
        let spectra = self.spectra_of(radicals)?;
        let reference = if radicals.is_empty() { ReferenceChoice::Beside } else { ReferenceChoice::OfRadicals };
        let study = read_sweep_at_phase(&self.file, reference, None)?;
        let named = |notice: Notice| Notice { text: format!("{}: {}", self.file.display(), notice.text), ..notice };
        let of_field = field_warnings(&study.measured);
        let other_fields = spectra.iter().filter_map(|source| field_notice(&source.file, &self.file, &study.measured));
        notices::print(&study.notices.iter().cloned().chain(of_field).chain(other_fields).map(named).collect::<Vec<_>>());
        let radicals = spectra.into_iter().map(Source::read).collect::<CliResult<_>>()?;
        Ok(Experiment { file: self.file.clone(), sweep: Arc::new(study.measured), radicals })
    }
}

impl Source {
    /// Reads the spectrum, and prints its notices.
    fn read(&self) -> CliResult<Radical> {
        let (spectrum, found) = read_reference(&self.file)?;
        notices::print(&found);
        Ok(Radical { name: self.name.clone(), spectrum })
    }
}

impl EpriOptions {
    /// Returns the reference spectrum of the acquisition.
    pub fn reference_choice(&self) -> ReferenceChoice<'_> {
        if self.sources.is_empty() { self.reference.as_deref().into() } else { ReferenceChoice::OfRadicals }
    }

    /// Reads the spectra of the radicals.
    ///
    /// # Errors
    /// Two radicals of one name, an unreadable file.
    pub fn radicals(&self) -> CliResult<Vec<Radical>> {
        let names: Vec<&str> = self.sources.iter().map(|source| source.name.as_str()).collect();
        if let Some(name) = Radical::named_twice(&names) {
            return Err(CliError::arguments(format!("--radicals: {name} is named twice")));
        }
        self.sources.iter().map(Source::read).collect()
    }

    /// Reads the further acquisitions of the object; `first` is the file of the first one.
    ///
    /// # Errors
    /// An acquisition that is named twice, spectra that are missing or of other radicals, an unreadable file.
    pub fn experiments(&self, first: &Path) -> CliResult<Vec<Experiment>> {
        let files: Vec<PathBuf> = self.experiment.iter().map(|experiment| identity(&experiment.file)).collect();
        let twice = |(index, file): (usize, &PathBuf)| files[..index].contains(file) || *file == identity(first);
        if let Some((_, file)) = files.iter().enumerate().find(|pair| twice(*pair)) {
            return Err(CliError::arguments(format!("--experiment {}: named twice", file.display())));
        }
        self.experiment.iter().map(|experiment| experiment.read(&self.sources)).collect()
    }
}

/// A requested shift of the field.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum FieldShiftChoice {
    /// That of the projections.
    Auto,
    /// None.
    None,
    /// A shift, mT.
    Mt(f64),
}

fn field_shift(text: &str) -> Result<FieldShiftChoice, String> {
    match text {
        "auto" => Ok(FieldShiftChoice::Auto),
        "none" => Ok(FieldShiftChoice::None),
        _ => {
            let shift_mt = text.parse().ok().filter(|shift_mt: &f64| shift_mt.is_finite());
            shift_mt.map(FieldShiftChoice::Mt).ok_or_else(|| format!("'{text}' is not a shift; use auto, none, or a field in mT"))
        }
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
