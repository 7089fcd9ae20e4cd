//! `tomoscope tubes --scanner NAME -o OUT.tubes`: simulates the tubes of response of a scanner with rotating heads.

use std::path::PathBuf;

use clap::Args;
use strum::VariantNames as _;

use crate::cli::shared::console::out;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::known::known_scanner;
use crate::cli::shared::notices;
use crate::cli::shared::options::{TalkOptions, count, one_device, positive, seed};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::file_of;
use crate::cli::shared::printed::{shared_text, written};
use crate::cli::shared::progress::with_bar;
use crate::data::{SuperLors, TubeSampling, TubesMade};
use crate::io::formats::Content;
use crate::io::saved_tubes;
use crate::montecarlo::{Amount, EdgeDeviation, Isotope, TubeRecipe};
use crate::plan::{DeviceChoice, DeviceResult, MadeTubes, make_tubes};
use crate::report::{Column, Columns};
use crate::scanner::Scanner;
use crate::task::Task;

/// Isotope of the positrons; without one they have no range.
#[derive(Clone, Copy, Debug)]
struct Positrons(Option<Isotope>);

/// Options of `tomoscope tubes`.
#[derive(Args, Clone, Debug)]
pub struct TubesOptions {
    /// Scanner of the catalogue with rotating heads (vrpet, vrpet-2010).
    #[arg(long, value_name = "NAME", value_parser = known_scanner)]
    scanner: &'static Scanner,

    /// Number of annihilations to simulate.
    #[arg(long, value_name = "N", default_value = "2e7", value_parser = count::<u64>, conflicts_with = "precision")]
    events: u64,

    /// Simulate until the median standard error of the coefficients on the tube axes is below this, %.
    ///
    /// The value refers to single tubes; shared tubes (--super-lors) have a smaller one. The command prints both.
    #[arg(long, value_name = "PERCENT", value_parser = positive)]
    precision: Option<f64>,

    /// Seed of the simulation.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = seed)]
    seed: u64,

    /// Isotope, which sets the positron range; none = no positron range.
    #[arg(long, value_name = "NAME", default_value = "F-18", value_parser = isotope)]
    isotope: Positrons,

    /// Ignore photon acollinearity.
    #[arg(long)]
    collinear: bool,

    /// Share one tube between neighbouring radial positions × ring differences, with a running mean over samples along the
    /// line: 6x5, 6x5x9.
    #[arg(long, value_name = "RxD[xA]", default_value = "1x1")]
    super_lors: SuperLors,

    /// Also report the deviation of the tubes of edge rings; the value is the number of annihilations to simulate for it, on
    /// the CPU.
    #[arg(long, value_name = "N", value_parser = count::<u64>)]
    edge_rings: Option<u64>,

    /// Device: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = one_device)]
    device: DeviceChoice,

    /// Header of the tubes to write (.tubes); the coefficients are written as OUT.tubes.f32.
    #[arg(short, long, value_name = "OUT", value_parser = file_of(Content::Tubes))]
    output: PathBuf,

    #[command(flatten)]
    talk: TalkOptions,
}

pub fn run(options: &TubesOptions) -> CliResult {
    options.talk.apply();
    Files::new().write("-o", [&options.output]).check()?;
    let recipe = TubeRecipe {
        isotope: options.isotope.0,
        is_collinear: options.collinear,
        amount: options.precision.map_or(Amount::Histories(options.events), Amount::Precision),
        seed: options.seed,
        super_lors: options.super_lors,
    };
    let made = with_bar("simulating", |task| make_tubes(options.scanner, &recipe, options.device, task))??;
    let DeviceResult { result: MadeTubes { tubes, secs }, device, notices } = made;
    notices::print(&notices);
    saved_tubes::write_tubes(&options.output, &tubes)?;
    let Some(TubesMade { num_histories, median_error_percent, worst_tenth_error_percent, outside_percent, super_lors, .. }) =
        tubes.made
    else {
        return Ok(());
    };
    out!("tubes of {}", options.scanner.title);
    written(&options.output, format!("{num_histories} annihilations"));
    written(&saved_tubes::data_file(&options.output), "coefficients");
    out!(
        "standard error on the axis of a single tube: {median_error_percent:.1} % (median), a tenth of the tubes above {worst_tenth_error_percent:.1} %"
    );
    out!("decays outside the samples of their tube: {outside_percent:.1} %");
    if let Some(shared) = super_lors {
        out!("{}", shared_text(&shared));
    }
    out!("followed on {device}: {:.1} million annihilations a second", num_histories as f64 / secs / 1e6);
    options.edge_rings.map_or(Ok(()), |num| print_edge_rings(options.scanner, &recipe, num))
}

/// Ring differences, with the deviations of their tubes from the others in sum and cross-section.
const EDGE_RINGS: Columns<3> = Columns([Column::words("", 29), Column::words("", 27), Column::words("", 0)]);

/// Simulates and prints the deviations of tubes at the edge rings from those inside.
fn print_edge_rings(scanner: &Scanner, recipe: &TubeRecipe, num_histories: u64) -> CliResult {
    let (coincidences, sampling) = (recipe.coincidences(scanner)?, TubeSampling::of(&scanner.geometry));
    let simulate = |task: &Task| coincidences.edge_deviation(&sampling, num_histories, recipe.seed, task);
    let found = with_bar("edge rings", simulate)??;
    out!("tubes of ring pairs with an edge ring, from those of the others ({num_histories} annihilations):");
    for deviation in &found {
        let EdgeDeviation { ring_differences: [first, last], sum_percent: [sum, error], .. } = *deviation;
        let differences =
            if first == last { format!("ring difference {first}") } else { format!("ring differences {first} to {last}") };
        let cross_section = match deviation.rms_percent() {
            Some([rms, error]) => format!("{rms:.1} ± {error:.1} % (RMS)"),
            None => format!("below {:.1} %, within its noise", deviation.rms_limit_percent()),
        };
        let figures = [differences, format!("sum {sum:+.1} ± {error:.1} %"), format!("cross-section {cross_section}")];
        out!("  {}", EDGE_RINGS.line(figures));
    }
    if found.is_empty() {
        out!("  too few annihilations for an estimate");
    }
    Ok(())
}

fn isotope(name: &str) -> Result<Positrons, String> {
    if name.eq_ignore_ascii_case("none") {
        return Ok(Positrons(None));
    }
    let unknown = |_| format!("'{name}' is not an isotope; use {} or none", Isotope::VARIANTS.join(", "));
    name.parse().map(|isotope| Positrons(Some(isotope))).map_err(unknown)
}
