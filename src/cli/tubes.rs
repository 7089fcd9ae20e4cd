//! `tomoscope tubes --scanner NAME -o OUT.tubes`: simulates the tubes of response of a scanner with rotating heads.

use std::path::{Path, PathBuf};

use clap::Args;
use strum::VariantNames as _;

use super::CliResult;
use super::console::out;
use super::options::TalkOptions;
use super::outputs::Files;
use super::paths::tubes_file;
use super::progress::with_bar;
use super::simulate::{WRITTEN, known_scanner};
use crate::data::{TubeSampling, TubeSet, TubesMade};
use crate::io::saved_tubes;
use crate::montecarlo::{AnnihilationPhysics, Coincidences, Isotope, TubePrecision, TubeTally};
use crate::scanner::Scanner;
use crate::task::{Stopped, Task};

/// FWHM of the angle between the photons, projected onto a plane (De Benedetti et al. 1950).
const NONCOLLINEARITY_FWHM_DEG: f64 = 0.5;

/// Histories between two looks at how exact the tubes are.
const EVENTS_PER_LOOK: u64 = 2_000_000;

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
    let Scanner { title, geometry, heads, .. } = options.scanner;
    let Some(heads) = heads.clone() else {
        return Err(format!("{title} has no rotating heads; tubes are made for those (vrpet, vrpet-2010)").into());
    };
    let sampling = TubeSampling::of(geometry);
    let noncollinearity_fwhm_deg = if options.collinear { 0.0 } else { NONCOLLINEARITY_FWHM_DEG };
    let physics = AnnihilationPhysics { range_of: options.isotope.0, noncollinearity_fwhm_deg };
    let coincidences = Coincidences::new(geometry.clone(), heads, physics)?;
    let mut tally = TubeTally::new(coincidences, sampling.clone(), options.seed);
    let simulated = with_bar("simulating", |task| options.simulate(&mut tally, task))?;
    let precision = simulated?.ok_or("no annihilation was seen by two heads; follow more (--events)")?;
    let tubes = TubeSet::new(geometry.scanner.clone(), sampling, tally.tubes())?;
    let made = TubesMade {
        isotope: options.isotope.0.map(|isotope| isotope.to_string()),
        is_collinear: options.collinear,
        num_histories: tally.num_histories(),
        seed: options.seed,
        median_error_percent: precision.median_percent,
        worst_tenth_error_percent: precision.worst_tenth_percent,
        outside_percent: precision.outside_percent,
    };
    saved_tubes::write_tubes(&options.output, &TubeSet { made: Some(made), ..tubes })?;
    out!("tubes of {title}");
    let report = |path: &Path, what: &str| out!("  {}", WRITTEN.line([path.display().to_string(), what.to_owned()]));
    let TubePrecision { median_percent, worst_tenth_percent, outside_percent } = precision;
    report(&options.output, &format!("{} annihilations", tally.num_histories()));
    report(&saved_tubes::data_file(&options.output), "coefficients");
    out!(
        "standard error on the axis of a tube: {median_percent:.1} % (median), a tenth of the tubes above {worst_tenth_percent:.1} %"
    );
    out!("decays outside the samples of their tube: {outside_percent:.1} %");
    Ok(())
}

impl TubesOptions {
    /// Follows annihilations until there are enough; `None` where none was seen.
    fn simulate(&self, tally: &mut TubeTally, task: &Task) -> Result<Option<TubePrecision>, Stopped> {
        let Some(percent) = self.precision else {
            task.begin(self.events);
            tally.add(self.events, task)?;
            return Ok(tally.precision());
        };
        loop {
            tally.add(EVENTS_PER_LOOK, task)?;
            match tally.precision() {
                Some(precision) if precision.median_percent > percent => {
                    // Errors fall with the square root of the number.
                    let ratio = (precision.median_percent / percent).powi(2);
                    task.begin((tally.num_histories() as f64 * ratio) as u64);
                    task.advance(tally.num_histories());
                }
                found => return Ok(found),
            }
        }
    }
}

/// Positrons of fluorine-18, and photons that are not exactly opposite.
pub fn usual_physics() -> AnnihilationPhysics {
    AnnihilationPhysics { range_of: Some(Isotope::F18), noncollinearity_fwhm_deg: NONCOLLINEARITY_FWHM_DEG }
}

fn isotope(name: &str) -> Result<Positrons, String> {
    if name.eq_ignore_ascii_case("none") {
        return Ok(Positrons(None));
    }
    let unknown = |_| format!("'{name}' is not an isotope; use {} or none", Isotope::VARIANTS.join(", "));
    name.parse().map(|isotope| Positrons(Some(isotope))).map_err(unknown)
}
