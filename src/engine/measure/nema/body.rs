//! Outline of the body: the area more than half as active as its background, in the mean over its slices.
//!
//! Its centroid and its principal axis give the position and the turn of the body except for half a turn (second moments of an
//! area). The overlap with the phantom's own outline decides which half, and whether it is that phantom.

use super::NemaError;
use super::placement::turned;
use crate::data::Volume;
use crate::data::nema::{LUNG_RADIUS_MM, SPHERE_RING_MM, body_area_mm2, body_centroid_mm, is_in_body};
use crate::geometry::{Grid, Point};
use crate::measure::connected::{connected, largest_area};
use crate::statistics::{median, quantiles};

/// Least overlap of the outline with the phantom's (twice the common area over the sum of both).
const LEAST_AGREEMENT: f64 = 0.9;
/// Distance of the region of the background's level from the edge and from the outer rim of the ring, mm.
const LEVEL_MARGIN_MM: f64 = 12.0;
/// Radius about the middle that holds the spheres, mm.
const RING_OUTSIDE_MM: f64 = SPHERE_RING_MM + 18.5;
/// Slices this near to the body's ends are not all phantom, mm.
const END_MARGIN_MM: f64 = 10.0;
/// Steps of the search for the background's level; each goes most of the way.
const LEVEL_STEPS: usize = 8;

/// The body in an image.
pub(super) struct Body {
    /// Where the phantom's axis crosses the slices, from the outline alone; z is that of the middle of the body. World mm.
    pub(super) middle_mm: Point,
    /// By how much it is turned from +x towards −y, rad.
    pub(super) turn_rad: f64,
    /// Mean of the background in each slice of the image; 0 in those without the body.
    pub(super) levels: Vec<f64>,
    /// First and last slice with the body.
    pub(super) slices: [usize; 2],
}

impl Body {
    /// Looks for it.
    ///
    /// # Errors
    /// There is no activity, or its outline is another one's.
    pub(super) fn find(volume: &Volume) -> Result<Self, NemaError> {
        let [_, num_y, num_x] = volume.grid.shape();
        let everywhere = mean_slice(volume, 0, volume.grid.size[2] - 1);
        let rough = outline(&everywhere, num_x, num_y)?;
        let slices = longest_run(&slice_means(volume, &rough));
        let mean = mean_slice(volume, slices[0], slices[1]);
        let mask = outline(&mean, num_x, num_y)?;
        let (middle_mm, turn_rad) = pose(&volume.grid, &mask, slices)?;
        let levels = slice_means(volume, &background(&volume.grid, middle_mm, turn_rad));
        Ok(Self { middle_mm, turn_rad, levels, slices })
    }

    /// Returns z of the first and of the last slice that is all phantom, mm: those at the ends of the image are.
    pub(super) fn whole_z_mm(&self, grid: &Grid) -> [f64; 2] {
        let [first, last] = self.slices.map(|slice| grid.mm_from_voxel([0.0, 0.0, slice as f64])[2]);
        let from = if self.slices[0] == 0 { first } else { first + END_MARGIN_MM };
        let to = if self.slices[1] + 1 == grid.size[2] { last } else { last - END_MARGIN_MM };
        [from, to]
    }

    /// Returns the mean over the slices that are all phantom but for those near the spheres' plane: there nothing but the lung
    /// insert is left in the middle.
    pub(super) fn without_spheres(&self, volume: &Volume, plane_mm: f64) -> Vec<f64> {
        let grid = &volume.grid;
        let [from, to] = self.whole_z_mm(grid);
        let far: Vec<usize> = (0..grid.size[2])
            .filter(|&slice| {
                let z = grid.mm_from_voxel([0.0, 0.0, slice as f64])[2];
                (from..=to).contains(&z) && (z - plane_mm).abs() > LUNG_RADIUS_MM
            })
            .collect();
        mean_of_slices(volume, &far)
    }
}

/// Returns the mean over the slices from one to another, both included.
fn mean_slice(volume: &Volume, first: usize, last: usize) -> Vec<f64> {
    mean_of_slices(volume, &(first..=last).collect::<Vec<_>>())
}

/// Returns the mean over some slices; empty without slices. Values that are not finite count as 0.
fn mean_of_slices(volume: &Volume, slices: &[usize]) -> Vec<f64> {
    let in_slice = volume.grid.size[0] * volume.grid.size[1];
    let mut mean = vec![0.0; if slices.is_empty() { 0 } else { in_slice }];
    for &slice in slices {
        let values = &volume.as_slice()[slice * in_slice..][..in_slice];
        mean.iter_mut().zip(values).filter(|(_, value)| value.is_finite()).for_each(|(sum, &value)| *sum += f64::from(value));
    }
    mean.iter_mut().for_each(|sum| *sum /= slices.len() as f64);
    mean
}

/// Returns the mean of each slice inside a mask.
fn slice_means(volume: &Volume, mask: &[bool]) -> Vec<f64> {
    let inside = mask.iter().filter(|is_inside| **is_inside).count().max(1) as f64;
    let mean = |values: &[f32]| {
        let held = values.iter().zip(mask).filter(|(value, is_inside)| **is_inside && value.is_finite());
        held.map(|(&value, _)| f64::from(value)).sum::<f64>() / inside
    };
    volume.as_slice().chunks_exact(mask.len()).map(mean).collect()
}

/// Returns the first and last of the longest run of slices with more than half of the content of a slice with the body.
fn longest_run(means: &[f64]) -> [usize; 2] {
    let [high] = quantiles(means.to_vec(), [0.9]).unwrap_or_default();
    let (mut best, mut first) = ([0, 0], 0);
    for (slice, &mean) in means.iter().enumerate() {
        if mean <= 0.5 * high {
            first = slice + 1;
        } else if slice - first >= best[1] - best[0] {
            best = [first, slice];
        }
    }
    best
}

/// Returns the largest connected area above half of the background's level, with enclosed areas.
///
/// The level is the median of the values above half of it, from the mean of everything upwards: most of the image is air, and
/// most of the rest background.
fn outline(mean: &[f64], num_x: usize, num_y: usize) -> Result<Vec<bool>, NemaError> {
    let mut level = mean.iter().sum::<f64>() / mean.len() as f64;
    for _ in 0..LEVEL_STEPS {
        let above = mean.iter().copied().filter(|value| *value > 0.5 * level).collect();
        level = median(above).filter(|level| *level > 0.0).ok_or(NemaError::Empty)?;
    }
    let above: Vec<bool> = mean.iter().map(|value| *value > 0.5 * level).collect();
    let body = largest_area(&above, [num_x, num_y]);
    // Pixels connected with the border are outside the body; a frame joins all of the border.
    let (wide, high) = (num_x + 2, num_y + 2);
    let mut not_body = vec![true; wide * high];
    for (row, values) in body.chunks_exact(num_x).enumerate() {
        let framed = &mut not_body[(row + 1) * wide + 1..][..num_x];
        framed.iter_mut().zip(values).for_each(|(free, is_body)| *free = !is_body);
    }
    connected([wide, high, 1], 0, |pixel| std::mem::take(&mut not_body[pixel]));
    // The rest was enclosed.
    let is_inside = |pixel: usize| body[pixel] || not_body[(pixel / num_x + 1) * wide + pixel % num_x + 1];
    Ok((0..body.len()).map(is_inside).collect())
}

/// Returns the pixels of a slice with their centres (x, up), mm.
fn pixels(grid: &Grid) -> impl Iterator<Item = [f64; 2]> + '_ {
    let [num_x, num_y, _] = grid.size;
    (0..num_x * num_y).map(move |pixel| {
        let [x, y, _] = grid.mm_from_voxel([(pixel % num_x) as f64, (pixel / num_x) as f64, 0.0]);
        [x, -y]
    })
}

/// Returns the middle and turn of the body with this outline.
fn pose(grid: &Grid, mask: &[bool], slices: [usize; 2]) -> Result<(Point, f64), NemaError> {
    let inside = || pixels(grid).zip(mask).filter(|(_, is_inside)| **is_inside).map(|(at, _)| at);
    let num = inside().count() as f64;
    let [x, up] = inside().fold([0.0; 2], |sum, at| [sum[0] + at[0] / num, sum[1] + at[1] / num]);
    let [xx, xu, uu] = inside().fold([0.0; 3], |[xx, xu, uu], at| {
        let (a, b) = (at[0] - x, at[1] - up);
        [xx + a * a, xu + a * b, uu + b * b]
    });
    let axis_rad = 0.5 * (2.0 * xu).atan2(xx - uu);
    let z = grid.mm_from_voxel([0.0, 0.0, 0.5 * (slices[0] + slices[1]) as f64])[2];
    let middle = |turn_rad: f64| turned([x, -up, z], turn_rad, [0.0, -body_centroid_mm()]);
    let pixel_mm2 = grid.voxel_mm[0] * grid.voxel_mm[1];
    let agreement = |turn_rad: f64| {
        let common = inside().filter(|&at| is_in_body(in_body(middle(turn_rad), turn_rad, at))).count() as f64;
        2.0 * common * pixel_mm2 / (num * pixel_mm2 + body_area_mm2())
    };
    let half_turn = if axis_rad > 0.0 { axis_rad - std::f64::consts::PI } else { axis_rad + std::f64::consts::PI };
    let turn_rad = if agreement(axis_rad) >= agreement(half_turn) { axis_rad } else { half_turn };
    if agreement(turn_rad) < LEAST_AGREEMENT {
        return Err(NemaError::NotTheBody {
            found_cm2: num * pixel_mm2 / 100.0,
            expected_cm2: body_area_mm2() / 100.0,
            agreement_percent: 100.0 * agreement(turn_rad),
        });
    }
    Ok((middle(turn_rad), turn_rad))
}

/// Returns a place (x, up) of the world in the frame of a body.
fn in_body(middle_mm: Point, turn_rad: f64, [x, up]: [f64; 2]) -> [f64; 2] {
    let (sin, cos) = turn_rad.sin_cos();
    let (x, up) = (x - middle_mm[0], up + middle_mm[1]);
    [x * cos + up * sin, up * cos - x * sin]
}

/// Returns the pixels that are background in every slice: inside the body away from its edge, and outside the ring of spheres.
fn background(grid: &Grid, middle_mm: Point, turn_rad: f64) -> Vec<bool> {
    let is_background = |at: [f64; 2]| {
        let [x, up] = in_body(middle_mm, turn_rad, at);
        let near = [[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0], [0.7, 0.7], [-0.7, 0.7], [0.7, -0.7], [-0.7, -0.7]];
        let is_deep = || near.iter().all(|[a, b]| is_in_body([x + LEVEL_MARGIN_MM * a, up + LEVEL_MARGIN_MM * b]));
        x.hypot(up) > RING_OUTSIDE_MM + LEVEL_MARGIN_MM && is_deep()
    };
    pixels(grid).map(is_background).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_of_the_body_are_inside_it() {
        let (wide, high) = (7, 6);
        let ring =
            |x: usize, y: usize| (1..6).contains(&x) && (1..5).contains(&y) && !((2..5).contains(&x) && (2..4).contains(&y));
        let mean: Vec<f64> = (0..wide * high).map(|pixel| f64::from(u8::from(ring(pixel % wide, pixel / wide)))).collect();
        let found = outline(&mean, wide, high).unwrap();
        let expected: Vec<bool> =
            (0..wide * high).map(|p| (1..6).contains(&(p % wide)) && (1..5).contains(&(p / wide))).collect();
        assert_eq!(found, expected);
    }
}
