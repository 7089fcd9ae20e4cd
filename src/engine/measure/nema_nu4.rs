//! NEMA NU 4 image quality (small animals): uniformity, recovery of rods and spill-over, in the phantom found in an image.
//!
//! ```text
//! uniformity   mean, SD / mean, smallest and largest voxel of a cylinder of 22.5 mm × 10 mm in the uniform part
//! recovery     RC = mean along a rod / uniform mean, along the 10 mm in its middle through the pixel that is largest in the mean
//!              over them within twice the rod's diameter
//! spill-over   SOR = mean of a cylinder of 4 mm × 7.5 mm in a cold cylinder / uniform mean
//! ```
//!
//! The SD of a ratio is √((SD / mean)² + (SD / mean of the uniform part)²). Source: the definitions as public implementations of
//! NU 4-2008 agree on them; sizes in [`crate::data::nema_nu4`]. The phantom's axis must lie along z.

use super::nema::MIN_MOVED_MM;
use super::roi_stats::{RoiStats, pooled};
use crate::coded::coded;
use crate::data::nema_nu4::{CHAMBER_LENGTH_MM, CHAMBER_RADIUS_MM, COLD_OFFSET_MM, ROD_DIAMETERS_MM, ROD_LENGTH_MM, ROD_RING_MM};
use crate::data::{Roi, RoiMask, RoiRole, RoiShape, Volume};
use crate::geometry::Point;
use crate::statistics::quantiles;

/// Diameter and length of the cylinder in the uniform part, mm.
const UNIFORM_MM: [f64; 2] = [22.5, 10.0];
/// Diameter and length of the cylinders in the cold parts, mm.
const COLD_MM: [f64; 2] = [4.0, 7.5];
/// Length of a rod's middle, mm.
const ROD_MIDDLE_MM: f64 = 10.0;
/// Tolerance of the chamber's length, mm.
const LENGTH_TOLERANCE_MM: f64 = 5.0;
/// Turns that are tried for the rods.
const NUM_TURNS: usize = 360;

/// Where the phantom lies in an image.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Nu4Placement {
    /// Axis (x, y), mm.
    pub axis_mm: [f64; 2],
    /// End of the chamber towards the rods and end with the cold cylinders, z, mm.
    pub chamber_z_mm: [f64; 2],
    /// Centres (x, y) of the cold cylinders, mm.
    pub cold_mm: [[f64; 2]; 2],
    /// Centres (x, y) of the rods, the thinnest first, mm.
    pub rods_mm: [[f64; 2]; 5],
    /// Largest shift of an axis from its automatic position, mm; `None` without a shift.
    pub moved_mm: Option<f64>,
}

/// A mean over that of the uniform part, and its standard deviation relative to it. Fractions: 1 = 100 %.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Nu4Ratio {
    /// The ratio.
    pub ratio: f64,
    /// Relative standard deviation; `None` where the mean is not positive or there is only one voxel.
    pub relative_sd: Option<f64>,
}

/// Image quality of an image of the phantom.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Nu4Analysis {
    /// Where it lies.
    pub placement: Nu4Placement,
    /// Mean of the uniform part, in the image's unit.
    pub uniform_mean: f64,
    /// Its SD / mean.
    pub uniform_sd: Option<f64>,
    /// Its smallest and largest voxel.
    pub uniform_range: [f32; 2],
    /// Recovery of the rods, the thinnest first.
    pub rods: [Nu4Ratio; 5],
    /// Spill-over into the cold cylinders, in the order of the placement.
    pub spill_over: [Nu4Ratio; 2],
}

/// Reason for which an image is no image of the phantom.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum Nu4Error {
    /// Nothing positive.
    #[error("the image has no activity in which a phantom could be found")]
    Empty,
    /// Another length.
    #[error(
        "no NEMA NU 4 phantom with its axis along z found: the active part is {found_mm:.0} mm long, expected a chamber of {CHAMBER_LENGTH_MM} mm"
    )]
    NotTheChamber {
        /// Length of the slices above half of the fullest, mm.
        found_mm: f64,
    },
    /// The field of view ends too early.
    #[error("the image ends inside the {part} of the phantom, at z = {z_mm:.1} mm; all of it must lie in the image")]
    CutOff {
        /// Which part.
        part: &'static str,
        /// Where it would have to reach, mm.
        z_mm: f64,
    },
}

coded!(Nu4Error = "nema-nu4");

fn circle([x, y]: [f64; 2], z: f64, diameter_mm: f64) -> Roi {
    Roi::circle("", [x, y, z], 0.5 * diameter_mm, RoiRole::None)
}

/// Returns z of the slices whose centres lie within a length about a place, mm.
fn slices(volume: &Volume, middle_mm: f64, length_mm: f64) -> Vec<f64> {
    let z = |slice: usize| volume.grid.mm_from_voxel([0.0, 0.0, slice as f64])[2];
    (0..volume.grid.size[2]).map(z).filter(|z| (z - middle_mm).abs() <= 0.5 * length_mm).collect()
}

/// Statistics of a cylinder along z.
fn cylinder(
    volume: &Volume,
    at: [f64; 2],
    middle_mm: f64,
    [diameter_mm, length_mm]: [f64; 2],
    part: &'static str,
) -> Result<RoiStats, Nu4Error> {
    let masks = slices(volume, middle_mm, length_mm).into_iter().map(|z| circle(at, z, diameter_mm).mask(&volume.grid));
    let sums: Vec<_> = masks.map(|mask| mask.sums(volume.as_slice())).collect();
    RoiStats::of(&pooled(&sums), volume.grid.voxel_ml()).ok_or(Nu4Error::CutOff { part, z_mm: middle_mm })
}

/// Returns the statistics of one pixel over some slices.
fn line(volume: &Volume, [x, y]: [f64; 2], slices_mm: &[f64]) -> Result<RoiStats, Nu4Error> {
    let grid = &volume.grid;
    let index = |z: &f64| {
        let [x, y, z] = grid.voxel_from_mm([x, y, *z]).map(|at| at.round() as usize);
        (((z * grid.size[1] + y) * grid.size[0] + x) as u32, 1.0)
    };
    let mask = RoiMask { voxels: slices_mm.iter().map(index).collect() };
    let outside = || Nu4Error::CutOff { part: "rods", z_mm: slices_mm.first().copied().unwrap_or_default() };
    RoiStats::of(&mask.sums(volume.as_slice()), grid.voxel_ml()).ok_or_else(outside)
}

/// Name of the region of the uniform part.
const UNIFORM: &str = "uniform part";

/// Returns the name of the region of a rod.
fn rod_name(diameter_mm: f64) -> String {
    format!("rod {diameter_mm} mm")
}

/// Returns the name of the region of a cold cylinder.
fn cold_name(index: usize) -> String {
    format!("cold cylinder {}", index + 1)
}

impl Nu4Placement {
    /// Returns the template as regions to look at and to edit: the cylinder in the uniform part, those in the cold cylinders, and
    /// the middles of the rods.
    pub fn rois(&self) -> Vec<Roi> {
        let [uniform_z, cold_z, rods_z] = self.middles_mm();
        let region = |name: String, at: [f64; 2], z: f64, [diameter_mm, length_mm]: [f64; 2], role: RoiRole| Roi {
            name,
            role,
            thickness_mm: Some(length_mm),
            ..circle(at, z, diameter_mm)
        };
        let uniform = region(UNIFORM.to_owned(), self.axis_mm, uniform_z, UNIFORM_MM, RoiRole::Background);
        let cold = (0..2).map(|index| region(cold_name(index), self.cold_mm[index], cold_z, COLD_MM, RoiRole::Cold));
        let rod = |(at, diameter)| region(rod_name(diameter), at, rods_z, [diameter, ROD_MIDDLE_MM], RoiRole::None);
        let rods = self.rods_mm.into_iter().zip(ROD_DIAMETERS_MM).map(rod);
        std::iter::once(uniform).chain(cold).chain(rods).collect()
    }

    /// Returns the same with the axes where those regions lie that have the names of the template's, as they are after somebody
    /// has moved them; sizes and heights stay. `None` where there is no template among the regions.
    pub fn with_rois(&self, rois: &[Roi]) -> Option<Self> {
        let mut moved_mm: f64 = 0.0;
        let mut axis = |name: &str, from: [f64; 2]| {
            let roi = rois.iter().find(|roi| roi.name == name && matches!(roi.shape, RoiShape::Circle { .. }))?;
            let [x, y, _] = roi.centre_mm;
            moved_mm = moved_mm.max((x - from[0]).hypot(y - from[1]));
            Some([x, y])
        };
        let mut placed = *self;
        placed.axis_mm = axis(UNIFORM, self.axis_mm)?;
        for (index, at) in placed.cold_mm.iter_mut().enumerate() {
            *at = axis(&cold_name(index), *at)?;
        }
        for (at, diameter) in placed.rods_mm.iter_mut().zip(ROD_DIAMETERS_MM) {
            *at = axis(&rod_name(diameter), *at)?;
        }
        Some(Self { moved_mm: Some(moved_mm).filter(|mm| *mm >= MIN_MOVED_MM), ..placed })
    }

    /// Returns the middle of the uniform part, of the cold part and of the rods, z, mm.
    pub fn middles_mm(&self) -> [f64; 3] {
        let [rods, cold] = self.chamber_z_mm;
        let along = (cold - rods).signum();
        [rods + 0.25 * along * CHAMBER_LENGTH_MM, cold - 0.25 * along * CHAMBER_LENGTH_MM, rods - 0.5 * along * ROD_LENGTH_MM]
    }
}

/// Returns the phantom in an image.
///
/// # Errors
/// There is no activity, no chamber of its length, or the image ends inside it.
pub fn find(volume: &Volume) -> Result<Nu4Placement, Nu4Error> {
    let [_, num_y, num_x] = volume.grid.shape();
    let totals: Vec<f64> =
        volume.as_slice().chunks_exact(num_x * num_y).map(|values| values.iter().map(|&value| f64::from(value)).sum()).collect();
    let [first, last] = chamber(&totals)?;
    let z = |slice: f64| volume.grid.mm_from_voxel([0.0, 0.0, slice])[2];
    let (low, high) = (z(first), z(last));
    if (high - low - CHAMBER_LENGTH_MM).abs() > LENGTH_TOLERANCE_MM {
        return Err(Nu4Error::NotTheChamber { found_mm: high - low });
    }
    // The half with the cold cylinders holds less.
    let mean = |middle: f64| {
        let near = slices(volume, middle, 0.25 * CHAMBER_LENGTH_MM);
        let total = |z: &f64| totals[volume.grid.voxel_from_mm([0.0, 0.0, *z])[2].round() as usize];
        near.iter().map(total).sum::<f64>() / near.len() as f64
    };
    let quarter = 0.25 * CHAMBER_LENGTH_MM;
    let chamber_z_mm = if mean(low + quarter) > mean(high - quarter) { [low, high] } else { [high, low] };
    let start = Nu4Placement { axis_mm: [0.0; 2], chamber_z_mm, cold_mm: [[0.0; 2]; 2], rods_mm: [[0.0; 2]; 5], moved_mm: None };
    let [uniform_z, cold_z, rods_z] = start.middles_mm();
    for (part, z_mm) in [("rods", rods_z - 5.0), ("rods", rods_z + 5.0)] {
        let [from, to] = volume.grid.extent_mm(2);
        if !(from..=to).contains(&z_mm) {
            return Err(Nu4Error::CutOff { part, z_mm });
        }
    }
    let uniform = mean_pixels(volume, &slices(volume, uniform_z, UNIFORM_MM[1]));
    let axis_mm = centroid(uniform.iter().copied()).ok_or(Nu4Error::Empty)?;
    let level = uniform.iter().map(|(_, value)| *value).fold(0.0, f64::max);
    let cold_mm = cold_axes(&mean_pixels(volume, &slices(volume, cold_z, COLD_MM[1])), axis_mm, level);
    let rods_mm = rod_axes(&mean_pixels(volume, &slices(volume, rods_z, ROD_MIDDLE_MM)), axis_mm);
    Ok(Nu4Placement { axis_mm, cold_mm, rods_mm, ..start })
}

/// Returns where the totals of the slices rise above half of the plateau's and fall below it again, in slices, interpolated. The
/// plateau is the level that a third of the slices above half of the largest exceed: that of the uniform half.
fn chamber(totals: &[f64]) -> Result<[f64; 2], Nu4Error> {
    let largest = totals.iter().copied().fold(0.0, f64::max);
    if !(largest > 0.0 && largest.is_finite()) {
        return Err(Nu4Error::Empty);
    }
    let high = totals.iter().copied().filter(|total| *total > 0.5 * largest).collect();
    let half = 0.5 * quantiles(high, [0.75]).map_or(largest, |[plateau]| plateau);
    let is_in = |slice: &usize| totals[*slice] > half;
    let (Some(first), Some(last)) = ((0..totals.len()).find(is_in), (0..totals.len()).rev().find(is_in)) else {
        return Err(Nu4Error::Empty);
    };
    // Between a slice inside and its neighbour outside; at the image's end the slice's face.
    let edge = |inside: usize, outside: Option<usize>| match outside.and_then(|outside| totals.get(outside)) {
        Some(&below) => (totals[inside] - half) / (totals[inside] - below),
        None => 0.5,
    };
    Ok([first as f64 - edge(first, first.checked_sub(1)), last as f64 + edge(last, Some(last + 1))])
}

/// Returns the mean over some slices: the places of pixels (x, y), mm, with their values.
fn mean_pixels(volume: &Volume, slices_mm: &[f64]) -> Vec<([f64; 2], f64)> {
    let grid = &volume.grid;
    let slices: Vec<usize> = slices_mm.iter().map(|&z| grid.voxel_from_mm([0.0, 0.0, z])[2].round() as usize).collect();
    let mut pixels = Vec::with_capacity(grid.size[0] * grid.size[1]);
    for (y, x) in (0..grid.size[1]).flat_map(|y| (0..grid.size[0]).map(move |x| (y, x))) {
        let [x_mm, y_mm, _]: Point = grid.mm_from_voxel([x as f64, y as f64, 0.0]);
        let sum: f64 = slices.iter().map(|&z| f64::from(volume.values[[z, y, x]])).sum();
        pixels.push(([x_mm, y_mm], sum / slices.len() as f64));
    }
    pixels
}

/// Returns the centroid of positive values; `None` where there are none.
fn centroid(pixels: impl Iterator<Item = ([f64; 2], f64)>) -> Option<[f64; 2]> {
    let [weight, x, y] = pixels
        .filter(|(_, value)| *value > 0.0)
        .fold([0.0; 3], |[weight, x, y], (at, value)| [weight + value, x + value * at[0], y + value * at[1]]);
    (weight > 0.0).then(|| [x / weight, y / weight])
}

/// Returns the axes of the cold cylinders: the centroids of the missing activity on both sides of the axis, along its main
/// direction.
fn cold_axes(pixels: &[([f64; 2], f64)], axis_mm: [f64; 2], level: f64) -> [[f64; 2]; 2] {
    let from_axis = |at: &[f64; 2]| [at[0] - axis_mm[0], at[1] - axis_mm[1]];
    let inside = |at: &[f64; 2]| from_axis(at)[0].hypot(from_axis(at)[1]) < CHAMBER_RADIUS_MM - 2.0;
    let missing = || {
        let within = pixels.iter().filter(|(at, _)| inside(at));
        within.map(|(at, value)| (from_axis(at), (0.5 * level - value).max(0.0)))
    };
    let [xx, xy, yy] = missing().fold([0.0; 3], |[xx, xy, yy], ([x, y], w)| [xx + w * x * x, xy + w * x * y, yy + w * y * y]);
    let (sin, cos) = (0.5 * (2.0 * xy).atan2(xx - yy)).sin_cos();
    [-1.0, 1.0].map(|side| {
        let one = centroid(missing().filter(|([x, y], _)| side * (x * cos + y * sin) > 0.0));
        let [x, y] = one.unwrap_or([side * COLD_OFFSET_MM * cos, side * COLD_OFFSET_MM * sin]);
        [axis_mm[0] + x, axis_mm[1] + y]
    })
}

/// Returns the axes of the rods: their ring turned, either way around, to where their places hold most, weighted by the rods'
/// areas.
fn rod_axes(pixels: &[([f64; 2], f64)], axis_mm: [f64; 2]) -> [[f64; 2]; 5] {
    let places = |turn: usize, direction: f64| -> [[f64; 2]; 5] {
        std::array::from_fn(|rod| {
            let angle = (360.0 / NUM_TURNS as f64 * turn as f64 + direction * 72.0 * rod as f64).to_radians();
            [axis_mm[0] + ROD_RING_MM * angle.cos(), axis_mm[1] + ROD_RING_MM * angle.sin()]
        })
    };
    let near: Vec<&([f64; 2], f64)> =
        pixels.iter().filter(|(at, _)| (at[0] - axis_mm[0]).hypot(at[1] - axis_mm[1]) < CHAMBER_RADIUS_MM - 2.0).collect();
    let held = |places: &[[f64; 2]; 5]| -> f64 {
        let of_rod = |([x, y], diameter): (&[f64; 2], f64)| -> f64 {
            let within = near.iter().filter(|(at, _)| (at[0] - x).hypot(at[1] - y) < 2.5);
            diameter * diameter * within.map(|(_, value)| value).sum::<f64>()
        };
        places.iter().zip(ROD_DIAMETERS_MM).map(of_rod).sum()
    };
    let mut best = (f64::NEG_INFINITY, places(0, 1.0));
    for (turn, direction) in (0..NUM_TURNS).flat_map(|turn| [(turn, 1.0), (turn, -1.0)]) {
        let places = places(turn, direction);
        let held = held(&places);
        if held > best.0 {
            best = (held, places);
        }
    }
    best.1
}

/// Returns the standard's figures of an image in which the phantom lies so.
///
/// # Errors
/// A part of the phantom lies outside the image.
pub fn analyse(volume: &Volume, placement: &Nu4Placement) -> Result<Nu4Analysis, Nu4Error> {
    let [uniform_z, cold_z, rods_z] = placement.middles_mm();
    let uniform = cylinder(volume, placement.axis_mm, uniform_z, UNIFORM_MM, "uniform part")?;
    let ratio = |stats: &RoiStats| Nu4Ratio {
        ratio: stats.mean / uniform.mean,
        relative_sd: stats
            .sd
            .zip(uniform.sd)
            .filter(|_| stats.mean > 0.0)
            .map(|(sd, uniform_sd)| (sd / stats.mean).hypot(uniform_sd / uniform.mean)),
    };
    let cold = |at: [f64; 2]| cylinder(volume, at, cold_z, COLD_MM, "cold part").map(|stats| ratio(&stats));
    let [first, second] = placement.cold_mm;
    let mean = mean_pixels(volume, &slices(volume, rods_z, ROD_MIDDLE_MM));
    let mut rods = [Nu4Ratio { ratio: 0.0, relative_sd: None }; 5];
    for ((rod, at), diameter) in rods.iter_mut().zip(placement.rods_mm).zip(ROD_DIAMETERS_MM) {
        // Twice the diameter, but a pixel at least.
        let reach = diameter.max(volume.grid.voxel_mm[0]).max(volume.grid.voxel_mm[1]);
        let within = mean.iter().filter(|(place, _)| (place[0] - at[0]).hypot(place[1] - at[1]) <= reach);
        let (place, _) = within.max_by(|(_, a), (_, b)| a.total_cmp(b)).ok_or(Nu4Error::CutOff { part: "rods", z_mm: rods_z })?;
        *rod = ratio(&line(volume, *place, &slices(volume, rods_z, ROD_MIDDLE_MM))?);
    }
    Ok(Nu4Analysis {
        placement: *placement,
        uniform_mean: uniform.mean,
        uniform_sd: uniform.sd.map(|sd| sd / uniform.mean),
        uniform_range: [uniform.min, uniform.max],
        rods,
        spill_over: [cold(first)?, cold(second)?],
    })
}
