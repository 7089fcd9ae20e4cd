//! `tomoscope concentration IMAGE --rois FILE --sample NAME --millimolar C`: concentrations and spins of an EPRI image.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::json;

use crate::cli::shared::console::print_result;
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::cli::shared::notices;
use crate::cli::shared::options::{TalkOptions, number};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::file_of;
use crate::cli::shared::printed::written;
use crate::data::{Roi, Unit, ValueScale, Volume};
use crate::io::formats::Content as FileContent;
use crate::io::rois::partly_outside;
use crate::io::{check_image_unit, read_epri_volume, read_reference, read_regions};
use crate::measure::{Content, DoubleIntegral, KnownSample};
use crate::plan::Provenance;
use crate::report::TextTable;

/// Largest standard error of the ratio of two double integrals, relative to it.
const MAX_ERROR: f64 = 0.2;

/// Options of `tomoscope concentration`.
#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("known").required(true))]
pub struct ConcentrationOptions {
    /// EPRI image of density ({read images}).
    image: PathBuf,

    /// Regions of interest (.toml, .json).
    #[arg(long, value_name = "FILE")]
    rois: PathBuf,

    /// Name of the sample's region.
    #[arg(long, value_name = "NAME")]
    sample: String,

    /// Known concentration of the sample, mM.
    #[arg(long, value_name = "MM", value_parser = positive, group = "known")]
    millimolar: Option<f64>,

    /// Known amount in the sample's region, nmol.
    ///
    /// The region contains the whole sample with its blurred edge.
    #[arg(long, value_name = "NMOL", value_parser = positive, group = "known")]
    nanomoles: Option<f64>,

    /// Image that contains the sample, made with the same settings.
    ///
    /// Default: IMAGE.
    #[arg(long, value_name = "FILE")]
    sample_image: Option<PathBuf>,

    /// Reference spectrum that IMAGE was reconstructed with, if that of the sample's image is another one.
    #[arg(long, value_name = "FILE", requires = "sample_spectrum")]
    spectrum: Option<PathBuf>,

    /// Reference spectrum that the sample's image was reconstructed with.
    #[arg(long, value_name = "FILE", requires_all = ["spectrum", "sample_image"])]
    sample_spectrum: Option<PathBuf>,

    /// Image in mM to write (.nii, .nii.gz, .npy, .hv).
    #[arg(short, long, value_name = "OUT", value_parser = file_of(FileContent::Image))]
    output: Option<PathBuf>,

    /// Print the figures as JSON, for scripts.
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    talk: TalkOptions,
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, |value: &f64| value.is_finite() && *value > 0.0, "expected a number above 0")
}

pub fn run(options: &ConcentrationOptions) -> CliResult {
    options.talk.apply();
    let spectra = options.spectrum.iter().chain(&options.sample_spectrum);
    let read = [&options.image, &options.rois].into_iter().chain(&options.sample_image).chain(spectra);
    Files::new().read(read).write("-o", &options.output).check()?;
    if let Some(output) = &options.output {
        check_image_unit(output, Unit::Millimolar, None)?;
    }
    let image = density(&options.image)?;
    let rois = notices::printed(read_regions(&options.rois, None)?);
    notices::print(partly_outside(&rois, &image.grid).as_slice());
    let (mm_per_unit, spectra) = options.mm_per_unit(&image, &rois)?;
    let contents = Contents::of(&image, &rois, mm_per_unit, options.nanomoles.is_some());
    if let Some(output) = &options.output {
        let (record, notice) = Provenance::of_file(&options.image, &image);
        notices::print(notice.as_slice());
        let scale = ValueScale { unit: Unit::Millimolar, factor: mm_per_unit };
        let image = image.converted(scale);
        let record = record.converted(scale).beside([output.as_path()]);
        notices::print(record.write_image(output, &image)?.as_slice());
    }
    if options.json {
        let figures = json!({
            "mm_per_unit": mm_per_unit,
            "spectra": spectra.map(Spectra::to_json),
            "regions": contents.to_json(),
            "not_corrected": options.not_corrected()
        });
        print_result(format_args!("{}\n", serde_json::to_string_pretty(&figures)?));
        return Ok(());
    }
    print_result(format_args!("{}\n", contents.table(options, mm_per_unit, spectra).to_string().trim_end()));
    if let Some(output) = &options.output {
        written(output, Unit::Millimolar.label());
    }
    Ok(())
}

fn density(path: &Path) -> CliResult<Volume> {
    let image = notices::printed(read_epri_volume(path)?);
    match image.unit {
        Unit::Arbitrary | Unit::Unknown => Ok(image),
        unit => Err(CliError::arguments(format!(
            "{} is an image in {}; use one of the density of an EPRI reconstruction",
            path.display(),
            unit.label()
        ))),
    }
}

impl ConcentrationOptions {
    /// Returns the concentration of 1 of the image's unit, mM, with the spectra that it contains.
    ///
    /// # Errors
    /// No such region, a sample without signal, an unusable spectrum.
    fn mm_per_unit(&self, image: &Volume, rois: &[Roi]) -> CliResult<(f64, Option<Spectra>)> {
        let known = match (self.millimolar, self.nanomoles) {
            (Some(mm), _) => KnownSample::Concentration(mm),
            (None, amount) => KnownSample::Amount(amount.unwrap_or_default()),
        };
        let named: Vec<&Roi> = rois.iter().filter(|roi| roi.name == self.sample).collect();
        let [sample] = named.as_slice() else {
            let names: Vec<String> = rois.iter().map(|roi| format!("'{}'", roi.name)).collect();
            return Err(CliError::arguments(format!(
                "--sample: {} regions of {} have the name '{}'; use one of {}",
                named.len(),
                self.rois.display(),
                self.sample,
                names.join(", ")
            )));
        };
        let other = self.sample_image.as_deref().map(density).transpose()?;
        let of_sample = other.as_ref().unwrap_or(image);
        if is_slice(of_sample) != is_slice(image) {
            return Err(CliError::arguments("--sample-image: one image is a slice, the other a volume; use two of one kind"));
        }
        if other.is_some() {
            notices::print(partly_outside(std::slice::from_ref(*sample), &of_sample.grid).as_slice());
        }
        let sums = sample.mask(&of_sample.grid).sums(of_sample.as_slice());
        let factor = known.mm_per_unit(&sums, of_sample.grid.voxel_mm.iter().product()).ok_or_else(|| {
            let text = format!("--sample: the region '{}' has no signal above zero; check its place", self.sample);
            CliError::failed(Failure::Input, text)
        })?;
        let spectra = match (&self.spectrum, &self.sample_spectrum) {
            (Some(own), Some(sample)) => Some(Spectra::of(own, sample)?),
            _ => None,
        };
        Ok((factor * spectra.map_or(1.0, |spectra| spectra.ratio()), spectra))
    }

    /// Returns what else changes the concentrations, and is not in the files.
    fn not_corrected(&self) -> Vec<&'static str> {
        let always = ["sensitivity of the resonator from place to place", "edges of objects of a few voxels"];
        let between =
            ["gain, microwave power, modulation and quality factor of the two scans", "saturation of the two substances"];
        always.into_iter().chain(between.into_iter().filter(|_| self.sample_image.is_some())).collect()
    }
}

/// Double integrals of the spectra of image and sample.
#[derive(Clone, Copy, Debug, serde::Serialize)]
struct Spectra {
    image: DoubleIntegral,
    sample: DoubleIntegral,
}

impl Spectra {
    /// Integrates the spectra of these files.
    ///
    /// # Errors
    /// An unreadable file, a spectrum without a line, a ratio that is too uncertain.
    fn of(image: &Path, sample: &Path) -> CliResult<Self> {
        let integral = |path: &Path| -> CliResult<DoubleIntegral> {
            let found = DoubleIntegral::of(&notices::printed(read_reference(path)?));
            found.ok_or_else(|| {
                let text = format!(
                    "{}: no line above the noise with a double integral above 0; use a first-derivative spectrum of absorption with its \
                     baseline on both sides",
                    path.display()
                );
                CliError::failed(Failure::Input, text)
            })
        };
        let found = Self { image: integral(image)?, sample: integral(sample)? };
        if found.relative_error() <= MAX_ERROR {
            return Ok(found);
        }
        let of =
            |path: &Path, integral: DoubleIntegral| format!("{} by {:.0} %", path.display(), 100.0 * integral.relative_error());
        let text = format!(
            "the ratio of the double integrals is uncertain by {:.0} %, expected at most {:.0} % ({}, {}): measure the spectra with more \
             averages, or over a wider sweep if the lines reach its ends",
            100.0 * found.relative_error(),
            100.0 * MAX_ERROR,
            of(image, found.image),
            of(sample, found.sample)
        );
        Err(CliError::failed(Failure::Input, text))
    }

    /// Returns the double integral of the image's spectrum over that of the sample's.
    fn ratio(&self) -> f64 {
        self.image.value / self.sample.value
    }

    /// Returns the standard error of the ratio, relative to it.
    fn relative_error(&self) -> f64 {
        self.image.relative_error().hypot(self.sample.relative_error())
    }

    /// Describes the ratio, the windows and the tails.
    fn text(&self) -> String {
        let of = |integral: &DoubleIntegral| {
            format!("±{:.3} mT, {:.1} % in the tails beyond", integral.half_width_mt, 100.0 * integral.tails)
        };
        format!(
            "ratio of the double integrals {:.4} ± {:.4} ({:.1} %), which all concentrations contain; windows of the image's spectrum {}, of the \
             sample's {}",
            self.ratio(),
            self.ratio() * self.relative_error(),
            100.0 * self.relative_error(),
            of(&self.image),
            of(&self.sample)
        )
    }

    fn to_json(self) -> serde_json::Value {
        json!({
            "ratio": self.ratio(),
            "relative_standard_error": self.relative_error(),
            "double_integrals": self,
        })
    }
}

/// An image of a slice contains the density along its normal, without a thickness.
fn is_slice(image: &Volume) -> bool {
    image.grid.size[2] == 1
}

/// Regions with their contents.
struct Contents {
    regions: Vec<(String, Option<Content>)>,
    /// False where the amounts lack the thickness of a slice.
    has_amounts: bool,
}

impl Contents {
    fn of(image: &Volume, rois: &[Roi], mm_per_unit: f64, is_by_amount: bool) -> Self {
        let voxel_mm3 = image.grid.voxel_mm.iter().product();
        let content = |roi: &Roi| Content::of(&roi.mask(&image.grid).sums(image.as_slice()), mm_per_unit, voxel_mm3);
        Self {
            regions: rois.iter().map(|roi| (roi.name.clone(), content(roi))).collect(),
            has_amounts: is_by_amount || !is_slice(image),
        }
    }

    /// Returns the regions as JSON; those outside the image are null, as are the amounts of a slice.
    fn to_json(&self) -> serde_json::Value {
        let of = |(name, content): &(String, Option<Content>)| {
            let amounts = content.filter(|_| self.has_amounts);
            json!({
                "region": name,
                "mean_mm": content.map(|c| c.mean_mm),
                "sd_mm": content.and_then(|c| c.sd_mm),
                "volume_mm3": amounts.map(|c| c.volume_mm3),
                "amount_nmol": amounts.map(|c| c.amount_nmol),
                "spins": amounts.map(|c| c.spins),
            })
        };
        self.regions.iter().map(of).collect()
    }

    fn table(&self, options: &ConcentrationOptions, mm_per_unit: f64, spectra: Option<Spectra>) -> TextTable {
        let titles = |titles: &[&str]| titles.iter().map(|title| (*title).to_owned()).collect();
        let row = |(name, content): &(String, Option<Content>)| {
            let amounts = content.filter(|_| self.has_amounts);
            let text = |value: Option<f64>, digits: usize| value.map_or_else(|| "–".to_owned(), |v| format!("{v:.digits$}"));
            vec![
                name.clone(),
                text(content.map(|c| c.mean_mm), 4),
                text(content.and_then(|c| c.sd_mm), 4),
                text(amounts.map(|c| c.volume_mm3), 1),
                text(amounts.map(|c| c.amount_nmol), 2),
                amounts.map_or_else(|| "–".to_owned(), |c| format!("{:.3e}", c.spins)),
            ]
        };
        let mut remarks = vec![format!("not corrected: {}", options.not_corrected().join("; "))];
        remarks.extend(spectra.map(|spectra| spectra.text()));
        if !self.has_amounts {
            remarks
                .push("the image is a slice: amounts need the thickness of the object; --nanomoles has no need of it".to_owned());
        }
        TextTable {
            title: format!("{}, 1 of its unit = {mm_per_unit:.4e} mM by '{}'", options.image.display(), options.sample),
            words: titles(&["region"]),
            groups: vec![
                ("concentration (mM)".to_owned(), titles(&["mean", "SD"])),
                (String::new(), titles(&["mm³", "nmol", "spins"])),
            ],
            rows: self.regions.iter().map(row).collect(),
            remarks,
        }
    }
}
