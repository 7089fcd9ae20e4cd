//! The options that were set on the command line.

use std::collections::BTreeSet;

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

/// Identifiers of the options that were set on the command line. As a flattened part of a command's options it collects all of
/// them.
#[derive(Clone, Debug, Default)]
pub struct Given(BTreeSet<String>);

impl Given {
    /// Returns the first of these options that was set, in its written form.
    pub fn first_of<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> Option<String> {
        ids.into_iter().find(|id| self.0.contains(*id)).map(written)
    }
}

/// Returns the written form of an option: `--stop-noise`.
pub fn written(id: &str) -> String {
    format!("--{}", id.replace('_', "-"))
}

impl Args for Given {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for Given {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let is_set = |id: &&str| matches.value_source(id) == Some(ValueSource::CommandLine);
        Ok(Self(matches.ids().map(|id| id.as_str()).filter(is_set).map(str::to_owned).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
