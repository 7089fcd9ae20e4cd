//! Lesions of an image, and their total.

use std::collections::HashMap;

use super::NoLesions;
use super::figures::{LesionFigures, SecondValue, figures};
use super::percist::{LiverReference, liver};
use super::threshold::{LesionThreshold, lesion_voxels};
use crate::data::{ContourThreshold, Roi, RoiMask, RoiRole, RoiShape, Unit, Volume};
use crate::measure::isocontour::NoIsocontour;
use crate::task::Task;

/// Options of a measurement.
#[derive(Clone, Copy)]
pub struct LesionOptions<'a> {
    /// Voxels of the lesions.
    pub threshold: LesionThreshold,
    /// Name of the region in the liver, in small or capital letters; it is no lesion.
    pub liver: &'a str,
    /// Second image.
    pub second: Option<SecondValue<'a>>,
}

/// A lesion.
#[derive(Clone, Debug, PartialEq)]
pub struct Lesion {
    /// Name of its region.
    pub name: String,
    /// Colour of its region.
    pub colour: Option<[u8; 3]>,
    /// True if a threshold selected its voxels, false for a region as it was drawn.
    pub is_contour: bool,
    /// Its voxels.
    pub mask: RoiMask,
    /// Its numbers, or the reason why it has none.
    pub figures: Result<LesionFigures, NoIsocontour>,
}

/// Lesions of an image.
#[derive(Clone, Debug, PartialEq)]
pub struct LesionTable {
    /// Unit of the values.
    pub unit: Unit,
    /// Rule that selected the voxels.
    pub threshold: LesionThreshold,
    /// Liver, where the image has a region with its name and the unit is SUL.
    pub liver: Option<LiverReference>,
    /// Lesions, in the order of their regions.
    pub lesions: Vec<Lesion>,
    /// Total.
    pub total: LesionTotal,
}

/// Total of all lesions with numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct LesionTotal {
    /// Number of lesions with numbers.
    pub num_lesions: usize,
    /// Sum of the volumes, mL.
    pub volume_ml: f64,
    /// Sum of the products of mean and volume, mL in the unit of the image.
    pub total_ml: f64,
    /// Largest maximum.
    pub max: Option<f64>,
    /// Largest peak.
    pub peak: Option<f64>,
    /// Largest mean of a sphere about a maximum.
    pub peak_at_max: Option<f64>,
    /// Volume that the sums contain more than once, since lesions overlap, mL.
    pub overlap_ml: f64,
}

impl LesionTable {
    /// Returns the lesions with their numbers.
    pub fn measured(&self) -> impl Iterator<Item = (&Lesion, &LesionFigures)> {
        self.lesions.iter().filter_map(|lesion| Some((lesion, lesion.figures.as_ref().ok()?)))
    }
}

/// Returns the regions of lesions: those of the role none or hot, without the liver.
pub fn lesion_regions<'a>(rois: &'a [Roi], liver: &str) -> impl Iterator<Item = &'a Roi> {
    rois.iter().filter(move |roi| matches!(roi.role, RoiRole::None | RoiRole::Hot) && !roi.name.eq_ignore_ascii_case(liver))
}

/// Measures the lesions of an image.
///
/// # Errors
/// No region of a lesion; for PERCIST another unit than SUL or no liver; a stopped task.
pub fn measure_lesions(volume: &Volume, rois: &[Roi], options: LesionOptions, task: &Task) -> Result<LesionTable, NoLesions> {
    let regions: Vec<&Roi> = lesion_regions(rois, options.liver).collect();
    if regions.is_empty() {
        return Err(NoLesions::NoRegions);
    }
    let in_liver = rois.iter().find(|roi| roi.name.eq_ignore_ascii_case(options.liver));
    let of_liver = in_liver.ok_or_else(|| NoLesions::NoLiver(options.liver.to_owned())).and_then(|region| liver(volume, region));
    let threshold = match options.threshold {
        LesionThreshold::Regions => None,
        LesionThreshold::Percent(percent) => Some(ContourThreshold::percent(percent)),
        LesionThreshold::Value(value) => Some(ContourThreshold::Value(value)),
        // The unit is the more helpful reason.
        LesionThreshold::Percist if !is_lean(volume.unit) => return Err(NoLesions::PercistUnit(volume.unit)),
        LesionThreshold::Percist => Some(ContourThreshold::Value(of_liver.clone()?.threshold())),
    };
    task.begin(regions.len() as u64);
    let mut lesions = Vec::with_capacity(regions.len());
    for region in regions {
        task.check().map_err(|_| NoLesions::Stopped)?;
        let voxels = lesion_voxels(volume, region, threshold);
        let mask = voxels.as_ref().map(|voxels| voxels.mask.clone()).unwrap_or_default();
        let figures = voxels.and_then(|voxels| figures(volume, &voxels, options.second));
        let is_contour = threshold.is_some() || matches!(region.shape, RoiShape::Isocontour(_));
        lesions.push(Lesion { name: region.name.clone(), colour: region.colour, is_contour, mask, figures });
        task.advance(1);
    }
    let total = total(&lesions, volume.grid.voxel_ml());
    Ok(LesionTable { unit: volume.unit, threshold: options.threshold, liver: of_liver.ok(), lesions, total })
}

/// Returns true for uptake values by lean body mass.
fn is_lean(unit: Unit) -> bool {
    matches!(unit, Unit::SuvLeanJanmahasatian | Unit::SuvLeanJames)
}

/// Returns the total of lesions.
fn total(lesions: &[Lesion], voxel_ml: f64) -> LesionTotal {
    let mut total = LesionTotal::default();
    let mut parts: HashMap<u32, f64> = HashMap::new();
    let larger = |a: Option<f64>, b: Option<f64>| a.into_iter().chain(b).reduce(f64::max);
    for lesion in lesions {
        let Ok(figures) = &lesion.figures else { continue };
        total.num_lesions += 1;
        total.volume_ml += figures.volume_ml;
        total.total_ml += figures.total_ml();
        total.max = larger(total.max, Some(figures.max));
        total.peak = larger(total.peak, figures.peak.map(|peak| peak.mean));
        total.peak_at_max = larger(total.peak_at_max, figures.peak_at_max);
        for (index, part) in lesion.mask.voxels.iter() {
            *parts.entry(*index).or_default() += f64::from(*part);
        }
    }
    // Neighbours that share a voxel at their border do not overlap as long as its parts are at most the whole.
    total.overlap_ml = voxel_ml * parts.values().fold(0.0, |sum, part| sum + (part - 1.0).max(0.0));
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    fn sphere(name: &str, x_mm: f64) -> Roi {
        Roi::new(name, RoiShape::Sphere { radius_mm: 8.0 }, [x_mm, 0.0, 0.0])
    }

    fn options(threshold: LesionThreshold) -> LesionOptions<'static> {
        LesionOptions { threshold, liver: "liver", second: None }
    }

    /// Values 6 left and 3 right of the middle, in SUL.
    fn image() -> Volume {
        let mut volume = Volume::filled(Grid::centred([60, 24, 24], [2.0; 3]).unwrap(), 3.0);
        volume.unit = Unit::SuvLeanJanmahasatian;
        volume.values.indexed_iter_mut().filter(|((.., x), _)| *x < 30).for_each(|(_, value)| *value = 6.0);
        volume
    }

    #[test]
    fn the_total_is_the_sum_of_the_lesions() {
        let background = Roi { role: RoiRole::Background, ..sphere("background", 0.0) };
        let rois = [sphere("a", -30.0), sphere("liver", 30.0), background, sphere("b", 30.0), sphere("outside", 300.0)];
        let table = measure_lesions(&image(), &rois, options(LesionThreshold::Regions), &Task::new()).unwrap();
        let names: Vec<&str> = table.lesions.iter().map(|lesion| lesion.name.as_str()).collect();
        assert_eq!(names, ["a", "b", "outside"]);
        assert_eq!(table.lesions[2].figures, Err(NoIsocontour::Outside));
        let volumes: Vec<f64> = table.measured().map(|(_, figures)| figures.volume_ml).collect();
        assert_eq!((table.total.num_lesions, table.total.overlap_ml), (2, 0.0));
        assert!((table.total.volume_ml - volumes.iter().sum::<f64>()).abs() < 1e-12);
        assert!((table.total.total_ml - (6.0 * volumes[0] + 3.0 * volumes[1])).abs() < 1e-9);
        assert_eq!((table.total.max, table.liver), (Some(6.0), Some(LiverReference { mean: 3.0, sd: 0.0 })));
        // 1.5 × 3: the right lesion has no voxels.
        let table = measure_lesions(&image(), &rois, options(LesionThreshold::Percist), &Task::new()).unwrap();
        let volumes: Vec<f64> = table.measured().map(|(_, figures)| figures.volume_ml).collect();
        assert!(volumes[0] > 1.9 && volumes[1] == 0.0, "{volumes:?}");
        assert_eq!(table.measured().map(|(_, figures)| figures.threshold).collect::<Vec<_>>(), [Some(4.5); 2]);
    }

    #[test]
    fn a_volume_in_two_lesions_is_counted_and_reported() {
        let rois = [sphere("a", -30.0), sphere("b", -30.0)];
        let table = measure_lesions(&image(), &rois, options(LesionThreshold::Regions), &Task::new()).unwrap();
        assert!((table.total.overlap_ml / (0.5 * table.total.volume_ml) - 1.0).abs() < 0.35, "{:?}", table.total);
    }

    #[test]
    fn percist_needs_lean_body_mass_and_a_liver() {
        let percist = options(LesionThreshold::Percist);
        let task = Task::new();
        let no_liver = measure_lesions(&image(), &[sphere("a", 0.0)], percist, &task);
        assert_eq!(no_liver, Err(NoLesions::NoLiver("liver".into())));
        let by_weight = Volume { unit: Unit::SuvBodyWeight, ..image() };
        let rois = [sphere("a", 0.0), sphere("liver", 30.0)];
        assert_eq!(measure_lesions(&by_weight, &rois, percist, &task), Err(NoLesions::PercistUnit(Unit::SuvBodyWeight)));
        assert_eq!(measure_lesions(&image(), &rois[1..], percist, &task), Err(NoLesions::NoRegions));
        task.stop();
        assert_eq!(measure_lesions(&image(), &rois, percist, &task), Err(NoLesions::Stopped));
    }
}
