//! `tomoscope tubes --scanner NAME -o OUT.tubes`: simulates the tubes of response of a scanner with rotating heads.

use std::path::{Path, PathBuf};

use clap::Args;
use strum::VariantNames as _;

use super::console::out;
use super::options::{TalkOptions, device};
use super::outputs::Files;
use super::paths::tubes_file;
use super::progress::with_bar;
use super::simulate::{WRITTEN, known_scanner};
use super::{CliResult, notices};
use crate::data::{SharedTubes, SuperLors, TubesMade};
use crate::io::saved_tubes;
use crate::montecarlo::{Amount, Isotope, TubeRecipe};
use crate::plan::{DeviceChoice, Followed, MadeTubes, make_tubes};
use crate::scanner::Scanner;

/// Whose positrons travel; nobody's where it is `None`.
#[derive(Clone, Copy, Debug)]
struct Positrons(Option<Isotope>);

/// Options of `tomoscope tubes`.
#[derive(Args, Clone, Debug)]
pub struct TubesOptions {
    /// Scanner of the catalogue with rotating heads (vrpet, vrpet-2010).
    #[arg(long, value_name = "NAME", value_parser = known_scanner)]
    scanner: &'static Scanner,

    /// Annihilations to follow.
    #[arg(long, value_name = "N", default_value_t = 20_000_000, value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "precision")]
    events: u64,

    /// Follow as many as it takes: until the standard error of the coefficients on the tubes' axes (the median) is below this, %.
    #[arg(long, value_name = "PERCENT")]
    precision: Option<f64>,

    /// Seed of the simulation.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(..=i64::MAX as u64))]
    seed: u64,

    /// Isotope, whose positrons travel before they annihilate; none = they do not.
    #[arg(long, value_name = "NAME", default_value = "F-18", value_parser = isotope)]
    isotope: Positrons,

    /// Let both photons fly in exactly opposite directions.
    #[arg(long)]
    collinear: bool,

    /// Let neighbouring distances from the axis × ring differences share one tube, and take its running mean over so many samples
    /// along the line: 6x5, 6x5x9.
    #[arg(long, value_name = "RxD[xA]", default_value = "1x1")]
    super_lors: SuperLors,

    /// Where to follow them: auto, cpu, cuda or cuda:N.
    #[arg(long, default_value = "auto", value_parser = device)]
    device: DeviceChoice,

    /// Header of the tubes to write (.tubes); the coefficients go beside it (.tubes.f32).
    #[arg(short, long, value_name = "OUT", value_parser = tubes_file)]
    output: PathBuf,

    #[command(flatten)]
    talk: TalkOptions,
}

/// Simulates and writes.
pub fn run(options: &TubesOptions) -> CliResult {
    options.talk.apply();
    Files::new().write("-o", [&options.output]).check()?;
    let recipe = options.recipe();
    let made = with_bar("simulating", |task| make_tubes(options.scanner, &recipe, options.device, task))??;
    let Followed { result: MadeTubes { tubes, secs }, device, notices } = made;
    notices::print(&notices);
    saved_tubes::write_tubes(&options.output, &tubes)?;
    let Some(TubesMade { num_histories, median_error_percent, worst_tenth_error_percent, outside_percent, super_lors, .. }) =
        tubes.made
    else {
        return Ok(());
    };
    out!("tubes of {}", options.scanner.title);
    let report = |path: &Path, what: &str| out!("  {}", WRITTEN.line([path.display().to_string(), what.to_owned()]));
    report(&options.output, &format!("{num_histories} annihilations"));
    report(&saved_tubes::data_file(&options.output), "coefficients");
    out!(
        "standard error on the axis of a single tube: {median_error_percent:.1} % (median), a tenth of the tubes above {worst_tenth_error_percent:.1} %"
    );
    out!("decays outside the samples of their tube: {outside_percent:.1} %");
    if let Some(shared) = super_lors {
        out!("{}", shared_words(&shared));
    }
    out!("followed on {device}: {:.1} million annihilations a second", num_histories as f64 / secs / 1e6);
    Ok(())
}

/// Which tubes share one, and what that changes.
pub fn shared_words(SharedTubes { sizes, deviation }: &SharedTubes) -> String {
    format!(
        "super-LORs of {sizes}: {:.1} % (RMS) from the single tubes and their noise, {:.1} % in the outermost groups",
        deviation.inner_percent, deviation.edge_percent
    )
}

impl TubesOptions {
    fn recipe(&self) -> TubeRecipe {
        TubeRecipe {
            isotope: self.isotope.0,
            is_collinear: self.collinear,
            amount: self.precision.map_or(Amount::Histories(self.events), Amount::Precision),
            seed: self.seed,
            super_lors: self.super_lors,
        }
    }
}

fn isotope(name: &str) -> Result<Positrons, String> {
    if name.eq_ignore_ascii_case("none") {
        return Ok(Positrons(None));
    }
    let unknown = |_| format!("'{name}' is not an isotope; use {} or none", Isotope::VARIANTS.join(", "));
    name.parse().map(|isotope| Positrons(Some(isotope))).map_err(unknown)
}
