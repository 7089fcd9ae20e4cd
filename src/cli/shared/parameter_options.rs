//! Options of the parameters of algorithms, from the registry.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::given::Given;
use crate::plan::{
    ALGORITHMS, AlgorithmChoice, AlgorithmEntry, DataKind, KAPPA, KAPPA_OF_FILE, Kind, LAMBDA_SPECTRAL, Parameter, Parameters,
    SPECTRAL_SAMPLES, Traits, Value, YES,
};
use crate::report::distinct;
use crate::text::either;

/// Values of the parameters of algorithms.
#[derive(Clone, Debug, Default)]
pub struct ParameterOptions(Parameters);

/// Returns every parameter once, in the order of the registry.
pub fn parameters() -> Vec<&'static Parameter> {
    let all = ALGORITHMS.iter().flat_map(|entry| entry.parameters).copied();
    let keys = distinct(all.clone().map(|parameter| parameter.key));
    keys.into_iter().filter_map(|key| all.clone().find(|parameter| parameter.key == key)).collect()
}

/// Returns the algorithms that have a parameter.
pub fn algorithms_with(key: &str) -> impl Iterator<Item = &'static AlgorithmEntry> {
    ALGORITHMS.iter().filter(move |entry| entry.parameters.iter().any(|parameter| parameter.key == key))
}

pub fn kinds_of(entry: &AlgorithmEntry) -> Vec<DataKind> {
    let kinds = [DataKind::Projections, DataKind::Events, DataKind::Pairs, DataKind::Sweep];
    kinds.into_iter().filter(|kind| (entry.is_for)(&Traits { kind: *kind, ..Traits::default() })).collect()
}

/// Returns the chosen algorithm, or the default one of the data.
///
/// # Errors
/// An algorithm for other data.
pub fn algorithm_for(data: DataKind, chosen: Option<AlgorithmChoice>) -> CliResult<AlgorithmChoice> {
    let algorithms: Vec<AlgorithmChoice> = AlgorithmChoice::all_for(Traits { kind: data, ..Traits::default() }).collect();
    let algorithm = chosen.or(algorithms.first().copied());
    algorithm.filter(|algorithm| algorithms.contains(algorithm)).ok_or_else(|| {
        let keys: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.key()).collect();
        CliError::arguments(format!("--algorithm: {} are reconstructed by {}", data.plural(), either(&keys)))
    })
}

/// Refuses parameters of other algorithms.
///
/// # Errors
/// Wrong arguments.
pub fn check_parameters(given: &Given, algorithm: AlgorithmChoice) -> CliResult {
    for parameter in parameters() {
        let has_it = algorithms_with(parameter.key).any(|entry| entry.key == algorithm.key());
        if let Some(option) = given.first_of([parameter.key]).filter(|_| !has_it) {
            let keys: Vec<&str> = algorithms_with(parameter.key).map(|entry| entry.key).collect();
            return Err(CliError::arguments(format!("{option} goes with --algorithm {}", either(&keys))));
        }
    }
    Ok(())
}

fn option(parameter: &'static Parameter) -> Arg {
    let parse = |text: &str| match parameter.parse(text) {
        // (An image file, which is read with the others.)
        Err(_) if parameter.key == KAPPA.key => Ok(Value::Name(text.to_owned())),
        value => value.map_err(|_| format!("expected {}", parameter.expected())),
    };
    let is_switch = matches!(parameter.kind, Kind::Choice { choices, .. } if choices().iter().any(|choice| choice.key == YES));
    let arg = Arg::new(parameter.key)
        .long(parameter.key.replace('_', "-"))
        .value_name(parameter.key.to_uppercase())
        .help(parameter.help)
        .long_help(format!("{}.\n\n{}", parameter.help, parameter.details))
        .value_parser(parse);
    // `--positivity` and `--positivity=yes` are the same.
    if is_switch { arg.num_args(0..=1).require_equals(true).default_missing_value(YES) } else { arg }
}

impl ParameterOptions {
    /// Returns the image file of κ.
    pub fn kappa(&self) -> Option<PathBuf> {
        match self.0.value(&KAPPA) {
            Some(Value::Name(name)) if KAPPA.parse(&name).is_err() => Some(name.into()),
            _ => None,
        }
    }

    /// Returns the values; with an image file κ is that of a file.
    pub fn values(&self) -> Parameters {
        match self.kappa() {
            Some(_) => self.0.clone().with_choice(&KAPPA, KAPPA_OF_FILE),
            None => self.0.clone(),
        }
    }
}

impl Args for ParameterOptions {
    fn augment_args(command: Command) -> Command {
        command.args(parameters().into_iter().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ParameterOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(values_of(parameters(), matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Values of the parameters of algorithms for EPRI acquisitions.
#[derive(Clone, Debug, Default)]
pub struct SweepParameterOptions(Parameters);

impl SweepParameterOptions {
    pub fn parameters() -> impl Iterator<Item = &'static Parameter> {
        let is_for_sweeps =
            |parameter: &&Parameter| algorithms_with(parameter.key).any(|entry| kinds_of(entry).contains(&DataKind::Sweep));
        // (Several images at delays have no spectrum in each voxel.)
        let is_of_spectra =
            |parameter: &&Parameter| [&SPECTRAL_SAMPLES, &LAMBDA_SPECTRAL].iter().any(|of| of.key == parameter.key);
        parameters().into_iter().filter(is_for_sweeps).filter(move |parameter| !is_of_spectra(parameter))
    }

    pub fn values(&self) -> Parameters {
        self.0.clone()
    }
}

impl Args for SweepParameterOptions {
    fn augment_args(command: Command) -> Command {
        command.args(Self::parameters().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SweepParameterOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(values_of(Self::parameters(), matches)))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// Returns the values of parameters on the command line.
fn values_of(parameters: impl IntoIterator<Item = &'static Parameter>, matches: &ArgMatches) -> Parameters {
    let mut values = Parameters::default();
    for parameter in parameters {
        values.set(parameter, matches.get_one::<Value>(parameter.key).cloned());
    }
    values
}
