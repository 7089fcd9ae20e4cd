//! Attenuation of photon pairs in the object.

use std::path::PathBuf;
use std::sync::Arc;

use rayon::prelude::*;

use crate::data::notice::Notice;
use crate::data::volume::{Unit, ValueScale, Volume};
use crate::geometry::{Grid, Point};
use crate::named::named;

/// Usual resolution (FWHM) of PET, mm, to which an attenuation map is smoothed.
const USUAL_FWHM_MM: f64 = 6.0;

named! {
    "a unit of attenuation";
    /// Unit of the values of an attenuation map.
    pub enum MuUnit {
        /// 1/cm.
        PerCm,
        /// 1/mm.
        PerMm,
    }
}

/// Linear attenuation coefficients at 511 keV, out of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct AttenuationMap {
    /// The file.
    pub file: PathBuf,
    /// µ, 1/mm, 0 or more, on any grid; 0 outside of it.
    pub per_mm: Volume,
    /// Conversion, if the file contains CT.
    pub ct: Option<CtConversion>,
}

/// Scale of µ in 1/mm, shown in 1/cm.
pub const MU_PER_CM: ValueScale = ValueScale { unit: Unit::PerCm, factor: 10.0 };

/// Names of the sides of an image: low and high along x, y and z.
const SIDES: [[&str; 2]; 3] = [["−x", "+x"], ["−y", "+y"], ["−z", "+z"]];

/// Side of a field of view that an attenuation map does not reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MissingSide {
    /// Name of the side: "+z".
    pub name: &'static str,
    /// Length along the axis without map, mm.
    pub mm: f64,
    /// Largest µ on that face of the map, 1/mm; above 0 the object probably continues.
    pub max_per_mm: f32,
}

impl AttenuationMap {
    /// Returns the map in 1/cm.
    pub fn per_cm(&self) -> Volume {
        self.per_mm.converted(MU_PER_CM)
    }

    /// Returns the sum of some maps on the voxels of the first, with more of these where others reach farther; between the voxels of
    /// the others linear. The only map is itself, and there is no sum of none.
    pub fn sum(maps: &[Arc<AttenuationMap>]) -> Option<Arc<AttenuationMap>> {
        let (first, others) = maps.split_first()?;
        if others.is_empty() {
            return Some(Arc::clone(first));
        }
        let mut grid = first.per_mm.grid.clone();
        for axis in 0..3 {
            let ([low, high], voxel_mm) = (grid.extent_mm(axis), grid.voxel_mm[axis]);
            let extents = || others.iter().map(|map| map.per_mm.grid.extent_mm(axis));
            let voxels = |mm: f64| (mm / voxel_mm - 1e-6).ceil().max(0.0);
            let below = voxels(low - extents().map(|[from, _]| from).fold(low, f64::min));
            let above = voxels(extents().map(|[_, to]| to).fold(high, f64::max) - high);
            grid.origin_mm[axis] -= below * voxel_mm;
            grid.size[axis] += (below + above) as usize;
        }
        let mut per_mm = Volume { unit: first.per_mm.unit, ..Volume::filled(grid.clone(), 0.0) };
        let per_slice = grid.size[0] * grid.size[1];
        per_mm.as_mut_slice().par_chunks_mut(per_slice).enumerate().for_each(|(z, slice)| {
            for (at, sum) in slice.iter_mut().enumerate() {
                let point = grid.mm_from_voxel([at % grid.size[0], at / grid.size[0], z].map(|at| at as f64));
                let added = others.iter().filter_map(|map| map.per_mm.interpolated_mm(point)).sum::<f64>();
                *sum = first.per_mm.at_mm(point).unwrap_or(0.0) + added as f32;
            }
        });
        Some(Arc::new(AttenuationMap { per_mm, ..AttenuationMap::clone(first) }))
    }

    /// Returns the sides on which the map ends before the centres of the outer voxels of an image within a distance from the axis,
    /// mm.
    pub fn missing_sides(&self, image: &Grid, radius_mm: f64) -> Vec<MissingSide> {
        let mut missing = Vec::new();
        for (axis, names) in SIDES.into_iter().enumerate() {
            let reach = if axis < 2 { radius_mm } else { f64::INFINITY };
            let [low, high] = image.extent_mm(axis);
            let [low, high] = [low.max(-reach), high.min(reach)];
            let [from, to] = self.per_mm.grid.extent_mm(axis);
            // (A map outside of the field of view misses all of it.)
            let without = [from.min(high) - low, high - to.max(low)];
            for (end, mm) in without.into_iter().enumerate().filter(|(_, mm)| *mm > 0.5 * image.voxel_mm[axis]) {
                missing.push(MissingSide { name: names[end], mm, max_per_mm: self.largest_on_face(axis, end == 1) });
            }
        }
        missing
    }

    /// Returns the part of an image's voxels within a distance from the axis, mm, whose centres lie outside the map; 0 without such
    /// voxels.
    pub fn missing_share(&self, image: &Grid, radius_mm: f64) -> f64 {
        let is_covered = |axis: usize, at_mm: f64| {
            let [from, to] = self.per_mm.grid.extent_mm(axis);
            (from..=to).contains(&at_mm)
        };
        let [nx, ny, nz] = image.size;
        let columns = (0..nx * ny).map(|column| image.mm_from_voxel([(column % nx) as f64, (column / nx) as f64, 0.0]));
        let within: Vec<Point> = columns.filter(|[x, y, _]| x.hypot(*y) <= radius_mm).collect();
        let num_columns = within.iter().filter(|[x, y, _]| is_covered(0, *x) && is_covered(1, *y)).count();
        let num_slices = (0..nz).filter(|z| is_covered(2, image.mm_from_voxel([0.0, 0.0, *z as f64])[2])).count();
        if within.is_empty() { 0.0 } else { 1.0 - (num_columns * num_slices) as f64 / (within.len() * nz) as f64 }
    }

    /// Returns the largest µ in the outer voxels on a side, 1/mm.
    fn largest_on_face(&self, axis: usize, is_high: bool) -> f32 {
        let along = ndarray::Axis(2 - axis);
        let last = self.per_mm.grid.size[axis] - 1;
        let face = self.per_mm.values.index_axis(along, if is_high { last } else { 0 });
        face.iter().copied().fold(0.0, f32::max)
    }

    /// Returns a notice if the map ends inside the field of view: a warning if the object continues there, else information; none for
    /// CT, whose reader reports the part of the field of view without CT.
    pub fn cover_notice(&self, image: &Grid, radius_mm: f64) -> Option<Notice> {
        let missing = self.missing_sides(image, radius_mm);
        if missing.is_empty() || self.ct.is_some() {
            return None;
        }
        let texts =
            |sides: &[MissingSide], text: &dyn Fn(&MissingSide) -> String| sides.iter().map(text).collect::<Vec<_>>().join(", ");
        let name = self.file.file_name().unwrap_or_default().to_string_lossy();
        let lengths = texts(&missing, &|side| format!("{:.1} mm at {}", side.mm, side.name));
        let percent = 100.0 * self.missing_share(image, radius_mm);
        let text = format!(
            "attenuation map {name} ends inside the field of view: {lengths} without map, {percent:.1} % of its voxels, count as air"
        );
        let cut: Vec<MissingSide> = missing.into_iter().filter(|side| side.max_per_mm > 0.0).collect();
        if cut.is_empty() {
            return Some(Notice::info(text));
        }
        let values = texts(&cut, &|side| format!("{:.3} /cm at {}", 10.0 * side.max_per_mm, side.name));
        Some(Notice::warning(format!("{text}; the map attenuates up to its end ({values}): use a map of the whole object")))
    }
}

/// Settings of the conversion of CT into an attenuation map.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CtSettings {
    /// Tube voltage, kV; `None` = that of the file.
    pub kvp: Option<f64>,
    /// FWHM of the Gaussian filter of the map, mm: the resolution of PET; 0 = none.
    pub fwhm_mm: f64,
    /// Shift of the CT in the world, mm.
    pub shift_mm: Point,
}

impl Default for CtSettings {
    fn default() -> Self {
        Self { kvp: None, fwhm_mm: USUAL_FWHM_MM, shift_mm: [0.0; 3] }
    }
}

/// Conversion of CT into an attenuation map.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct CtConversion {
    /// Tube voltage, kV.
    pub kvp: f64,
    /// FWHM of the Gaussian filter, mm; 0 = none.
    pub fwhm_mm: f64,
    /// Shift of the CT in the world, mm.
    pub shift_mm: Point,
}

impl CtConversion {
    /// Returns the conversion as text: "120 kV, 6 mm".
    pub fn text(&self) -> String {
        let Self { kvp, fwhm_mm, shift_mm: [x, y, z] } = self;
        let shift = if self.shift_mm == [0.0; 3] { String::new() } else { format!(", shifted by ({x}, {y}, {z}) mm") };
        format!("{kvp} kV, {fwhm_mm} mm{shift}")
    }
}

/// Attenuation information of list-mode data.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Attenuation {
    /// Nothing.
    #[default]
    Untold,
    /// The factors of the list's files include it.
    InFactors,
    /// Maps of the object and of others, as its bed: the line between the middles of two crystals keeps exp(−∫ µ dl) of its photon
    /// pairs, µ being their sum.
    Maps(Vec<Arc<AttenuationMap>>),
}

impl Attenuation {
    /// Returns the maps, that of the object first.
    pub fn maps(&self) -> &[Arc<AttenuationMap>] {
        match self {
            Attenuation::Maps(maps) => maps,
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::notice::Severity;

    /// A map of these faces along z, with water up to its lower end along z.
    fn map(z_mm: [f64; 2]) -> AttenuationMap {
        let grid =
            Grid::new([20, 20, 10], [5.0, 5.0, (z_mm[1] - z_mm[0]) / 10.0], [-47.5, -47.5, z_mm[0] + (z_mm[1] - z_mm[0]) / 20.0]);
        let mut per_mm = Volume { unit: Unit::Unknown, ..Volume::filled(grid.unwrap(), 0.0) };
        per_mm.values.slice_mut(ndarray::s![..5, 8..12, 8..12]).fill(0.0096);
        AttenuationMap { file: "folder/mu.nii".into(), per_mm, ct: None }
    }

    #[test]
    fn the_sides_that_a_map_does_not_reach_are_named() {
        let image = Grid::centred([25, 25, 20], [4.0, 4.0, 4.0]).unwrap();
        let names = |z_mm: [f64; 2], radius_mm: f64| {
            let sides = map(z_mm).missing_sides(&image, radius_mm);
            sides.iter().map(|side| (side.name, side.mm.round(), side.max_per_mm > 0.0)).collect::<Vec<_>>()
        };
        // The image ends at ±50 and ±40 mm. Less than half a voxel is no gap.
        assert_eq!(names([-40.0, 40.0], 50.0), []);
        assert_eq!(names([-38.1, 38.1], 50.0), []);
        assert_eq!(names([-30.0, 28.0], 50.0), [("−z", 10.0, true), ("+z", 12.0, false)]);
        // A map beside the field of view leaves all of it out.
        assert_eq!(names([60.0, 90.0], 50.0), [("−z", 80.0, true)]);
        // Across the axis the radius counts.
        let wide = Grid::centred([35, 35, 20], [4.0, 4.0, 4.0]).unwrap();
        let sides = |radius_mm: f64| map([-40.0, 40.0]).missing_sides(&wide, radius_mm).len();
        assert_eq!([sides(50.0), sides(70.0)], [0, 4]);
    }

    #[test]
    fn the_share_without_map_is_that_of_the_voxels() {
        let image = Grid::centred([25, 25, 20], [4.0, 4.0, 4.0]).unwrap();
        let share = |map: &AttenuationMap, radius_mm: f64| {
            let [from, to] = [0, 1].map(|end| [0, 1, 2].map(|axis| map.per_mm.grid.extent_mm(axis)[end]));
            let [mut num, mut num_missing] = [0.0, 0.0];
            for voxel in 0..image.num_voxels() {
                let at = image.mm_from_voxel([voxel % 25, voxel / 25 % 25, voxel / 625].map(|at| at as f64));
                if at[0].hypot(at[1]) <= radius_mm {
                    num += 1.0;
                    num_missing += if (0..3).all(|axis| from[axis] <= at[axis] && at[axis] <= to[axis]) { 0.0 } else { 1.0 };
                }
            }
            num_missing / num
        };
        // A map of whole slices, one that is also narrower than the image, and one beside it.
        let narrow = map([-30.0, 28.0]);
        let narrow = AttenuationMap {
            per_mm: Volume::filled(Grid::new([10, 20, 10], [5.0, 5.0, 5.8], [-22.5, -47.5, -27.1]).unwrap(), 0.0),
            ..narrow
        };
        for (map, radius_mm) in
            [(map([-40.0, 40.0]), 50.0), (map([-30.0, 28.0]), 50.0), (narrow, 30.0), (map([60.0, 90.0]), 50.0)]
        {
            let (found, expected) = (map.missing_share(&image, radius_mm), share(&map, radius_mm));
            assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
        }
        // Slices at ±38 and ±34 mm: 4 of 20.
        assert!((map([-32.0, 32.0]).missing_share(&image, 50.0) - 0.2).abs() < 1e-12);
    }

    #[test]
    fn maps_are_added_up_beyond_the_ends_of_the_first() {
        let uniform = |grid: Grid, value: f32| {
            let per_mm = Volume { unit: Unit::Unknown, ..Volume::filled(grid, value) };
            Arc::new(AttenuationMap { file: "mu.nii".into(), per_mm, ct: None })
        };
        let object = uniform(Grid::centred([10, 10, 4], [5.0; 3]).unwrap(), 0.01);
        // From −37 to −15 mm along y: 2 mm voxels, below the object and in it.
        let bed = uniform(Grid::new([20, 11, 20], [2.0; 3], [-19.0, -36.0, -19.0]).unwrap(), 0.004);
        assert!(AttenuationMap::sum(&[]).is_none());
        assert!(Arc::ptr_eq(&AttenuationMap::sum(std::slice::from_ref(&object)).unwrap(), &object));
        let sum = AttenuationMap::sum(&[object, bed]).unwrap();
        let grid = &sum.per_mm.grid;
        assert_eq!((grid.size, grid.voxel_mm), ([10, 13, 8], [5.0; 3]));
        assert_eq!([0, 1, 2].map(|axis| grid.extent_mm(axis)), [[-25.0, 25.0], [-40.0, 25.0], [-20.0, 20.0]]);
        let at = |point: Point| sum.per_mm.at_mm(point).unwrap();
        for (point, expected) in [
            ([2.5, 2.5, 2.5], 0.01),
            ([2.5, -17.5, 2.5], 0.014),
            ([22.5, -17.5, 2.5], 0.01),
            ([2.5, -32.5, 2.5], 0.004),
            ([2.5, -32.5, 17.5], 0.004),
            ([2.5, 2.5, 17.5], 0.0),
        ] {
            assert!((at(point) - expected).abs() < 1e-7, "{point:?}: {}", at(point));
        }
    }

    #[test]
    fn a_map_that_cuts_the_object_is_a_warning() {
        let image = Grid::centred([25, 25, 20], [4.0, 4.0, 4.0]).unwrap();
        assert_eq!(map([-40.0, 40.0]).cover_notice(&image, 50.0), None);
        let notice = map([-40.0, 28.0]).cover_notice(&image, 50.0).unwrap();
        assert_eq!(
            (
                notice.severity,
                // The slices at 30, 34 and 38 mm of 20.
                notice.text.contains(
                    "mu.nii ends inside the field of view: 12.0 mm at +z without map, 15.0 % of its voxels, count as air"
                )
            ),
            (Severity::Info, true)
        );
        let notice = map([-30.0, 40.0]).cover_notice(&image, 50.0).unwrap();
        assert_eq!((notice.severity, notice.text.contains("0.096 /cm at −z")), (Severity::Warning, true), "{}", notice.text);
    }
}
