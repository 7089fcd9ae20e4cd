//! Attenuation map of CT: linear attenuation coefficients at 511 keV out of Hounsfield units.
//!
//! For each tube voltage two lines meet near soft tissue, mixtures of air and water below, of water and bone above. Bone absorbs
//! more X-rays by the photoelectric effect than photons of 511 keV, so the upper line is flatter:
//!
//!   µ = min(9.6e-5 · (HU + 1000), a · (HU + 1000) + b), in 1/cm, 0 or more
//!
//! Source: Carney, Townsend, Rappoport & Bendriem 2006, Med Phys 33:976, doi 10.1118/1.2174132. The published break points are
//! the points where the lines meet, in whole Hounsfield units.
//!
//! The map is smoothed to the resolution of PET on the voxels of the CT, then sampled on the grid of the map. (In this module
//! because the filter of images is.)

use rayon::prelude::*;

use super::post_filter::gaussian_filter;
use crate::coded::coded;
use crate::data::{CtConversion, CtSettings, ImageSeries, NotFinite, Placement, Unit, Volume};
use crate::geometry::{Grid, GridError, Point};

/// µ of the line of air and water for 1 HU, 1/cm; at −1000 HU it is 0.
const WATER_PER_CM: f64 = 9.6e-5;

/// Line of water and bone: tube voltage, kV; a and b, 1/cm.
const BONE_PER_CM: [(f64, [f64; 2]); 6] = [
    (80.0, [3.64e-5, 6.26e-2]),
    (100.0, [4.43e-5, 5.44e-2]),
    (110.0, [4.92e-5, 4.88e-2]),
    (120.0, [5.10e-5, 4.71e-2]),
    (130.0, [5.51e-5, 4.24e-2]),
    (140.0, [5.64e-5, 4.08e-2]),
];

const MM_PER_CM: f64 = 10.0;

/// Values below are no measurement: scanners fill the corners of the image outside their circle with −2000 or −3024.
const MIN_HU: f32 = -1500.0;

/// Voxels of a map in a FWHM of its filter.
const VOXELS_IN_FWHM: f64 = 3.0;

/// Reason why CT gives no attenuation map.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum CtProblem {
    /// No image.
    #[error("it contains no image")]
    NoImage,
    /// Values in another unit.
    #[error("its values are in {0}; CT in Hounsfield units is expected")]
    Unit(&'static str),
    /// Voxels that are not finite.
    #[error(transparent)]
    NotFinite(NotFinite),
    /// An unknown tube voltage.
    #[error("the tube voltage is missing (KVP (0018,0060)); set it with --kvp")]
    NoTubeVoltage,
    /// A tube voltage without coefficients.
    #[error("the tube voltage of {0} kV has no coefficients; 80 to 140 kV have: set the nearest with --kvp")]
    TubeVoltage(f64),
    /// CT outside the field of view: its faces along x, y and z, mm.
    #[error(
        "the CT covers x {:.0} to {:.0}, y {:.0} to {:.0}, z {:.0} to {:.0} mm, no part of the field of view; shift it with --ct-shift-mm",
        .0[0][0], .0[0][1], .0[1][0], .0[1][1], .0[2][0], .0[2][1]
    )]
    Outside([[f64; 2]; 3]),
    /// A grid of the map that is too large.
    #[error("the grid of the map: {0}")]
    Grid(GridError),
}

coded!(CtProblem = "ct");

/// Lines of a tube voltage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HounsfieldLines {
    /// Tube voltage, kV.
    kvp: f64,
    /// Line above the break: a and b, 1/cm.
    bone: [f64; 2],
    /// True between two voltages of the table.
    is_interpolated: bool,
}

impl HounsfieldLines {
    /// Returns the lines of a tube voltage, interpolated linearly between those of the table.
    ///
    /// # Errors
    /// A voltage outside the table.
    pub fn new(kvp: f64) -> Result<Self, CtProblem> {
        let above = BONE_PER_CM.iter().position(|(tabulated, _)| kvp <= *tabulated);
        let (index, (high, upper)) =
            above.and_then(|index| Some((index, *BONE_PER_CM.get(index)?))).ok_or(CtProblem::TubeVoltage(kvp))?;
        if kvp == high {
            return Ok(Self { kvp, bone: upper, is_interpolated: false });
        }
        let below = index.checked_sub(1).and_then(|index| BONE_PER_CM.get(index));
        let (low, lower) = below.ok_or(CtProblem::TubeVoltage(kvp))?;
        let part = (kvp - low) / (high - low);
        let bone = [0, 1].map(|of| lower[of] + part * (upper[of] - lower[of]));
        Ok(Self { kvp, bone, is_interpolated: true })
    }

    /// Returns µ at 511 keV, 1/mm.
    pub fn per_mm(&self, hounsfield: f64) -> f64 {
        let above_air = hounsfield + 1000.0;
        let [a, b] = self.bone;
        (WATER_PER_CM * above_air).min(a * above_air + b).max(0.0) / MM_PER_CM
    }
}

/// CT in the world of the scanner.
#[derive(Clone, Copy)]
pub struct PlacedCt<'a> {
    volume: &'a Volume,
    placement: Option<Placement>,
    settings: CtSettings,
    lines: HounsfieldLines,
    /// Tube voltage of the series, kV.
    kvp_of_file: Option<f64>,
}

/// Voxels of a field of view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CtCover {
    /// Voxels without CT.
    pub num_without: usize,
    /// All voxels.
    pub num_voxels: usize,
}

impl CtCover {
    /// Returns it as text if CT is missing in a part.
    pub fn text(&self) -> Option<String> {
        let percent = 100.0 * self.num_without as f64 / self.num_voxels.max(1) as f64;
        let text = || format!("no CT in {percent:.1} % of the field of view: nothing attenuates in {} voxels", self.num_without);
        (self.num_without > 0).then(text)
    }
}

impl<'a> PlacedCt<'a> {
    /// Returns the first image of a series as CT. (A unit that the file lacks is taken for Hounsfield units.)
    ///
    /// # Errors
    /// No CT in Hounsfield units, an unknown tube voltage.
    pub fn new(series: &'a ImageSeries, settings: &CtSettings) -> Result<Self, CtProblem> {
        let volume = &series.images.first().ok_or(CtProblem::NoImage)?.volume;
        if !matches!(volume.unit, Unit::Hounsfield | Unit::Unknown) {
            return Err(CtProblem::Unit(volume.unit.label()));
        }
        if let Some(values) = volume.not_finite() {
            return Err(CtProblem::NotFinite(values));
        }
        let kvp = settings.kvp.or(series.kvp).ok_or(CtProblem::NoTubeVoltage)?;
        let (placement, lines) = (series.placement, HounsfieldLines::new(kvp)?);
        Ok(Self { volume, placement, settings: *settings, lines, kvp_of_file: series.kvp })
    }

    /// Returns the point of the CT's grid at a point of the world.
    fn point_mm(&self, world: Point) -> Point {
        let unshifted: Point = std::array::from_fn(|a| world[a] - self.settings.shift_mm[a]);
        self.placement.map_or(unshifted, |placement| placement.own_mm(unshifted))
    }

    /// Returns the faces of the box in the world that contains the CT, along x, y and z.
    pub fn extent_mm(&self) -> [[f64; 2]; 3] {
        let faces = [0, 1, 2].map(|axis| self.volume.grid.extent_mm(axis));
        let corners = (0..8).map(|corner| {
            let own: Point = std::array::from_fn(|axis| faces[axis][corner >> axis & 1]);
            let world = self.placement.map_or(own, |placement| placement.world_mm(own));
            [0, 1, 2].map(|axis| world[axis] + self.settings.shift_mm[axis])
        });
        corners.fold([[f64::INFINITY, f64::NEG_INFINITY]; 3], |faces, corner| {
            std::array::from_fn(|axis| [faces[axis][0].min(corner[axis]), faces[axis][1].max(corner[axis])])
        })
    }

    /// Returns the grid of a map of the whole CT, in voxels of a third of the filter's FWHM or, if larger, of the CT. With a field
    /// of view the map has its slices, and covers the CT across the axis symmetrically.
    ///
    /// # Errors
    /// A grid that is too large.
    pub fn grid(&self, field: Option<&Grid>) -> Result<Grid, CtProblem> {
        let extent_mm = self.extent_mm();
        // Sides of an oblique CT along other axes: its smallest one.
        let smallest = self.volume.grid.voxel_mm.iter().copied().fold(f64::INFINITY, f64::min);
        let side_of_ct = |axis: usize| if self.placement.is_some() { smallest } else { self.volume.grid.voxel_mm[axis] };
        let sides = [0, 1, 2].map(|axis| side_of_ct(axis).max(self.settings.fwhm_mm / VOXELS_IN_FWHM));
        let count = |length: f64, side: f64| (length / side - 1e-6).ceil().max(1.0) as usize;
        let (mut size, mut voxel_mm, mut origin_mm) = ([1; 3], sides, [0.0; 3]);
        for axis in 0..3 {
            let [low, high] = match field {
                None => extent_mm[axis],
                Some(_) => {
                    let reach = extent_mm[axis][0].abs().max(extent_mm[axis][1].abs());
                    [-reach, reach]
                }
            };
            size[axis] = count(high - low, voxel_mm[axis]);
            origin_mm[axis] = 0.5 * (low + high) - 0.5 * (size[axis] as f64 - 1.0) * voxel_mm[axis];
        }
        if let Some(field) = field {
            (size[2], voxel_mm[2], origin_mm[2]) = (field.size[2], field.voxel_mm[2], field.origin_mm[2]);
        }
        Grid::new(size, voxel_mm, origin_mm).map_err(CtProblem::Grid)
    }

    /// Returns the voxels of a grid within a distance from the axis (`None` = all), and those of them without CT.
    ///
    /// # Errors
    /// No voxel has CT.
    pub fn cover(&self, grid: &Grid, radius_mm: Option<f64>) -> Result<CtCover, CtProblem> {
        let [nx, ny, nz] = grid.size;
        let is_within = |[x, y, _]: Point| radius_mm.is_none_or(|radius| x.hypot(y) <= radius);
        let has_ct = |point: Point| self.volume.at_mm(self.point_mm(point)).is_some_and(|value| value > MIN_HU);
        let rows = (0..ny * nz).into_par_iter().map(|row| {
            let points = (0..nx).map(|x| grid.mm_from_voxel([x, row % ny, row / ny].map(|at| at as f64)));
            points
                .filter(|point| is_within(*point))
                .fold([0, 0], |[without, all], point| [without + usize::from(!has_ct(point)), all + 1])
        });
        let [num_without, num_voxels] = rows.reduce(|| [0, 0], |[a, b], [c, d]| [a + c, b + d]);
        if num_without == num_voxels {
            Err(CtProblem::Outside(self.extent_mm()))
        } else {
            Ok(CtCover { num_without, num_voxels })
        }
    }

    /// Returns µ at 511 keV on a grid, 1/mm; 0 without CT.
    pub fn attenuation(&self, grid: &Grid) -> Volume {
        let mut per_mm = Volume { unit: Unit::Unknown, ..Volume::filled(self.volume.grid.clone(), 0.0) };
        let values = per_mm.as_mut_slice().par_iter_mut().zip(self.volume.as_slice());
        values.for_each(|(value, hounsfield)| *value = self.lines.per_mm(f64::from(*hounsfield)) as f32);
        let smooth = if self.settings.fwhm_mm > 0.0 { gaussian_filter(&per_mm, self.settings.fwhm_mm) } else { per_mm };
        let mut map = Volume { unit: Unit::Unknown, ..Volume::filled(grid.clone(), 0.0) };
        let [nx, ny, _] = grid.size;
        map.as_mut_slice().par_chunks_mut(nx).enumerate().for_each(|(row, values)| {
            for (x, value) in values.iter_mut().enumerate() {
                let point = grid.mm_from_voxel([x, row % ny, row / ny].map(|at| at as f64));
                *value = smooth.interpolated_mm(self.point_mm(point)).unwrap_or(0.0) as f32;
            }
        });
        map
    }

    /// Returns the record of the conversion.
    pub fn conversion(&self) -> CtConversion {
        let CtSettings { fwhm_mm, shift_mm, .. } = self.settings;
        CtConversion { kvp: self.lines.kvp, fwhm_mm, shift_mm }
    }

    /// Returns remarks on the CT: an interpolated tube voltage, values that look like no Hounsfield units.
    pub fn remarks(&self) -> Vec<String> {
        let kvp = self.lines.kvp;
        let interpolated = || format!("tube voltage of {kvp} kV: coefficients interpolated between those of Carney 2006");
        let (low, _) = self.volume.range();
        let no_air = || format!("smallest value {low} HU: no air; check that its values are Hounsfield units");
        let other = |kvp_of_file: f64| format!("the tube voltage is set to {kvp} kV, but the series has {kvp_of_file} kV (KVP)");
        let of_file = self.kvp_of_file.filter(|of_file| *of_file != kvp).map(other);
        let found = [of_file, self.lines.is_interpolated.then(interpolated), (low > -500.0).then(no_air)];
        found.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn per_cm(kvp: f64, hounsfield: f64) -> f64 {
        MM_PER_CM * HounsfieldLines::new(kvp).unwrap().per_mm(hounsfield)
    }

    /// A cylinder of water along z in air, with its axis at (x, y) = (10, −6) mm.
    fn cylinder(radius_mm: f64, side_mm: f64) -> Volume {
        let num = (200.0 / side_mm) as usize;
        let grid = Grid::centred([num, num, 16], [side_mm, side_mm, 3.0]).unwrap();
        let mut volume = Volume { unit: Unit::Hounsfield, ..Volume::filled(grid.clone(), -1000.0) };
        for (index, value) in volume.as_mut_slice().iter_mut().enumerate() {
            let [x, y, _] = grid.mm_from_voxel([index % num, index / num % num, 0].map(|at| at as f64));
            if (x - 10.0).hypot(y + 6.0) < radius_mm {
                *value = 0.0;
            }
        }
        volume
    }

    fn series(volume: Volume, placement: Option<Placement>) -> ImageSeries {
        ImageSeries { kvp: Some(120.0), placement, ..ImageSeries::single(volume) }
    }

    #[test]
    fn water_air_and_the_published_break_points_are_met() {
        // Break points of Carney 2006 in whole HU.
        for (kvp, break_hu) in [(80.0, 50.0), (100.0, 52.0), (110.0, 43.0), (120.0, 47.0), (130.0, 37.0), (140.0, 30.0)] {
            assert!((per_cm(kvp, 0.0) - 0.096).abs() < 1e-12 && per_cm(kvp, -1000.0) == 0.0 && per_cm(kvp, -3024.0) == 0.0);
            let HounsfieldLines { bone: [a, b], .. } = HounsfieldLines::new(kvp).unwrap();
            let meeting = b / (WATER_PER_CM - a) - 1000.0;
            assert!((meeting - break_hu).abs() <= 0.5, "{kvp} kV: {meeting}");
            let [below, above] = [meeting - 1e-6, meeting + 1e-6].map(|hounsfield| per_cm(kvp, hounsfield));
            assert!((below - above).abs() < 1e-9, "{kvp} kV: {below}, {above}");
            assert!((per_cm(kvp, 1000.0) - (2000.0 * a + b)).abs() < 1e-12);
        }
        // Compact bone (1000 HU at 120 kV) has 0.149 /cm.
        assert!((per_cm(120.0, 1000.0) - 0.1491).abs() < 1e-12);
        let [low, between, high] = [130.0, 135.0, 140.0].map(|kvp| per_cm(kvp, 800.0));
        assert!((between - 0.5 * (low + high)).abs() < 1e-12);
        for kvp in [70.0, 79.9, 140.1, f64::NAN] {
            assert!(matches!(HounsfieldLines::new(kvp).unwrap_err(), CtProblem::TubeVoltage(..)), "{kvp}");
        }
    }

    #[test]
    fn a_line_through_water_integrates_to_its_chord() {
        let radius_mm = 60.0;
        let series = series(cylinder(radius_mm, 1.0), None);
        let settings = CtSettings { fwhm_mm: 6.0, ..CtSettings::default() };
        let ct = PlacedCt::new(&series, &settings).unwrap();
        for grid in [ct.grid(None).unwrap(), Grid::new([73, 60, 5], [3.0, 4.0, 5.0], [-100.0, -118.0, -10.0]).unwrap()] {
            let map = ct.attenuation(&grid);
            // Along x, through rows at several distances from the axis of the cylinder.
            for y in 0..grid.size[1] {
                let [_, y_mm, _] = grid.mm_from_voxel([0.0, y as f64, 0.0]);
                let distance = (y_mm + 6.0).abs();
                if distance > 0.8 * radius_mm {
                    continue;
                }
                let middle = grid.size[2] / 2;
                let row = map.values.slice(ndarray::s![middle, y, ..]);
                let found: f64 = row.iter().map(|value| f64::from(*value)).sum::<f64>() * grid.voxel_mm[0];
                let expected = 0.0096 * 2.0 * (radius_mm.powi(2) - distance.powi(2)).sqrt();
                // Filtering across a curved edge: σ²/2 of the second derivative of the chord, below 1 % up to 0.8 of the radius.
                assert!((found / expected - 1.0).abs() < 0.015, "y {y_mm}: {found}, not {expected}");
            }
        }
    }

    #[test]
    fn an_oblique_and_shifted_ct_lies_at_its_world_position() {
        let mut volume = Volume { unit: Unit::Hounsfield, ..Volume::filled(Grid::centred([40; 3], [2.0; 3]).unwrap(), -1000.0) };
        // A ball of water of 8 mm about (20, 0, 0) of the CT's own axes.
        let grid = volume.grid.clone();
        for (index, value) in volume.as_mut_slice().iter_mut().enumerate() {
            let [x, y, z] = grid.mm_from_voxel([index % 40, index / 40 % 40, index / 1600].map(|at| at as f64));
            if ((x - 20.0).powi(2) + y * y + z * z).sqrt() < 8.0 {
                *value = 0.0;
            }
        }
        let (sin, cos) = 30f64.to_radians().sin_cos();
        let rotation = [[cos, -sin, 0.0], [sin, cos, 0.0], [0.0, 0.0, 1.0]];
        let series = series(volume, Some(Placement { middle_mm: [0.0; 3], rotation }));
        let settings = CtSettings { shift_mm: [5.0, -3.0, 11.0], ..CtSettings::default() };
        let ct = PlacedCt::new(&series, &settings).unwrap();
        let map = ct.attenuation(&ct.grid(None).unwrap());
        let (mut sum, mut moments) = (0.0, [0.0; 3]);
        let [nx, ny, _] = map.grid.size;
        for (index, value) in map.as_slice().iter().enumerate() {
            let point = map.grid.mm_from_voxel([index % nx, index / nx % ny, index / nx / ny].map(|at| at as f64));
            sum += f64::from(*value);
            (0..3).for_each(|axis| moments[axis] += f64::from(*value) * point[axis]);
        }
        let expected = [20.0 * cos + 5.0, 20.0 * sin - 3.0, 11.0];
        for (moment, expected) in moments.iter().zip(expected) {
            assert!((moment / sum - expected).abs() < 0.05, "{moments:?} / {sum}, not {expected}");
        }
    }

    #[test]
    fn missing_ct_is_counted() {
        let mut volume = cylinder(60.0, 2.0);
        // A plane of padding.
        volume.values.slice_mut(ndarray::s![0, .., ..]).fill(-3024.0);
        let series = series(volume, None);
        let ct = PlacedCt::new(&series, &CtSettings::default()).unwrap();
        // 20 planes about the middle, of which the CT has 15.
        let grid = Grid::centred([4, 4, 20], [2.0, 2.0, 3.0]).unwrap();
        let cover = ct.cover(&grid, None).unwrap();
        assert_eq!(cover, CtCover { num_without: 5 * 16, num_voxels: 20 * 16 });
        assert!(cover.text().unwrap().starts_with("no CT in 25.0 %"), "{cover:?}");
        // The corners of the 4 × 4 voxels are 4.24 mm from the axis.
        assert_eq!(ct.cover(&grid, Some(4.0)).unwrap().num_voxels, 20 * 12);
        let far = Grid::new([4; 3], [2.0; 3], [500.0, 0.0, 0.0]).unwrap();
        assert!(matches!(ct.cover(&far, None).unwrap_err(), CtProblem::Outside { .. }));
    }

    #[test]
    fn the_map_has_the_slices_of_the_field_of_view() {
        let series = series(cylinder(60.0, 1.0), None);
        let ct = PlacedCt::new(&series, &CtSettings { shift_mm: [20.0, 0.0, 0.0], ..CtSettings::default() }).unwrap();
        let field = Grid::centred([10, 10, 31], [4.0, 4.0, 1.635]).unwrap();
        let grid = ct.grid(Some(&field)).unwrap();
        assert_eq!((grid.size, grid.voxel_mm), ([120, 100, 31], [2.0, 2.0, 1.635]));
        assert_eq!([grid.extent_mm(0), grid.extent_mm(1)], [[-120.0, 120.0], [-100.0, 100.0]]);
        assert_eq!(grid.extent_mm(2), field.extent_mm(2));
    }

    #[test]
    fn other_images_and_an_unknown_voltage_are_refused() {
        let refused = |unit: Unit, kvp: Option<f64>, value: f32| {
            let volume = Volume { unit, ..Volume::filled(Grid::centred([2; 3], [1.0; 3]).unwrap(), value) };
            let series = ImageSeries { kvp, ..ImageSeries::single(volume) };
            PlacedCt::new(&series, &CtSettings::default()).err()
        };
        assert!(matches!(refused(Unit::BqPerMl, Some(120.0), 0.0), Some(CtProblem::Unit(..))));
        assert!(matches!(refused(Unit::Hounsfield, None, 0.0), Some(CtProblem::NoTubeVoltage)));
        assert!(matches!(refused(Unit::Hounsfield, Some(120.0), f32::NAN), Some(CtProblem::NotFinite(..))));
        assert!(refused(Unit::Unknown, Some(120.0), 0.0).is_none());
        let text = CtProblem::NoTubeVoltage.to_string();
        assert!(text.contains("KVP (0018,0060)") && text.contains("--kvp"), "{text}");
    }
}
