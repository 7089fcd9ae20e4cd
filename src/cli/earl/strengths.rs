//! Strengths of the penalty to measure: the option `--beta` of `reconstruct` with a list.

use clap::{ArgMatches, Args, Command, Error, FromArgMatches};

use crate::plan::{BETA, Value};
use crate::report::distinct;

/// Strengths of the penalty, each once, in the order of the command line; empty = that of the algorithm.
#[derive(Clone, Debug, Default)]
pub struct Strengths(pub Vec<Value>);

impl Args for Strengths {
    fn augment_args(command: Command) -> Command {
        let help = "Strengths of the penalty, one run each: larger is smoother; 0 = none; auto = from the data";
        command.mut_arg(BETA.key, |arg| {
            let long = format!("{help}.\n\n{}", BETA.details);
            arg.value_delimiter(',').value_name("BETA,BETA").help(help).long_help(long)
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Strengths {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        Ok(Self(distinct(matches.get_many(BETA.key).into_iter().flatten().cloned())))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
