//! `tomoscope reproduce PAPER`: a paper's tables, measured again. The papers are those of [`PAPERS`].

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, Subcommand};

use crate::cli::shared::console::remark;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::options::TalkOptions;
use crate::cli::shared::{console, options};
use crate::plan::DeviceChoice;
use crate::reproduce::{AnyPaper, Job, PAPERS, Settings};

/// Options of `tomoscope reproduce`.
#[derive(Args)]
pub struct ReproduceOptions {
    #[command(subcommand)]
    run: Run,

    #[command(flatten)]
    talk: TalkOptions,
}

/// The run of a paper.
struct Run {
    settings: Settings,
    job: Job,
}

/// Options for every paper.
#[derive(Args)]
struct CommonOptions {
    /// Device of the GPU columns, or of all runs: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = options::one_device)]
    device: DeviceChoice,

    /// Use small images and scanners, or few iterations: a trial of a minute, with other numbers.
    #[arg(long)]
    quick: bool,

    /// Time limit, seconds; a second call with the same options continues.
    #[arg(long, value_name = "S")]
    budget_secs: Option<f64>,

    /// Folder for measurements, tables and figures; existing measurements are not repeated.
    ///
    /// Default: the name of the paper, with -quick for --quick.
    #[arg(short, long, value_name = "FOLDER")]
    output: Option<PathBuf>,
}

fn command(paper: &dyn AnyPaper) -> Command {
    let (info, names) = (paper.info(), paper.stage_names());
    let all = names.join(", ");
    let help = format!("Stages to run, separated by commas: {all}; by default all");
    let known = move |text: &str| match names.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("'{text}' is not a stage; use {all}")),
    };
    let stage = Arg::new("stage").long("stage").value_name("A,B").value_delimiter(',').action(ArgAction::Append);
    let command = CommonOptions::augment_args(Command::new(info.name)).arg(stage.value_parser(known).help(help));
    // Options bring the description of their type, which is not that of the command.
    paper.with_options(command).about(info.about)
}

impl Subcommand for Run {
    fn augment_subcommands(parent: Command) -> Command {
        parent.subcommands(PAPERS.map(command))
    }

    fn augment_subcommands_for_update(parent: Command) -> Command {
        Self::augment_subcommands(parent)
    }

    fn has_subcommand(name: &str) -> bool {
        PAPERS.iter().any(|paper| paper.info().name == name)
    }
}

impl FromArgMatches for Run {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let chosen = matches
            .subcommand()
            .and_then(|(chosen, options)| Some((PAPERS.into_iter().find(|paper| paper.info().name == chosen)?, options)));
        let Some((paper, options)) = chosen else { return Err(clap::Error::new(ErrorKind::MissingSubcommand)) };
        let CommonOptions { device, quick, budget_secs, output } = CommonOptions::from_arg_matches(options)?;
        let default = || format!("{}{}", paper.info().name, if quick { "-quick" } else { "" }).into();
        let stages = options.get_many::<String>("stage").into_iter().flatten().cloned().collect();
        let settings = Settings { device, quick, stages, budget_secs, folder: output.unwrap_or_else(default) };
        Ok(Self { settings, job: paper.job(options)? })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

pub fn run(options: ReproduceOptions) -> CliResult {
    options.talk.apply();
    let Run { settings, job } = options.run;
    let text = job(&settings, &mut |line: &str| remark!("{line}"))?;
    console::print(format_args!("{text}"));
    remark!("{}: tables, values and figures", settings.folder.display());
    Ok(())
}
