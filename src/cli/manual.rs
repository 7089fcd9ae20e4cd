//! `tomoscope man` and `tomoscope completions`: manual pages and shell completions, made from the definition of the commands.

use std::path::PathBuf;

use clap::{Args, Command};
use clap_complete::Shell;
use clap_mangen::Man;

use crate::cli::shared::console::{out, print_script};
use crate::cli::shared::error::{CliError, CliResult, Failure};

/// Options of `tomoscope completions`.
#[derive(Args)]
pub struct CompletionOptions {
    /// The shell that reads them.
    shell: Shell,
}

/// Options of `tomoscope man`.
#[derive(Args)]
pub struct ManOptions {
    /// Folder for the pages of all commands; created if it does not exist.
    ///
    /// Without it the main page is printed to standard output.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

pub fn completions(options: &CompletionOptions, mut command: Command) -> CliResult {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut command, "tomoscope", &mut text);
    print_script(&text);
    Ok(())
}

/// Prints the main page, or writes all pages.
pub fn man(options: &ManOptions, command: Command) -> CliResult {
    let Some(folder) = &options.output else {
        let mut page = Vec::new();
        Man::new(command).render(&mut page)?;
        print_script(&page);
        return Ok(());
    };
    std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(command, folder)).map_err(|error| {
        CliError::failed(Failure::Output, format!("writing the manual pages to {} failed: {error}", folder.display()))
    })?;
    out!("{}: the manual pages of all commands", folder.display());
    Ok(())
}
