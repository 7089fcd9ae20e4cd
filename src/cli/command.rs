//! The completed definition of the command line: the groups of options, and negative numbers as values, so that their
//! refusal names the value and not an unknown option.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{Arg, ArgGroup, Command, CommandFactory as _, Error, FromArgMatches as _, Subcommand as _};

use crate::cli::arguments::{Cli, CliCommand};
use crate::cli::shared::option_groups::{RECONSTRUCT_ONLY, groups};
use crate::cli::shared::setting_options::{kinds_with, settings};
use crate::io::FileKind;
use crate::io::formats::filled;
use crate::plan::DataKind;

/// Widest text of a help page, in columns.
const MAX_WIDTH: usize = 120;

pub fn command() -> Command {
    completed(Cli::command())
}

/// Parses arguments; the first is the program's name.
///
/// # Errors
/// Invalid arguments, or a request for help.
pub(super) fn parse(arguments: &[OsString]) -> Result<Cli, Error> {
    if let Some(error) = unknown_command(arguments) {
        return Err(error);
    }
    let mut definition = command();
    let matches = definition.try_get_matches_from_mut(arguments)?;
    Cli::from_arg_matches(&matches).map_err(|error| error.format(&mut definition))
}

/// Returns the refusal of a first word that is neither a command nor looks like a file. (Without it, clap would take the word for the
/// study to open.)
fn unknown_command(arguments: &[OsString]) -> Option<Error> {
    let [program, word, ..] = arguments else { return None };
    let text = word.to_str()?;
    let is_file = text.contains(['/', '\\', '.']) || FileKind::of(Path::new(word)).is_some() || Path::new(word).exists();
    if text.is_empty() || text.starts_with('-') || is_file {
        return None;
    }
    let commands = CliCommand::augment_subcommands(Command::new("tomoscope"));
    let found = commands.try_get_matches_from([program, word]);
    found.err().filter(|error| error.kind() == ErrorKind::InvalidSubcommand)
}

fn completed(command: Command) -> Command {
    let name = command.get_name().to_owned();
    let of_command = move |arg: Arg| match WITH_HEADINGS.contains(&name.as_str()) {
        true => arg,
        false => arg.help_heading(None::<&str>),
    };
    let command = command.max_term_width(MAX_WIDTH).mut_args(|arg| with_endings(with_negative_numbers(of_command(arg))));
    // (Those of all options of a struct exist.)
    let further: Vec<&str> = groups().filter(|group| !group.starts_with(char::is_uppercase)).collect();
    let command = command.groups(further.into_iter().map(|group| ArgGroup::new(group).multiple(true)));
    let command = if command.get_name() == "earl" { without_images(command) } else { command };
    command.mut_subcommands(completed)
}

/// Replaces `{read images}` and the like in the help by the endings of formats.
fn with_endings(arg: Arg) -> Arg {
    let filled = |text: Option<&StyledStr>| text.map(|text| filled(&text.to_string()));
    let (short, long) = (filled(arg.get_help()), filled(arg.get_long_help()));
    let arg = if let Some(short) = short { arg.help(short) } else { arg };
    if let Some(long) = long { arg.long_help(long) } else { arg }
}

/// Allows negative numbers, and lists of numbers (`X,Y,Z`) with any sign at the beginning, which clap does not take for negative
/// numbers.
fn with_negative_numbers(arg: Arg) -> Arg {
    if arg.is_positional() || !arg.get_action().takes_values() {
        return arg;
    }
    let is_list = arg.get_value_names().is_some_and(|names| names.iter().any(|name| name.contains([',', '-'])));
    if is_list { arg.allow_hyphen_values(true) } else { arg.allow_negative_numbers(true) }
}

/// Hides the options without an effect on a command that writes no image, and those of EPRI acquisitions.
fn without_images(command: Command) -> Command {
    let mut built = command.clone();
    built.build();
    let is_hidden = |group: &&ArgGroup| RECONSTRUCT_ONLY.contains(&group.get_id().as_str());
    let of_groups = built.get_groups().filter(is_hidden).flat_map(ArgGroup::get_args).map(|id| id.to_string());
    let of_sweeps =
        settings().into_iter().filter(|setting| kinds_with(setting) == [DataKind::Sweep]).map(|setting| setting.key.to_owned());
    let hidden: Vec<String> = of_groups.chain(of_sweeps).collect();
    command.mut_args(|arg| if hidden.iter().any(|id| arg.get_id() == id) { arg.hide(true) } else { arg })
}

/// Commands with many options, which are under headings.
const WITH_HEADINGS: &[&str] = &["reconstruct", "earl", "project", "backproject", "simulate"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_of_options_is_known() {
        let mut command = super::command();
        command.build();
        let reconstruct = command.find_subcommand("reconstruct").unwrap();
        let known = ["use_of_rois", "use_of_duration", "object_attenuation"];
        for group in reconstruct.get_groups().map(|group| group.get_id().as_str()) {
            // (A group of all options of a struct has the name of the struct.)
            let is_of_struct = group.starts_with(char::is_uppercase);
            assert!(is_of_struct || known.contains(&group) || groups().any(|other| other == group), "{group}");
        }
        for group in groups() {
            assert!(reconstruct.get_groups().any(|other| other.get_id() == group && other.get_args().count() > 0), "{group}");
        }
    }

    /// The options of a help page under each heading.
    fn options_under(command: &str, heading: &str) -> Vec<String> {
        let page = super::command().find_subcommand_mut(command).unwrap().render_long_help().to_string();
        let under = page.split_once(&format!("\n{heading}:\n")).map_or("", |(_, rest)| rest);
        let is_heading = |line: &&str| !line.starts_with(' ') && line.ends_with(':');
        let lines = under.lines().take_while(|line| !is_heading(line)).map(str::trim_start);
        lines.filter(|line| line.starts_with('-')).map(|line| line.split(' ').next().unwrap().to_owned()).collect()
    }

    #[test]
    fn options_are_under_their_headings() {
        let of_sweeps = [
            "--filter",
            "--cutoff",
            "--baseline",
            "--interpolation",
            "--order",
            "--block",
            "--explain",
            "--kernel",
            "--lambda",
            "--positivity[=<yes|no>]",
            "--spectral-samples",
            "--lambda-spectral",
            "--reference",
            "--phase",
            "--field-shift",
            "--mask",
            "--radicals",
            "--experiment",
        ];
        assert_eq!(options_under("reconstruct", "EPRI acquisitions"), of_sweeps);
        assert!(options_under("reconstruct", "Algorithm").contains(&"--iterations".to_owned()));
        assert!(options_under("reconstruct", "Corrections").contains(&"--no-corrections".to_owned()));
        assert_eq!(options_under("simulate", "List-mode data"), ["--list-mode", "--duration-secs", "--tof-ps"]);
    }

    #[test]
    fn the_definition_is_sound_and_mistyped_commands_are_found() {
        command().debug_assert();
        let refusal = |words: &[&str]| unknown_command(&words.iter().map(OsString::from).collect::<Vec<_>>());
        let text = refusal(&["tomoscope", "recontruct", "a.hs"]).unwrap().to_string();
        assert!(text.contains("unrecognized subcommand 'recontruct'") && text.contains("'reconstruct'"), "{text}");
        for words in [&["tomoscope"][..], &["tomoscope", "a.hs"], &["tomoscope", "info"], &["tomoscope", "--quiet"]] {
            assert!(refusal(words).is_none(), "{words:?}");
        }
    }
}
