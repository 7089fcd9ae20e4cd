//! The options that were set on the command line.

use std::collections::{BTreeMap, BTreeSet};

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, Error, FromArgMatches, Id};

use crate::cli::shared::option_groups::groups;

/// Identifiers of the options that were set on the command line. As a flattened part of a command's options it collects all of
/// them.
#[derive(Clone, Debug, Default)]
pub struct Given {
    options: BTreeSet<String>,
    /// Those of each group.
    groups: BTreeMap<&'static str, Vec<String>>,
}

impl Given {
    /// Returns the first of these options that was set, in its written form.
    pub fn first_of<'a>(&self, ids: impl IntoIterator<Item = &'a str>) -> Option<String> {
        ids.into_iter().find(|id| self.options.contains(*id)).map(written)
    }

    /// Returns the first option of these groups that was set, in its written form.
    pub fn first_in<'a>(&self, groups: impl IntoIterator<Item = &'a str>) -> Option<String> {
        groups.into_iter().flat_map(|group| self.groups.get(group).into_iter().flatten()).next().map(|id| written(id))
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
        let options: BTreeSet<String> = matches.ids().map(|id| id.as_str()).filter(is_set).map(str::to_owned).collect();
        let members = |group| matches.try_get_many::<Id>(group).ok().flatten().into_iter().flatten().map(Id::to_string);
        let set = |group| members(group).filter(|id| options.contains(id)).collect();
        let groups = groups().map(|group| (group, set(group))).collect();
        Ok(Self { options, groups })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
