//! The completed definition of the command line: the headings of the options, and negative numbers as values, so that their
//! refusal names the value and not an unknown option.

use std::ffi::OsString;
use std::path::Path;

use clap::builder::StyledStr;
use clap::error::ErrorKind;
use clap::{Arg, Command, CommandFactory as _, Error, FromArgMatches as _, Subcommand as _};

use crate::cli::arguments::{Cli, CliCommand};
use crate::cli::earl::OTHERS;
use crate::cli::shared::parameter_options::{algorithms_with, kinds_of};
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
    let command = command.max_term_width(MAX_WIDTH).mut_args(|arg| with_endings(with_negative_numbers(with_heading(&name, arg))));
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

fn with_heading(command: &str, arg: Arg) -> Arg {
    let arg = if command == "earl" && is_of_reconstruct_only(arg.get_id().as_str()) { arg.hide(true) } else { arg };
    let heading = heading(command, arg.get_id().as_str());
    match heading {
        Some(heading) if !arg.is_positional() => arg.help_heading(heading),
        _ => arg,
    }
}

/// Returns the heading of an option; `None` for those of commands that have few.
fn heading(command: &str, option: &str) -> Option<&'static str> {
    match command {
        "reconstruct" => of_reconstruct(option).or_else(|| of_projector(option)),
        "earl" if EARL.contains(&option) => None,
        "earl" => of_reconstruct(option).or_else(|| of_projector(option)),
        "project" | "backproject" => of_projector(option),
        "simulate" => of_simulate(option),
        _ => None,
    }
}

/// Options of `earl` that are no options of `reconstruct`.
const EARL: &[&str] = &["ratio", "filters_mm", "standards", "output"];

/// Returns true for an option that `earl` refuses.
fn is_of_reconstruct_only(option: &str) -> bool {
    let mut kinds = algorithms_with(option).flat_map(kinds_of).peekable();
    OTHERS.contains(&option) || kinds.peek().is_some() && kinds.all(|kind| kind == DataKind::Sweep)
}

fn of_reconstruct(option: &str) -> Option<&'static str> {
    Some(match option {
        "algorithm" | "iterations" | "subsets" | "init" | "matrix" | "racy_sensitivity" => "Algorithm",
        "reference" | "phase" | "field_shift" | "kernel" | "mask" | "sources" | "experiment" => "EPRI acquisitions",
        "crystals" | "normalization" | "yrt_tof_ps" | "yrt_tof_range" | "yrt_randoms" | "frame" | "frames" | "split_blocks" => {
            "List-mode data"
        }
        "psf_fwhm_mm" | "psf" | "no_tof" | "tof_mash" | "tof_sigmas" => "Resolution and time of flight",
        "attenuation" | "add_attenuation" | "mu_unit" | "ct" | "kvp" | "ct_fwhm_mm" | "ct_shift_mm" => "Corrections",
        "stop_noise" | "stop_recovery" | "stop_plateau" => "Stopping rules",
        "image" | "voxel_mm" | "like" | "fov_radius_mm" => "Image grid",
        "rois" | "csv" | "reference_image" => "Measurements",
        "bootstrap" | "bootstrap_seed" | "as_if_secs" => "Error bars",
        "save_every" | "post_filter_mm" | "calibration" | "anonymise" | "json" | "trace" => "Output",
        "suv"
        | "dose_mbq"
        | "injected"
        | "scan_start"
        | "duration_secs"
        | "half_life"
        | "weight_kg"
        | "height_cm"
        | "sex"
        | "multiplicative_includes"
        | "additive_includes" => "Activity and uptake",
        "jobs" | "part" | "skip_done" => "Several inputs",
        // Parameters of algorithms.
        option => match algorithms_with(option).flat_map(kinds_of).next()? {
            DataKind::Sweep => "EPRI acquisitions",
            _ => "Algorithm",
        },
    })
}

fn of_projector(option: &str) -> Option<&'static str> {
    Some(match option {
        "multiplicative"
        | "multiplicative_inverse"
        | "additive"
        | "additive_inside"
        | "no_corrections"
        | "corrections_of_another_scan" => "Corrections",
        "projector" | "tubes" | "rays" | "accumulation" | "threads_per_block" | "fov_radius_mm" => "Projector",
        "device" | "threads" => "Device",
        _ => return None,
    })
}

fn of_simulate(option: &str) -> Option<&'static str> {
    Some(match option {
        "epri" | "points" | "extent_mm" | "noise_fraction" | "order" | "weights" => "EPRI acquisitions",
        "linewidths_mt" | "positions_mt" | "sweep_mt" | "gradients" => "Spectra",
        "oxygen" | "calibration" | "delays_us" | "echo_times_us" | "inversion" | "snr" => "Oximetry",
        "list_mode" | "duration_secs" | "tof_ps" => "List-mode data",
        "truth" | "image" | "voxel_mm" | "rois" => "True image and regions",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::reconstruct::data::LIMITED;

    /// Options for all kinds of data.
    const FOR_ALL: &[&str] = &[
        "inputs",
        "output",
        "algorithm",
        "image",
        "voxel_mm",
        "like",
        "rois",
        "csv",
        "reference_image",
        "post_filter_mm",
        "calibration",
        "anonymise",
        "trace",
        "device",
        "threads",
        "json",
        "jobs",
        "part",
        "skip_done",
        "quiet",
        "help",
    ];

    #[test]
    fn every_option_of_reconstruct_is_for_some_kinds_of_data_or_for_all() {
        let command = super::command();
        let reconstruct = command.find_subcommand("reconstruct").unwrap();
        let limited: Vec<&str> = LIMITED.iter().flat_map(|(ids, _)| *ids).copied().collect();
        for option in reconstruct.get_arguments().map(|arg| arg.get_id().as_str()) {
            let places = [limited.contains(&option), FOR_ALL.contains(&option), algorithms_with(option).next().is_some()];
            assert_eq!(places.iter().filter(|is_there| **is_there).count(), 1, "{option}");
        }
        let is_known = |id: &&str| reconstruct.get_arguments().any(|arg| arg.get_id().as_str() == *id);
        assert_eq!(limited.iter().find(|id| !is_known(id)), None);
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
            "--lambda",
            "--positivity[=<POSITIVITY>]",
            "--spectral-samples",
            "--lambda-spectral",
            "--reference",
            "--phase",
            "--field-shift",
            "--mask",
            "--sources",
            "--experiment",
            "--kernel",
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
