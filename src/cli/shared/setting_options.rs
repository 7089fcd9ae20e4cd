//! Options of the settings of algorithms, from the registry.

use std::marker::PhantomData;
use std::path::PathBuf;

use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};

use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::given::Given;
use crate::plan::{
    AlgorithmChoice, DataKind, KAPPA, KAPPA_OF_FILE, KERNEL, LAMBDA_SPECTRAL, SCAN_SECS, SPECTRAL_SAMPLES, Setting, Traits,
    Value, Values, YES,
};
use crate::text::either;

/// Settings that are options of a command.
pub trait SettingSet: Clone + Default + std::fmt::Debug {
    /// Returns true if a setting of the registry is an option of the command.
    fn has(setting: &Setting) -> bool;
}

/// Those of `reconstruct`.
#[derive(Clone, Debug, Default)]
pub struct AllSettings;

impl SettingSet for AllSettings {
    fn has(_: &Setting) -> bool {
        true
    }
}

/// Those of the reconstruction of EPRI acquisitions for `oximetry`.
#[derive(Clone, Debug, Default)]
pub struct SweepSettings;

impl SettingSet for SweepSettings {
    fn has(setting: &Setting) -> bool {
        // (Several images at delays have no spectrum in each voxel.)
        let without = [&SPECTRAL_SAMPLES, &LAMBDA_SPECTRAL, &KERNEL];
        kinds_with(setting).contains(&DataKind::Sweep) && without.iter().all(|other| other.key != setting.key)
    }
}

/// Values of the settings of algorithms.
#[derive(Clone, Debug, Default)]
pub struct SettingOptions<S = AllSettings>(Values, PhantomData<S>);

/// Returns the settings of algorithms that are options. (The duration of a scan is among the options of its facts.)
pub fn settings() -> Vec<&'static Setting> {
    AlgorithmChoice::all_settings().into_iter().filter(|setting| setting.key != SCAN_SECS.key).collect()
}

/// Returns the algorithms that have a setting.
fn algorithms_with(setting: &Setting) -> impl Iterator<Item = AlgorithmChoice> {
    let key = setting.key;
    AlgorithmChoice::all().filter(move |choice| choice.settings().iter().any(|other| other.key == key))
}

/// Returns the kinds of data that a setting affects.
pub fn kinds_with(setting: &Setting) -> Vec<DataKind> {
    let of_kind = |kind| Traits { kind, is_continuous_wave: true, separates_spectra: true, ..Traits::default() };
    let kinds = [DataKind::Projections, DataKind::Events, DataKind::Pairs, DataKind::Sweep].map(of_kind);
    let is_affected =
        |data: &Traits| (setting.is_for)(data) && algorithms_with(setting).any(|choice| (choice.entry().is_for)(data));
    kinds.into_iter().filter(is_affected).map(|data| data.kind).collect()
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

/// Refuses settings of other algorithms.
///
/// # Errors
/// Wrong arguments.
pub fn check_settings(given: &Given, algorithm: AlgorithmChoice) -> CliResult {
    for setting in settings() {
        let algorithms: Vec<AlgorithmChoice> = algorithms_with(setting).collect();
        if let Some(option) = given.first_of([setting.key]).filter(|_| !algorithms.contains(&algorithm)) {
            let keys: Vec<&str> = algorithms.iter().map(|choice| choice.key()).collect();
            return Err(CliError::arguments(format!("{option} goes with --algorithm {}", either(&keys))));
        }
    }
    Ok(())
}

fn option(setting: &'static Setting) -> Arg {
    let parse = |text: &str| match setting.parse(text) {
        // (An image file, which is read with the others.)
        Err(_) if setting.key == KAPPA.key => Ok(Value::Name(text.to_owned())),
        value => value.map_err(|_| format!("expected {}", setting.expected())),
    };
    let of_kinds = if kinds_with(setting).first() == Some(&DataKind::Sweep) { "EPRI acquisitions" } else { "Algorithm" };
    let mut arg = Arg::new(setting.key)
        .long(setting.key.replace('_', "-"))
        .value_name(if setting.is_switch() { "yes|no".to_owned() } else { setting.key.to_uppercase() })
        .help(setting.help)
        .long_help(format!("{}.\n\n{}", setting.help, setting.details))
        .help_heading(if setting.heading.is_empty() { of_kinds } else { setting.heading })
        .value_parser(parse);
    if !setting.alias.is_empty() {
        arg = arg.alias(setting.alias);
    }
    if let Some((other, "")) = setting.needs {
        arg = arg.requires(other.key);
    }
    // `--positivity` and `--positivity=yes` are the same.
    if setting.is_switch() { arg.num_args(0..=1).require_equals(true).default_missing_value(YES) } else { arg }
}

impl<S: SettingSet> SettingOptions<S> {
    /// Returns the settings that are options.
    pub fn settings() -> impl Iterator<Item = &'static Setting> {
        settings().into_iter().filter(|setting| S::has(setting))
    }

    /// Returns the image file of κ.
    pub fn kappa(&self) -> Option<PathBuf> {
        match self.0.value(&KAPPA) {
            Some(Value::Name(name)) if KAPPA.parse(&name).is_err() => Some(name.into()),
            _ => None,
        }
    }

    /// Returns the values; with an image file κ is that of a file.
    pub fn values(&self) -> Values {
        match self.kappa() {
            Some(_) => self.0.clone().with_choice(&KAPPA, KAPPA_OF_FILE),
            None => self.0.clone(),
        }
    }
}

impl<S: SettingSet> Args for SettingOptions<S> {
    fn augment_args(command: Command) -> Command {
        command.args(Self::settings().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<S: SettingSet> FromArgMatches for SettingOptions<S> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut values = Values::default();
        for setting in Self::settings() {
            values.set(setting, matches.get_one::<Value>(setting.key).cloned());
        }
        Ok(Self(values, PhantomData))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
