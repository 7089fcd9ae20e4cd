//! Options of `tomoscope simulate`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::ArgPredicate;

use super::epri_options::EpriOptions;
use super::list_options::ListArguments;
use super::oxygen_options::OxygenArguments;
use crate::cli::shared::error::CliResult;
use crate::cli::shared::known::known_scanner;
use crate::cli::shared::notices;
use crate::cli::shared::options::{PerAxis, TalkOptions, number, seed, sides, sizes, voxels};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::{file_of, simulated_file};
use crate::cli::shared::printed::written;
use crate::data::{Origin, Roi, Study, Unit};
use crate::geometry::Grid;
use crate::io::formats::Content;
use crate::io::{Correction, map_beside, rois};
use crate::phantom::{Noise, PhantomError, PhantomInfo, epri, ring};
use crate::plan::{DataRecord, DeviceRecord, ImageKind, ImageRecord, Provenance, Start};
use crate::scanner::{CrystalRing, ScanGeometry, Scanner};
use crate::text::counted;
use crate::{phantom, scanner};

#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString)]
#[strum(serialize_all = "lowercase", parse_err_ty = String, parse_err_fn = not_a_model)]
pub enum Model {
    Analytic,
    MonteCarlo,
}

pub fn not_a_model(text: &str) -> String {
    format!("'{text}' is not a model; use analytic or montecarlo")
}

/// Options of `tomoscope simulate`.
#[derive(Args, Clone, Debug)]
pub struct SimulateOptions {
    #[arg(value_parser = phantom_name, help = phantoms())]
    #[arg(
        required = false,
        required_unless_present = "petric",
        default_value_if("petric", ArgPredicate::IsPresent, "nema-iq-2018")
    )]
    pub phantom: String,

    /// Write a twin of a data set of PETRIC into this folder: sinograms with attenuation and background, OSEM start image, κ, strength of
    /// the penalty and masks.
    ///
    /// Defaults: nema-iq-2018 on the scanner small, 1e7 counts, --background 0.3. tomoscope reproduce petric FOLDER measures algorithms
    /// with it.
    #[arg(long, value_name = "FOLDER")]
    #[arg(conflicts_with_all = ["epri", "output", "model", "list_mode", "tof_ps", "truth", "rois"])]
    pub petric: Option<PathBuf>,

    /// Add the converged image of a long run of SVRG (--petric only).
    #[arg(long, requires = "petric")]
    pub reference: bool,

    /// Scanner of the catalogue (discovery-ste, small, ...) or ring of crystals (madpet2, madpet2-reduced).
    #[arg(long, value_name = "NAME", value_parser = known_detectors, conflicts_with = "epri")]
    #[arg(required_unless_present_any = ["epri", "petric"], default_value_if("petric", ArgPredicate::IsPresent, "small"))]
    pub scanner: Option<Detectors>,

    #[command(flatten)]
    pub epri: EpriOptions,

    #[command(flatten)]
    pub oxygen: OxygenArguments,

    /// File to write: sinogram ({write projections}), with --epri an acquisition ({write acquisitions}), for a ring of crystals a crystal-pair histogram
    /// (.pairs), with --list-mode events ({write lists}).
    ///
    /// Corrections of a sinogram are written as OUT_mult.hs and OUT_add.hs.
    #[arg(short, long, value_name = "OUT", value_parser = simulated_file)]
    #[arg(
        required = false,
        required_unless_present = "petric",
        default_value_if("petric", ArgPredicate::IsPresent, "prompts.hs")
    )]
    pub output: PathBuf,

    /// Model of the data: analytic (exact line integrals) or montecarlo (photons in the crystals of rotating heads).
    ///
    /// montecarlo writes the number of crystal pairs of each bin as OUT_mult.hs.
    #[arg(long, default_value = "analytic", conflicts_with_all = ["epri", "list_mode"])]
    pub model: Model,

    #[command(flatten)]
    pub list: ListArguments,

    /// Noise of the counts: none or poisson.
    #[arg(long, default_value = "poisson", conflicts_with = "list_mode")]
    pub noise: Noise,

    /// Expected number of true counts in all bins; with --model montecarlo the exact number.
    #[arg(long, default_value = "1e8", value_name = "N", value_parser = counts)]
    #[arg(default_value_if("petric", ArgPredicate::IsPresent, "1e7"))]
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
    #[arg(default_value_if("petric", ArgPredicate::IsPresent, "0.3"))]
    pub background: f64,

    /// Also write the true image ({read images}; for a scanner also .dcm).
    #[arg(long, value_name = "FILE", value_parser = file_of(Content::Image), help_heading = "True image and regions")]
    pub truth: Option<PathBuf>,

    /// Size of the true image in voxels along x, y, z (NX,NY with --epri 2d:N).
    ///
    /// Default: the default image size of the scanner.
    #[arg(long, value_name = "NX,NY,NZ", value_parser = sizes, requires = "truth", help_heading = "True image and regions")]
    pub image: Option<PerAxis<usize>>,

    /// Voxel size of the true image, mm (X,Y with --epri 2d:N).
    ///
    /// Default: bin size and half the ring spacing.
    #[arg(long, value_name = "X,Y,Z", value_parser = sides, requires = "truth", help_heading = "True image and regions")]
    pub voxel_mm: Option<PerAxis<f64>>,

    /// Also write the ROIs of the phantom (.toml, .json).
    #[arg(long, value_name = "FILE", value_parser = file_of(Content::Rois), help_heading = "True image and regions")]
    pub rois: Option<PathBuf>,

    #[command(flatten)]
    pub talk: TalkOptions,
}

impl SimulateOptions {
    /// Returns the files to write.
    pub fn files(&self) -> Files {
        let is_list = self.list.list_mode;
        let has_factors = (self.attenuation && !is_list) || self.model == Model::MonteCarlo;
        let has_background = self.background > 0.0 && !is_list;
        let corrections = [(Correction::Multiplicative, has_factors), (Correction::Additive, has_background)];
        let corrections: Vec<PathBuf> =
            corrections.iter().filter(|(_, is_made)| *is_made).map(|(which, _)| which.path_beside(&self.output)).collect();
        let map = (self.attenuation && is_list).then(|| map_beside(&self.output));
        let outputs = if self.oxygen.oxygen { self.oxygen.outputs(&self.output) } else { vec![self.output.clone()] };
        let study = self.oxygen.oxygen.then(|| self.oxygen.study_file(&self.output));
        let files = Files::new()
            .read(&self.oxygen.file())
            .write_scans("-o", &outputs)
            .write("-o", &study)
            .write("-o", &corrections)
            .write("-o", &map);
        files.write("--truth", &self.truth).write("--rois", &self.rois)
    }

    /// Returns the requested grid; defaults are those of the scanner.
    pub fn truth_grid(&self, geometry: &ScanGeometry) -> CliResult<Grid> {
        let default = geometry.default_grid()?;
        let (size, voxel_mm) = voxels(self.image, self.voxel_mm, false)?;
        Ok(Grid::centred(size.unwrap_or(default.size), voxel_mm.unwrap_or(default.voxel_mm))?)
    }

    /// Writes the requested ones of true image and regions, and prints each file with its content.
    pub fn write_companions<T>(&self, study: &Study<T>, start: Start) -> CliResult {
        if let (Some(path), Some(truth)) = (&self.truth, &study.truth) {
            let origin = Origin::of(&self.output);
            let device = DeviceRecord { name: "CPU".into(), threads: rayon::current_num_threads() };
            let (data, image) = (DataRecord::new(&study.title, &origin), ImageRecord::new(&truth.grid, truth.unit));
            let provenance = Provenance::new(ImageKind::TrueImage, data, image, device, start.times());
            notices::print(provenance.of_image(truth).beside([path.as_path()]).write_image(path, truth)?.as_slice());
            let unit = if truth.unit == Unit::Arbitrary { String::new() } else { format!(", {}", truth.unit.label()) };
            written(path, format!("true image{unit}"));
        }
        self.write_rois(&study.rois)
    }

    /// Writes the regions if they are requested, and prints the file with its content.
    pub fn write_rois(&self, rois: &[Roi]) -> CliResult {
        if let Some(path) = &self.rois {
            rois::write_rois(path, rois)?;
            written(path, counted(rois.len(), "region of interest"));
        }
        Ok(())
    }
}

pub fn counts(text: &str) -> Result<f64, String> {
    const LARGEST: f64 = 1e15;
    number(text, |counts| *counts > 0.0 && *counts <= LARGEST, format!("expected a number above 0 and at most {LARGEST:e}"))
}

pub fn background(text: &str) -> Result<f64, String> {
    number(text, |part| (0.0..1.0).contains(part), "expected a fraction from 0 to below 1")
}

/// Returns the help of the phantom with all names.
pub fn phantoms() -> String {
    let names = |infos: &mut dyn Iterator<Item = &'static str>| infos.collect::<Vec<_>>().join(", ");
    format!(
        "Phantom. Scanners: {}. Rings of crystals: {}. EPRI: {}",
        names(&mut phantom::catalogue().map(|info| info.name)),
        names(&mut ring::catalogue().map(|info| info.name)),
        names(&mut epri::catalogue().map(|info| info.name)),
    )
}

/// Parses the name of a phantom of any catalogue; the right one depends on the other options.
pub fn phantom_name(text: &str) -> Result<String, String> {
    let known = |found: Result<PhantomInfo, PhantomError>| found.map(|info| info.name.to_owned());
    let of_rings = || ring::catalogue().find(|info| info.name.eq_ignore_ascii_case(text)).map(|info| info.name.to_owned());
    let others = |error: String| known(epri::find(text)).map_err(|epri| format!("{error}; {epri}"));
    known(phantom::find(text)).or_else(|error| of_rings().ok_or(error.to_string())).or_else(others)
}

/// Detectors: a scanner with bins, or a ring with pairs of crystals.
#[derive(Clone, Copy, Debug)]
pub enum Detectors {
    Bins(&'static Scanner),
    Ring(&'static CrystalRing),
}

pub fn known_detectors(name: &str) -> Result<Detectors, String> {
    match scanner::find_ring(name) {
        Some(ring) => Ok(Detectors::Ring(ring)),
        None => {
            let rings: Vec<&str> = scanner::rings().iter().map(|ring| ring.name.as_str()).collect();
            known_scanner(name).map(Detectors::Bins).map_err(|error| format!("{error}, {}", rings.join(", ")))
        }
    }
}
