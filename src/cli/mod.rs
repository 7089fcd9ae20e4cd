//! The command line. Without a command the window opens; every command runs without one.
//!
//! Exit codes: 0 done; 1 with a sentence on standard error; 2 wrong arguments; 3 the written image contains less than was
//! requested, or values that are not finite. A result is never lost because printing fails ([`console`](shared::console)).
//!
//! Folders and files are in rows like the modules of the crate: each imports only from lower rows.
//!
//! ```text
//! row 1: shared
//! row 2: attenuation bench convert histogram inspect linewidth manual mu_map oximetry project reconstruct reproduce send serve simulate
//! row 3: connect earl
//! row 4: window
//! row 5: arguments
//! row 6: command
//! ```

mod arguments;
mod attenuation;
mod bench;
mod command;
mod connect;
mod convert;
mod earl;
mod histogram;
mod inspect;
mod linewidth;
mod manual;
mod mu_map;
mod oximetry;
mod project;
mod reconstruct;
mod reproduce;
mod send;
mod serve;
mod shared;
mod simulate;
mod window;

use std::ffi::OsString;
use std::process::ExitCode;

use arguments::CliCommand;
use shared::console::err;
use shared::error::{CliError, CliResult, Done, PARTIAL, WRONG_ARGUMENTS};

use crate::session::start_workers;

/// Runs the program with the process's arguments.
pub fn main() -> ExitCode {
    crate::session::trace::mark_process_start();
    run(std::env::args_os())
}

/// Runs the program with these arguments; the first is the program's name.
fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments: Vec<OsString> = arguments.into_iter().collect();
    let cli = match command::parse(&arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let printed = error.print();
            if error.use_stderr() {
                if prints_json(&arguments) {
                    print_error_as_json(&CliError::arguments(error.render().to_string()));
                }
                return ExitCode::from(WRONG_ARGUMENTS);
            }
            shared::console::note(printed);
            return exit_code(Ok(Done::Complete), false);
        }
    };
    let prints_json = prints_json(&arguments);
    if let Err(problem) = start_workers() {
        return exit_code(Err(problem.into()), prints_json);
    }
    if cli.command.is_some()
        && let Err(error) = shared::signals::listen()
    {
        err!("warning: Ctrl-C will end the program at once, without keeping its image: {error}");
    }
    let result: CliResult<Done> = match cli.command {
        Some(CliCommand::Bench(options)) => bench::run::run(options).map(Done::from),
        Some(CliCommand::Devices) => inspect::devices::run().map(Done::from),
        Some(CliCommand::Doctor(options)) => inspect::doctor::run(&options).map(Done::from),
        Some(CliCommand::Info(options)) => inspect::info::run(&options).map(Done::from),
        Some(CliCommand::Reconstruct(options)) => reconstruct::batch::run(&options),
        Some(CliCommand::Reproduce(options)) => reproduce::run(options).map(Done::from),
        Some(CliCommand::Project(options)) => project::project(&options),
        Some(CliCommand::Backproject(options)) => project::backproject(&options),
        Some(CliCommand::Simulate(options)) => simulate::run::run(&options).map(Done::from),
        Some(CliCommand::Histogram(options)) => histogram::run(&options).map(Done::from),
        Some(CliCommand::Convert(options)) => convert::run(&options),
        Some(CliCommand::Attenuation(options)) => attenuation::run(&options),
        Some(CliCommand::MuMap(options)) => mu_map::run(&options),
        Some(CliCommand::Linewidth(options)) => linewidth::run::run(&options),
        Some(CliCommand::Oximetry(options)) => oximetry::run::run(&options),
        Some(CliCommand::Concentration(options)) => inspect::concentration::run(&options).map(Done::from),
        Some(CliCommand::Measure(options)) => inspect::measure::run(&options),
        Some(CliCommand::Lesions(options)) => inspect::lesions::run(&options).map(Done::from),
        Some(CliCommand::Compare(options)) => inspect::compare::run(&options).map(Done::from),
        Some(CliCommand::Tubes(options)) => simulate::tubes::run(&options).map(Done::from),
        Some(CliCommand::Matrix(options)) => simulate::matrix::run(&options).map(Done::from),
        Some(CliCommand::Send(options)) => send::run(&options).map(Done::from),
        Some(CliCommand::Serve(arguments)) => serve::run(&arguments).map(Done::from),
        Some(CliCommand::Earl(options)) => earl::run(&options),
        Some(CliCommand::Nema(options)) => inspect::nema::run(&options),
        Some(CliCommand::Completions(options)) => manual::completions(&options, command::command()).map(Done::from),
        Some(CliCommand::Man(options)) => manual::man(&options, command::command()).map(Done::from),
        None => window::run(cli.study.as_deref(), cli.opened, &cli.connect, cli.trace.as_deref()).map(Done::from),
    };
    exit_code(result, prints_json)
}

/// Returns true if the command prints its result as JSON (`--json` of `bench` names a file instead).
fn prints_json(arguments: &[OsString]) -> bool {
    arguments.get(1).is_some_and(|command| command != "bench") && arguments.iter().any(|argument| argument == "--json")
}

/// Prints an error to standard output, where a program expects the result of `--json`.
fn print_error_as_json(error: &CliError) {
    shared::console::print_result(format_args!("{}\n", error.to_json()));
    // (A lost output is no further error.)
    let _ = shared::console::finish();
}

/// Prints the error of a command, if it failed, and returns the exit code.
fn exit_code(result: CliResult<Done>, prints_json: bool) -> ExitCode {
    match result.and_then(|done| shared::console::finish().map(|()| done)) {
        Ok(Done::Complete) => ExitCode::SUCCESS,
        Ok(Done::Partial) => ExitCode::from(PARTIAL),
        Err(error) => {
            err!("tomoscope: {error}");
            if prints_json {
                print_error_as_json(&error);
            }
            ExitCode::from(error.exit_code())
        }
    }
}
