//! `tomoscope simulate PHANTOM --scanner NAME -o OUT.hs`: a scan of an analytic phantom, as files. (With `--epri` in place
//! of a scanner: [`super::simulate_epri`].)

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;

use super::console::out;
use super::options::{PerAxis, TalkOptions, positive, seed, sides, sizes, voxels};
use super::outputs::Files;
use super::paths::{image_file, rois_file, simulated_file};
use super::progress::with_bar;
use super::simulate_epri::{self, EpriOptions};
use super::{CliResult, notices, wrong};
use super::{simulate_list, simulate_photons};
use crate::data::{Origin, Volume};
use crate::geometry::Grid;
use crate::io::{Correction, FileKind, map_beside, rois, write_projections};
use crate::phantom::{self, Noise, PhantomError, PhantomInfo, SimulationOptions, epri, ring};
use crate::plan::{DataRecord, DeviceRecord, ImageRecord, Made, Provenance, Start};
use crate::report::{Column, Columns};
use crate::scanner::{self, CrystalRing, ScanGeometry, Scanner};
use crate::words::counted;

/// A file that was written, and what it holds.
pub const WRITTEN: Columns<2> = Columns([Column::words("", 29), Column::words("", 0)]);

/// How data are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = not_a_model)]
enum Model {
    Analytic,
    MonteCarlo,
}

fn not_a_model(text: &str) -> String {
    format!("'{text}' is not a model; use analytic or montecarlo")
}

/// Options of `tomoscope simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateOptions {
    #[arg(value_parser = phantom_name, help = phantoms())]
    pub phantom: String,

    /// Scanner of the catalogue (discovery-ste, small, ...) or ring of crystals (madpet2, madpet2-reduced).
    #[arg(long, value_name = "NAME", value_parser = known_detectors, required_unless_present = "epri", conflicts_with = "epri")]
    scanner: Option<Detectors>,

    #[command(flatten)]
    pub epri: EpriOptions,

    /// File to write: sinogram (.hs), with --epri an acquisition (.sweep), for a ring of crystals a crystal-pair histogram
    /// (.pairs), with --list-mode events (.petsird, .Cdh).
    ///
    /// Corrections of a sinogram are written as OUT_mult.hs and OUT_add.hs.
    #[arg(short, long, value_name = "OUT", value_parser = simulated_file)]
    pub output: PathBuf,

    /// Model of the data: analytic (exact line integrals) or montecarlo (photons in the crystals of rotating heads).
    ///
    /// montecarlo writes the number of crystal pairs of each bin as OUT_mult.hs.
    #[arg(long, default_value = "analytic", conflicts_with_all = ["epri", "list_mode"])]
    model: Model,

    #[command(flatten)]
    pub list: simulate_list::ListArguments,

    /// Noise of the counts: none or poisson.
    #[arg(long, default_value = "poisson", conflicts_with = "list_mode")]
    noise: Noise,

    /// Expected number of true counts in all bins; with --model montecarlo the exact number.
    #[arg(long, default_value = "1e8", value_name = "N", value_parser = counts)]
    pub counts: f64,

    /// Seed of the noise.
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = seed)]
    pub seed: u64,

    /// Simulate attenuation; write the factors as OUT_mult.hs, for list-mode data the map as OUT_mu.nii.gz.
    #[arg(long)]
    pub attenuation: bool,

    /// Fraction of the expected counts that are a smooth background (scatter and randoms), 0 to below 1.
    ///
    /// The expected background is written as OUT_add.hs.
    #[arg(long, default_value_t = 0.0, value_name = "FRACTION", value_parser = background)]
    pub background: f64,

    /// Also write the true image (.hv, .nii, .nii.gz, .npy; for a scanner also .dcm).
    #[arg(long, value_name = "FILE", value_parser = image_file)]
    pub truth: Option<PathBuf>,

    /// Size of the true image in voxels along x, y, z (NX,NY with --epri 2d:N).
    ///
    /// Default: the default image size of the scanner.
    #[arg(long, value_name = "NX,NY,NZ", value_parser = sizes, requires = "truth")]
    pub image: Option<PerAxis<usize>>,

    /// Voxel size of the true image, mm (X,Y with --epri 2d:N).
    ///
    /// Default: bin size and half the ring spacing.
    #[arg(long, value_name = "X,Y,Z", value_parser = sides, requires = "truth")]
    pub voxel_mm: Option<PerAxis<f64>>,

    /// Also write the ROIs of the phantom (.toml, .json).
    #[arg(long, value_name = "FILE", value_parser = rois_file)]
    pub rois: Option<PathBuf>,

    #[command(flatten)]
    talk: TalkOptions,
}

/// Simulates and writes.
pub fn run(options: &SimulateOptions) -> CliResult {
    options.talk.apply();
    options.files().check()?;
    match (options.epri.epri, options.scanner) {
        (Some(scheme), _) => simulate_epri::run(options, scheme),
        (None, Some(Detectors::Bins(scanner))) if options.list.list_mode => simulate_list::run(options, scanner),
        (None, Some(Detectors::Bins(scanner))) => run_scan(options, scanner),
        (None, Some(Detectors::Ring(_))) if options.list.list_mode => {
            Err(wrong("--list-mode is for scanners; a ring of crystals gives a crystal-pair histogram (.pairs)"))
        }
        (None, Some(Detectors::Ring(ring))) => simulate_photons::run_ring(options, ring),
        (None, None) => Err(wrong("name a scanner (--scanner) or the directions of an EPRI sweep (--epri)")),
    }
}

fn run_scan(options: &SimulateOptions, scanner: &Scanner) -> CliResult {
    if FileKind::of(&options.output) != Some(FileKind::InterfileProjections) {
        return Err(wrong(format!("{} must end in .hs, as scans do", options.output.display())));
    }
    if options.model == Model::MonteCarlo {
        return simulate_photons::run(options, scanner);
    }
    let start = Start::now();
    let geometry = Arc::new(scanner.geometry.clone());
    let phantom = phantom::by_name(&options.phantom, &geometry).map_err(|error| wrong(error.to_string()))?;
    let simulation = SimulationOptions {
        counts: options.counts,
        noise: options.noise,
        seed: options.seed,
        attenuation: options.attenuation,
        background_fraction: options.background,
        truth_grid: Some(options.truth_grid(&geometry)?),
    };
    let study = with_bar("simulating", |task| phantom::simulate(&phantom, geometry, &simulation, task))??;
    notices::print(&study.notices);
    out!("{} on {}", study.title, scanner.title);
    let report = |path: &Path, what: &str| out!("  {}", WRITTEN.line([path.display().to_string(), what.to_owned()]));
    write_projections(&options.output, &study.measured.prompts)?;
    report(
        &options.output,
        &format!("{:.0} counts in {} bins", study.measured.prompts.total(), study.measured.geometry().num_bins()),
    );
    let corrections = [
        (Correction::Multiplicative, "attenuation factors", &study.measured.multiplicative),
        (Correction::Additive, "expected background", &study.measured.additive),
    ];
    for (which, what, data) in corrections {
        if let Some(data) = data {
            let path = which.path_beside(&options.output);
            write_projections(&path, data)?;
            report(&path, what);
        }
    }
    if let (Some(path), Some(truth)) = (&options.truth, &study.truth) {
        write_truth(path, truth, &study.title, options, start)?;
        report(path, &format!("true image, {}", truth.unit.label()));
    }
    if let Some(path) = &options.rois {
        rois::write_rois(path, &study.rois)?;
        report(path, &counted(study.rois.len(), "region of interest"));
    }
    Ok(())
}

/// Writes the true image of a phantom, and what made it beside it.
pub fn write_truth(path: &Path, truth: &Volume, title: &str, options: &SimulateOptions, start: Start) -> CliResult {
    let origin = Origin { measured: Some(options.output.clone()), ..Origin::default() };
    let device = DeviceRecord { name: "CPU".into(), threads: rayon::current_num_threads() };
    let image = ImageRecord::new(&truth.grid, truth.unit);
    let provenance = Provenance::new(Made::TrueImage, DataRecord::new(title, &origin), image, device, start.times());
    notices::print(provenance.of_image(truth).beside([path]).write_image(path, truth)?.as_slice());
    Ok(())
}

impl SimulateOptions {
    /// Whether counts are asked for that are not noisy.
    pub fn is_noiseless(&self) -> bool {
        self.noise == Noise::None
    }

    /// The files that will be written.
    fn files(&self) -> Files {
        let is_list = self.list.list_mode;
        let has_factors = (self.attenuation && !is_list) || self.model == Model::MonteCarlo;
        let has_background = self.background > 0.0 && !is_list;
        let corrections = [(Correction::Multiplicative, has_factors), (Correction::Additive, has_background)];
        let corrections: Vec<PathBuf> =
            corrections.iter().filter(|(_, is_made)| *is_made).map(|(which, _)| which.path_beside(&self.output)).collect();
        let map = (self.attenuation && is_list).then(|| map_beside(&self.output));
        let files = Files::new().write("-o", [&self.output]).write("-o", &corrections).write("-o", &map);
        files.write("--truth", &self.truth).write("--rois", &self.rois)
    }

    /// The grid asked for; what was not asked for is the scanner's default.
    fn truth_grid(&self, geometry: &ScanGeometry) -> CliResult<Grid> {
        let default = geometry.default_grid()?;
        let (size, voxel_mm) = voxels(self.image, self.voxel_mm, false)?;
        Ok(Grid::centred(size.unwrap_or(default.size), voxel_mm.unwrap_or(default.voxel_mm))?)
    }
}

fn counts(text: &str) -> Result<f64, String> {
    const LARGEST: f64 = 1e15;
    positive(text)
        .ok()
        .filter(|counts| *counts <= LARGEST)
        .ok_or_else(|| format!("expected a number above 0 and at most {LARGEST:e}"))
}

fn background(text: &str) -> Result<f64, String> {
    text.parse()
        .ok()
        .filter(|part: &f64| (0.0..1.0).contains(part))
        .ok_or_else(|| "expected a fraction from 0 to below 1".to_owned())
}

/// Returns the help of the phantom: all that there are.
fn phantoms() -> String {
    let names = |infos: &mut dyn Iterator<Item = &'static str>| infos.collect::<Vec<_>>().join(", ");
    format!(
        "Phantom. Scanners: {}. Rings of crystals: {}. EPRI: {}",
        names(&mut phantom::catalogue().map(|info| info.name)),
        names(&mut ring::catalogue().map(|info| info.name)),
        names(&mut epri::catalogue().map(|info| info.name)),
    )
}

/// A phantom of either catalogue; which one it must be in depends on the other options.
fn phantom_name(text: &str) -> Result<String, String> {
    let known = |found: Result<PhantomInfo, PhantomError>| found.map(|info| info.name.to_owned());
    let of_rings = || ring::catalogue().find(|info| info.name.eq_ignore_ascii_case(text)).map(|info| info.name.to_owned());
    let others = |error: String| known(epri::find(text)).map_err(|epri| format!("{error}; {epri}"));
    known(phantom::find(text)).or_else(|error| of_rings().ok_or(error.to_string())).or_else(others)
}

/// What counts: a scanner whose lines are bins, or a ring whose pairs of crystals are.
#[derive(Clone, Copy, Debug)]
enum Detectors {
    Bins(&'static Scanner),
    Ring(&'static CrystalRing),
}

fn known_detectors(name: &str) -> Result<Detectors, String> {
    match scanner::find_ring(name) {
        Some(ring) => Ok(Detectors::Ring(ring)),
        None => {
            let rings: Vec<&str> = scanner::rings().iter().map(|ring| ring.name.as_str()).collect();
            known_scanner(name).map(Detectors::Bins).map_err(|error| format!("{error}, {}", rings.join(", ")))
        }
    }
}

/// The scanner of the catalogue with this name.
pub fn known_scanner(name: &str) -> Result<&'static Scanner, String> {
    scanner::find(name).ok_or_else(|| {
        let names: Vec<&str> = scanner::catalogue().iter().map(|scanner| scanner.name.as_str()).collect();
        format!("there is no scanner '{name}'; known are {}", names.join(", "))
    })
}
