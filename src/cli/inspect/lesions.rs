//! `tomoscope lesions IMAGE --rois FILE`: maximum, mean, peak, volume and total glycolysis of lesions, and their change since a
//! baseline.

use std::path::{Path, PathBuf};

use clap::Args;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cli::shared::console::{out, print_result, remark};
use crate::cli::shared::error::{CliError, CliResult};
use crate::cli::shared::image_input::{ImageInput, InputImage};
use crate::cli::shared::notices;
use crate::cli::shared::options::{TalkOptions, count};
use crate::cli::shared::outputs::Files;
use crate::cli::shared::paths::{file_of, report_file};
use crate::data::{ImageChoice, ImageSeries, Notice, Roi, Volume};
use crate::geometry::Point;
use crate::io::dicom;
use crate::io::formats::Content;
use crate::io::measurements::MeasurementWriter;
use crate::io::{read_images, read_regions, source_series, write_whole};
use crate::measure::lesions::{Changes, LesionOptions, LesionTable, LesionThreshold, changes, measure_lesions};
use crate::plan::{Progress, Provenance};
use crate::report::{ImageReport, LesionsShown, lesion_pdf};
use crate::task::Task;

/// Options of `tomoscope lesions`.
#[derive(Args, Clone, Debug)]
pub struct LesionArguments {
    /// Image to measure ({read images}).
    image: PathBuf,

    /// Regions of interest (.toml, .json), or a DICOM segmentation: a lesion for each region of the role none or hot.
    #[arg(long, value_name = "FILE")]
    rois: PathBuf,

    /// Voxels of a lesion: 41% of its maximum, a value, or percist (1.5 × mean + 2 SD of the liver, in SUL).
    ///
    /// An isocontour is found again about its maximum. Any other region confines its lesion. Default: the regions as they are.
    #[arg(long, value_name = "T%|VALUE|percist", allow_hyphen_values = true)]
    threshold: Option<LesionThreshold>,

    /// Region in the liver, which is no lesion: a sphere of 3 cm about its centre.
    #[arg(long, value_name = "NAME", default_value = "liver")]
    liver: String,

    /// Second image ({read images}), such as a CT: its mean in each lesion.
    #[arg(long, value_name = "IMAGE")]
    ct: Option<PathBuf>,

    /// Earlier image ({read images}): the change since, by the names of the lesions.
    #[arg(long, value_name = "IMAGE")]
    baseline: Option<PathBuf>,

    /// Regions of interest of the earlier image (.toml, .json), or a DICOM segmentation.
    ///
    /// Default: those of --rois.
    #[arg(long, value_name = "FILE", requires = "baseline")]
    baseline_rois: Option<PathBuf>,

    /// Image of a file or series of several over time, for --baseline, counted from 1.
    #[arg(long, value_name = "N", requires = "baseline", value_parser = count::<usize>)]
    baseline_frame: Option<usize>,

    /// Write the numbers, one row per value.
    #[arg(long, value_name = "OUT.csv")]
    csv: Option<PathBuf>,

    /// Write the voxels of the lesions as a DICOM segmentation ({write segmentations}).
    ///
    /// A voxel belongs to a lesion if at least half of it lies inside.
    #[arg(long, value_name = "OUT.seg.dcm", value_parser = file_of(Content::Segmentation))]
    seg: Option<PathBuf>,

    /// Write a report (.pdf).
    #[arg(long, value_name = "OUT.pdf", value_parser = report_file)]
    report: Option<PathBuf>,

    /// Print the numbers as JSON, for scripts.
    #[arg(long)]
    json: bool,

    /// Write no names of files and no dates of the image.
    ///
    /// A segmentation has the patient of its source.
    #[arg(long, conflicts_with = "seg")]
    anonymise: bool,

    #[command(flatten)]
    input: ImageInput,

    #[command(flatten)]
    talk: TalkOptions,
}

/// Measures, prints, and writes the requested files.
pub fn run(options: &LesionArguments) -> CliResult {
    options.talk.apply();
    let read = [&options.image, &options.rois].into_iter().chain(&options.ct).chain(&options.baseline);
    let files = Files::new().read(read.chain(&options.baseline_rois)).write("--seg", &options.seg);
    files.write("--report", &options.report).write_lines("--csv", &options.csv).check()?;
    let image = options.input.read(&options.image)?;
    let regions = notices::printed(read_regions(&options.rois, Some(&image.space()))?);
    let second = options.ct.as_ref().map(|path| second_image(path, &image)).transpose()?;
    let table = options.measured(&image, &regions, second.as_ref())?;
    let since = options.baseline.as_ref().map(|path| options.changes(path, (&image, &regions), &table)).transpose()?;
    let second_names = second.as_ref().map(|series| [series.modality.name(), series.unit().label()]);
    let baseline =
        options.baseline.as_ref().zip(since.as_ref()).map(|(path, changes)| (options.name(path, "the baseline"), changes));
    let shown = LesionsShown {
        table: &table,
        second: second_names,
        baseline: baseline.as_ref().map(|(name, changes)| (name.as_str(), *changes)),
    };
    if options.json {
        out!("{}", serde_json::to_string_pretty(&as_json(&options.title(), &shown))?);
    } else {
        let text = shown.text(&options.title()).to_string();
        print_result(format_args!("{}\n", text.trim_end()));
    }
    options.write(&image, &shown)
}

impl LesionArguments {
    /// Returns the name of a file, or another one for anonymous results.
    fn name(&self, path: &Path, anonymous: &str) -> String {
        let name = || path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
        if self.anonymise { anonymous.to_owned() } else { name() }
    }

    fn title(&self) -> String {
        self.name(&self.image, "anonymous image")
    }

    fn measured(&self, image: &InputImage, regions: &[Roi], second: Option<&ImageSeries>) -> CliResult<LesionTable> {
        let value = |point: Point| value_in_second(image, second?, point);
        let threshold = self.threshold.unwrap_or_default();
        let options = LesionOptions { threshold, liver: &self.liver, second: second.is_some().then_some(&value) };
        Ok(measure_lesions(&image.volume, regions, options, &Task::new())?)
    }

    /// Returns the changes since an earlier image.
    fn changes(&self, path: &Path, (image, regions): (&InputImage, &[Roi]), table: &LesionTable) -> CliResult<Changes> {
        let earlier = self.input.of_frame(self.baseline_frame).read(path)?;
        if earlier.series.names.is_other_patient(&image.series.names) {
            notices::print(&[Notice::warning(format!("{}: the baseline is of another patient", path.display()))]);
        }
        let of_baseline = self.baseline_rois.as_ref().map(|path| read_regions(path, Some(&earlier.space()))).transpose()?;
        let of_baseline = of_baseline.map(notices::printed);
        let before = self.measured(&earlier, of_baseline.as_deref().unwrap_or(regions), None)?;
        changes(&(&before).into(), table).ok_or_else(|| {
            let units = [before.unit, table.unit].map(|unit| unit.label());
            CliError::arguments(format!(
                "{}: its values are in {}, those of the other image in {}; changes need one unit (--suv)",
                path.display(),
                units[0],
                units[1]
            ))
        })
    }

    fn write(&self, image: &InputImage, shown: &LesionsShown) -> CliResult {
        if let Some(path) = &self.csv {
            let record = image.record(&self.image);
            let record = if self.anonymise { record.anonymised() } else { record };
            let iteration = match record.progress {
                Some(Progress::Iterations { iteration, .. }) => iteration,
                _ => 0,
            };
            MeasurementWriter::create(path)?.write(&shown.measurements(iteration))?;
            notices::print(record.beside([path.as_path()]).write_beside(path).as_slice());
            remark!("{}: the numbers", path.display());
        }
        if let Some(path) = &self.seg {
            self.write_segmentation(path, image, shown)?;
        }
        if let Some(path) = &self.report {
            let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
            let record = Provenance::read_beside(&self.image);
            let provenance = if self.anonymise { record.map(Provenance::anonymised) } else { record };
            let title = self.title();
            let (volume, provenance) = (&image.volume, provenance.as_ref());
            let report = ImageReport { title: &title, volume, analysis: shown, provenance, date: &date };
            write_whole(path, &lesion_pdf(&report)?)?;
            remark!("{}: the report", path.display());
        }
        Ok(())
    }

    fn write_segmentation(&self, path: &Path, image: &InputImage, shown: &LesionsShown) -> CliResult {
        let source = source_series(&self.image, self.input.number())?;
        let space = (&image.volume.grid, image.series.placement.as_ref());
        notices::print(&dicom::write_segmentation(path, space, &shown.segments(), source.as_ref())?);
        remark!("{}: the voxels", path.display());
        Ok(())
    }
}

/// Reads the first image of a second file or series.
fn second_image(path: &Path, image: &InputImage) -> CliResult<ImageSeries> {
    let series = notices::printed(read_images(path, ImageChoice::Number(1))?);
    let names = &image.series.names;
    let problem = if names.is_other_patient(&series.names) {
        Some("is of another patient")
    } else if names.is_other_frame_of_reference(&series.names) {
        Some("has another frame of reference (FrameOfReferenceUID): its positions may not match")
    } else {
        None
    };
    notices::print(problem.map(|text| Notice::warning(format!("{}: the second image {text}", path.display()))).as_slice());
    Ok(series)
}

/// Returns the value of a second image at a point of the first; `None` outside.
fn value_in_second(image: &InputImage, second: &ImageSeries, point: Point) -> Option<f64> {
    let world = image.series.placement.map_or(point, |placement| placement.world_mm(point));
    let own = second.placement.map_or(world, |placement| placement.own_mm(world));
    let volume: &Volume = &second.images.first()?.volume;
    volume.interpolated_mm(own)
}

/// Returns the numbers for scripts; ratios are fractions (1 = 100 %).
fn as_json(title: &str, shown: &LesionsShown) -> Value {
    let LesionTable { unit, threshold, liver, lesions, total } = shown.table;
    let changes = shown.baseline.map(|(_, changes)| changes);
    let lesions: Vec<Value> = lesions
        .iter()
        .enumerate()
        .map(|(index, lesion)| match &lesion.figures {
            Ok(figures) => json!({
                "name": lesion.name,
                "figures": figures,
                "total_glycolysis_ml": figures.total_ml(),
                "change": changes.and_then(|changes| changes.lesions.get(index)),
            }),
            Err(reason) => json!({ "name": lesion.name, "reason": reason.to_string() }),
        })
        .collect();
    json!({
        "image": title,
        "unit": unit.label(),
        "threshold": threshold.to_string(),
        "liver": liver,
        "percist_threshold": liver.map(|liver| liver.threshold()),
        "second": shown.second,
        "lesions": lesions,
        "total": total,
        "baseline": shown.baseline.map(|(name, changes)| json!({ "image": name, "change": changes.total, "missing": changes.missing })),
        "remarks": shown.remarks(),
    })
}
