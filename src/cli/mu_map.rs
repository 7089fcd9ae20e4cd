//! `tomoscope mu-map CT -o OUT`: the attenuation map of CT.

use std::path::PathBuf;

use clap::Args;

use super::shared::console::out;
use super::shared::ct_options::{finite_triple, settings};
use super::shared::error::{CliError, CliResult, Done};
use super::shared::image_options::ImageOptions;
use super::shared::notices;
use super::shared::options::{TalkOptions, not_negative, positive};
use super::shared::outputs::Files;
use super::shared::paths::file_of;
use crate::data::{ImageChoice, MU_PER_CM, Notice, Origin, Unit};
use crate::geometry::Grid;
use crate::io::formats::Content;
use crate::io::{check_image_unit, read_images, read_volume};
use crate::plan::{CorrectionRecord, CtError, DataRecord, DeviceRecord, ImageKind, ImageRecord, Provenance, Start};
use crate::recon::PlacedCt;

/// Options of `tomoscope mu-map`.
#[derive(Args, Clone, Debug)]
pub struct MuMapOptions {
    /// CT in Hounsfield units: a folder with a DICOM series, or an image ({read images}).
    ct: PathBuf,

    /// Attenuation map to write, in 1/cm ({write images}).
    #[arg(short, long, value_name = "OUT", value_parser = file_of(Content::Image))]
    output: PathBuf,

    /// Tube voltage, kV.
    ///
    /// Default: that of the DICOM series (KVP).
    #[arg(long, value_name = "KV", value_parser = positive)]
    kvp: Option<f64>,

    /// FWHM of a Gaussian filter, mm: the resolution of PET.
    ///
    /// 0 = no filter. Default: 6.
    #[arg(long, value_name = "FWHM", value_parser = not_negative)]
    fwhm_mm: Option<f64>,

    /// Shift of the CT in the world, mm.
    ///
    /// Default: 0,0,0.
    #[arg(long, value_name = "X,Y,Z", value_parser = finite_triple, visible_alias = "ct-shift-mm")]
    shift_mm: Option<[f64; 3]>,

    #[command(flatten)]
    image: ImageOptions,

    #[command(flatten)]
    talk: TalkOptions,
}

/// Converts CT and writes the map.
pub fn run(options: &MuMapOptions) -> CliResult<Done> {
    options.talk.apply();
    Files::new().read([&options.ct]).read(&options.image.like).write("-o", [&options.output]).check()?;
    check_image_unit(&options.output, Unit::PerCm, None)?;
    let start = Start::now();
    let series = notices::printed(read_images(&options.ct, ImageChoice::Only)?);
    let refuse = |problem| CtError { file: options.ct.clone(), problem };
    let ct = PlacedCt::new(&series, &settings(options.kvp, options.fwhm_mm, options.shift_mm)).map_err(refuse)?;
    let grid = match options.grid(&ct.grid(None).map_err(refuse)?)? {
        Some(grid) => grid,
        None => ct.grid(None).map_err(refuse)?,
    };
    let cover = ct.cover(&grid, None).map_err(refuse)?;
    let remarks = ct.remarks().into_iter().chain(cover.text());
    notices::print(&remarks.map(|text| Notice::warning(format!("{}: {text}", options.ct.display()))).collect::<Vec<_>>());
    let (map, conversion) = (ct.attenuation(&grid).converted(MU_PER_CM), ct.conversion());
    let origin = Origin {
        measured: Some(options.ct.clone()),
        attenuation: Some(options.ct.clone()),
        ct: Some(conversion),
        ..Origin::default()
    };
    let title = options.ct.file_stem().unwrap_or_default().to_string_lossy();
    let device = DeviceRecord { name: "CPU".to_owned(), threads: rayon::current_num_threads() };
    let image = ImageRecord::new(&map.grid, map.unit);
    let record = Provenance {
        corrections: Some(CorrectionRecord::of_ct(&origin)),
        ..Provenance::new(ImageKind::AttenuationMap, DataRecord::new(&title, &origin), image, device, start.times())
    };
    let record = record.of_image(&map).beside([options.output.as_path()]);
    notices::print(record.write_image(&options.output, &map)?.as_slice());
    out!("{}: {}, {}, values in {}", options.output.display(), grid.text(), conversion.text(), map.unit.label());
    Ok(Done::Complete)
}

impl MuMapOptions {
    /// Returns the requested grid, about the middle of the default one.
    ///
    /// # Errors
    /// An unreadable or oblique image, an impossible grid.
    fn grid(&self, default: &Grid) -> CliResult<Option<Grid>> {
        if let Some(path) = &self.image.like {
            let series = notices::printed(read_images(path, ImageChoice::Number(1))?);
            if series.placement.is_some() {
                let text = format!("{} is oblique; a map is written along the axes of the world", path.display());
                return Err(CliError::arguments(text));
            }
            return Ok(series.grid().cloned());
        }
        self.image.grid_with(read_volume, false, |size, voxel_mm| {
            let voxel_mm = voxel_mm.unwrap_or(default.voxel_mm);
            let length = |a: usize| default.size[a] as f64 * default.voxel_mm[a];
            let size = size.unwrap_or_else(|| [0, 1, 2].map(|a| (length(a) / voxel_mm[a] - 1e-9).ceil().max(1.0) as usize));
            let first = |a: usize| {
                let [low, high] = default.extent_mm(a);
                0.5 * (low + high) - 0.5 * (size[a] as f64 - 1.0) * voxel_mm[a]
            };
            Ok(Grid::new(size, voxel_mm, [0, 1, 2].map(first))?)
        })
    }
}
