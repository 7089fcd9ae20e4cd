//! The folder of a data set of PETRIC, the image reconstruction challenge of SyneRBI, in the form of STIR:
//!
//! ```text
//! prompts.hs                  measured counts
//! mult_factors.hs             factors m
//! additive_term.hs            background a, inside the factors: ȳ = m ⊙ (A x + a)
//! OSEM_image.hv               start image
//! kappa.hv                    κ of the penalty
//! penalisation_factor.txt     strength β of the relative difference prior
//! PETRIC/reference_image.hv   converged image
//! PETRIC/VOI_*.hv             masks: whole_object, background, and each volume of interest
//! ```
//!
//! STIR measures lines in units of Δx, the voxel size along x: with x_mm = x_STIR / Δx and lines in mm the data are the same, and
//! κ = √(H·1), of the second derivatives H, is κ_mm = κ_STIR Δx. The relative difference prior is in proportion to κ² x, so that its
//! strength is β_mm = β_STIR / Δx. The program has these; files have STIR's.
//! Source: `petric.py` of SyneRBI/PETRIC.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::by_content::{read_volume, write_projections, write_volume};
use super::bytes::write_whole;
use super::error::IoError;
use super::notice;
use crate::data::{Counts, Michelogram, Notice, Preset, Roi, RoiRole, RoiShape, Unit, Volume, Voxels};
use crate::geometry::Grid;

const PROMPTS: &str = "prompts.hs";
const FACTORS: &str = "mult_factors.hs";
const BACKGROUND: &str = "additive_term.hs";
const START: &str = "OSEM_image.hv";
const KAPPA: &str = "kappa.hv";
const STRENGTH: &str = "penalisation_factor.txt";
/// Folder of everything that the measures need.
const MEASURES: &str = "PETRIC";
const REFERENCE: &str = "reference_image.hv";
const MASK: &str = "VOI_";

/// Strength of a data set without a file of it (`petric.py`).
const DEFAULT_STRENGTH: f64 = 1.0 / 700.0;

/// Name of the region of the whole object.
pub const WHOLE_OBJECT: &str = "whole_object";
/// Name of the background's region.
pub const BACKGROUND_REGION: &str = "background";

/// A folder with a data set of PETRIC.
#[derive(Clone, Debug, PartialEq)]
pub struct PetricFolder(PathBuf);

impl PetricFolder {
    /// Returns the data set of a folder, or of the prompts in it; `None` where it is none.
    pub fn of(path: &Path) -> Option<Self> {
        let is_prompts = path.file_name().is_some_and(|name| name == PROMPTS);
        let folder = if is_prompts { path.parent().unwrap_or(Path::new("")) } else { path };
        let has = |name: &&str| folder.join(name).is_file();
        (has(&PROMPTS) && [FACTORS, BACKGROUND, START].iter().any(has)).then(|| Self(folder.to_owned()))
    }

    /// Returns the name of the data set: that of its folder.
    pub fn title(&self) -> String {
        let full = self.0.canonicalize().unwrap_or_else(|_| self.0.clone());
        full.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Returns the file of the measured counts.
    pub fn prompts(&self) -> PathBuf {
        self.0.join(PROMPTS)
    }

    /// Returns the files of factors and background, as far as they exist.
    pub fn corrections(&self) -> [Option<PathBuf>; 2] {
        [FACTORS, BACKGROUND].map(|name| self.existing(name))
    }

    fn existing(&self, name: &str) -> Option<PathBuf> {
        Some(self.0.join(name)).filter(|path| path.is_file())
    }

    /// Returns the masks, `PETRIC/VOI_*.hv`, with their names in alphabetical order.
    fn masks(&self) -> Vec<(String, PathBuf)> {
        let entries = self.0.join(MEASURES).read_dir().into_iter().flatten().filter_map(Result::ok);
        let name = |path: &Path| {
            let stem = path.file_name()?.to_str()?.strip_suffix(".hv")?;
            stem.strip_prefix(MASK).map(str::to_owned)
        };
        let mut masks: Vec<_> = entries.filter_map(|entry| Some((name(&entry.path())?, entry.path()))).collect();
        masks.sort();
        masks
    }

    /// Returns all files that it reads, except the sinograms.
    pub fn files(&self) -> Vec<PathBuf> {
        let further = [START, KAPPA, STRENGTH].map(|name| self.0.join(name));
        let reference = self.0.join(MEASURES).join(REFERENCE);
        let masks = self.masks().into_iter().map(|(_, path)| path);
        further.into_iter().chain([reference]).chain(masks).filter(|path| path.is_file()).collect()
    }

    /// Reads images, strength and masks; notices name the files that are missing.
    ///
    /// # Errors
    /// A file that is not readable, images on different grids, a strength that is no number above 0.
    pub fn read_preset(&self) -> Result<(Preset, Vec<Roi>, Vec<Notice>), IoError> {
        let mut notices = Vec::new();
        let mut reader = Reader { grid: None, notices: &mut notices };
        let measures = self.0.join(MEASURES);
        let start = reader.read(&self.0.join(START), Quantity::Activity)?;
        let kappa = reader.read(&self.0.join(KAPPA), Quantity::Kappa)?;
        let reference = reader.read(&measures.join(REFERENCE), Quantity::Activity)?;
        let mut rois = Vec::new();
        for (name, path) in self.masks() {
            if let Some(mask) = reader.read(&path, Quantity::Mask)? {
                rois.extend(region(&name, &mask));
            }
        }
        let grid = reader.grid.map(|(_, grid)| grid);
        let given = self.strength()?;
        let strength = grid.as_ref().map(|grid| given.unwrap_or(DEFAULT_STRENGTH) / grid.voxel_mm[0]);
        let masks = [WHOLE_OBJECT, BACKGROUND_REGION].map(|name| format!("{MEASURES}/{MASK}{name}.hv"));
        let has_mask = |name: &str| rois.iter().any(|roi: &Roi| roi.name == name);
        let missing = [
            (self.existing(FACTORS).is_none(), FACTORS, "all factors are 1"),
            (self.existing(BACKGROUND).is_none(), BACKGROUND, "there is no background"),
            (start.is_none(), START, "runs start at one iteration of OSEM"),
            (given.is_none(), STRENGTH, "the strength is PETRIC's default, 1/700"),
            (reference.is_none(), "PETRIC/reference_image.hv", "PETRIC's measures need a reference"),
            (!has_mask(WHOLE_OBJECT), &masks[0], "PETRIC's measures need it"),
            (!has_mask(BACKGROUND_REGION), &masks[1], "PETRIC's measures need it"),
        ];
        let of_missing = |(_, name, effect): (bool, &str, &str)| notice::info(&self.0, format!("no {name}: {effect}"));
        notices.extend(missing.into_iter().filter(|(is_missing, ..)| *is_missing).map(of_missing));
        Ok((Preset { start, kappa, strength, reference }, rois, notices))
    }

    /// Returns the strength in its file, for images in the unit of STIR.
    fn strength(&self) -> Result<Option<f64>, IoError> {
        let Some(path) = self.existing(STRENGTH) else { return Ok(None) };
        let text = std::fs::read_to_string(&path).map_err(IoError::read(&path))?;
        match text.trim().parse() {
            Ok(strength) if strength > 0.0 && f64::is_finite(strength) => Ok(Some(strength)),
            _ => Err(IoError::Value {
                path,
                key: "penalisation factor".into(),
                found: text.trim().chars().take(40).collect(),
                expected: "a number above 0".into(),
            }),
        }
    }

    /// Writes a data set into a folder that exists, with the masks of these regions (voxels with half or more inside);
    /// returns the files in order. The masks have the grid of the start image.
    ///
    /// # Errors
    /// A write fails.
    pub fn write(folder: &Path, counts: &Counts, preset: &Preset, rois: &[Roi]) -> Result<Vec<PathBuf>, IoError> {
        let measures = folder.join(MEASURES);
        std::fs::create_dir_all(&measures).map_err(IoError::write(&measures))?;
        let mut files = Vec::new();
        let mut sinogram = |name: &str, data: &Michelogram| {
            files.push(folder.join(name));
            write_projections(&folder.join(name), data)
        };
        sinogram(PROMPTS, &counts.prompts)?;
        if let Some(factors) = &counts.multiplicative {
            sinogram(FACTORS, factors)?;
        }
        if let Some(background) = &counts.additive {
            let mut inside = background.clone();
            if let Some(factors) = &counts.multiplicative {
                let inverse: Vec<f32> = factors.counts.iter().map(|m| if *m > 0.0 { 1.0 / m } else { 0.0 }).collect();
                inside.scale_bins(&inverse);
            }
            sinogram(BACKGROUND, &inside)?;
        }
        let mut image = |path: PathBuf, image: &Volume, factor: f64| {
            write_volume(&path, &scaled(image, factor, Unit::Unknown))?;
            files.push(path);
            Ok::<_, IoError>(())
        };
        let Some(start) = &preset.start else { return Ok(files) };
        let voxel_mm = start.grid.voxel_mm[0];
        image(folder.join(START), start, voxel_mm)?;
        if let Some(kappa) = &preset.kappa {
            image(folder.join(KAPPA), kappa, 1.0 / voxel_mm)?;
        }
        if let Some(reference) = &preset.reference {
            image(measures.join(REFERENCE), reference, voxel_mm)?;
        }
        for roi in rois {
            let mut mask = Volume::filled(start.grid.clone(), 0.0);
            for (voxel, weight) in roi.mask(&start.grid).voxels.iter().filter(|(_, weight)| *weight >= 0.5) {
                mask.as_mut_slice()[*voxel as usize] = weight.ceil();
            }
            image(measures.join(format!("{MASK}{}.hv", roi.name)), &mask, 1.0)?;
        }
        if let Some(strength) = preset.strength {
            let path = folder.join(STRENGTH);
            write_whole(&path, format!("{}\n", strength * voxel_mm).as_bytes())?;
            files.push(path);
        }
        Ok(files)
    }
}

/// Reads images of one grid.
struct Reader<'a> {
    /// The first image's file and grid.
    grid: Option<(PathBuf, Grid)>,
    notices: &'a mut Vec<Notice>,
}

impl Reader<'_> {
    /// Reads an image; `None` where there is no such file. Values of STIR become those of the program.
    fn read(&mut self, path: &Path, quantity: Quantity) -> Result<Option<Arc<Volume>>, IoError> {
        if !path.is_file() {
            return Ok(None);
        }
        let (mut volume, notices) = read_volume(path)?;
        self.notices.extend(notices);
        let (first, grid) = self.grid.get_or_insert_with(|| (path.to_owned(), volume.grid.clone()));
        if !volume.grid.same_as(grid) {
            return Err(IoError::Value {
                path: path.to_owned(),
                key: "matrix size".into(),
                found: volume.grid.text(),
                expected: format!("the grid of {}, {},", first.display(), grid.text()),
            });
        }
        volume.grid = grid.clone();
        let (voxel_mm, is_of_stir) = (grid.voxel_mm[0], volume.unit == Unit::Unknown);
        Ok(Some(Arc::new(match quantity {
            Quantity::Activity if is_of_stir => scaled(&volume, 1.0 / voxel_mm, Unit::CountsPerMm),
            Quantity::Kappa => scaled(&volume, voxel_mm, Unit::Unknown),
            Quantity::Activity | Quantity::Mask => volume,
        })))
    }
}

/// Quantity of an image.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Quantity {
    Activity,
    Kappa,
    Mask,
}

/// Returns the image with its values multiplied by `factor`, in this unit.
fn scaled(volume: &Volume, factor: f64, unit: Unit) -> Volume {
    let mut scaled = volume.clone();
    scaled.as_mut_slice().iter_mut().for_each(|value| *value = (f64::from(*value) * factor) as f32);
    Volume { unit, ..scaled }
}

/// Returns the region of a mask's voxels above 0; `None` where there is none.
fn region(name: &str, mask: &Volume) -> Option<Roi> {
    let grid = &mask.grid;
    let is_inside: Vec<bool> = mask.as_slice().iter().map(|value| *value > 0.0).collect();
    let middle: [f64; 3] = std::array::from_fn(|axis| grid.extent_mm(axis).iter().sum::<f64>() / 2.0);
    let origin_mm = std::array::from_fn(|axis| grid.origin_mm[axis] - middle[axis]);
    let voxels = Voxels::new(Grid { origin_mm, ..grid.clone() }, is_inside).filter(|voxels| voxels.num_inside() > 0)?;
    let role = if name == BACKGROUND_REGION { RoiRole::Background } else { RoiRole::None };
    Some(Roi { role, ..Roi::new(name, RoiShape::Voxels(voxels.into()), middle) })
}

/// Returns the regions of PETRIC's measures among those of a study: whole object, background, and the volumes of interest. `None`
/// where one of the first two is missing.
pub fn petric_regions(rois: &[Roi]) -> Option<(&Roi, &Roi, Vec<&Roi>)> {
    let named = |name: &str| rois.iter().find(|roi| roi.name == name);
    let others = rois.iter().filter(|roi| ![WHOLE_OBJECT, BACKGROUND_REGION].contains(&roi.name.as_str()));
    Some((named(WHOLE_OBJECT)?, named(BACKGROUND_REGION)?, others.collect()))
}
