//! Profiles along a line through a volume.
//!
//! Linear interpolation widens peaks: a Gaussian four voxels wide at half its height by 4 % along a diagonal. Where widths are
//! measured values between voxel centres are those of cubic convolution (Keys 1981), which leaves them to within 1 %; it
//! overshoots at sharp edges, so that it is not drawn.

use super::finite;
use crate::data::Volume;
use crate::geometry::Point;

/// A point of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProfilePoint {
    /// Distance from the profile's start, mm.
    pub distance_mm: f64,
    /// Value there.
    pub value: f64,
}

/// Values between voxel centres.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileInterpolation {
    /// Linearly interpolated, to be looked at.
    Linear,
    /// By cubic convolution, to be measured.
    Cubic,
}

/// Returns values at `num_points` equidistant points from one place to another; points outside the volume are left out.
pub fn profile(
    volume: &Volume,
    from_mm: Point,
    to_mm: Point,
    num_points: usize,
    interpolation: ProfileInterpolation,
) -> Vec<ProfilePoint> {
    let along: Point = std::array::from_fn(|a| to_mm[a] - from_mm[a]);
    let length = along.iter().map(|v| v * v).sum::<f64>().sqrt();
    let point = |index: usize| {
        let t = if num_points > 1 { index as f64 / (num_points - 1) as f64 } else { 0.0 };
        let value = interpolated(volume, std::array::from_fn(|a| from_mm[a] + t * along[a]), interpolation)?;
        Some(ProfilePoint { distance_mm: t * length, value })
    };
    (0..num_points).filter_map(point).collect()
}

/// Most lines along each side of a band: a wide one is sampled, or each iterate on the screen would take a noticeable time.
const MAX_LINES_ACROSS: f64 = 11.0;

/// The mean of profiles that fill a band: their lines lie side by side in a square of the side `width_mm` about the line and
/// across it, at most a voxel apart up to eleven voxels, farther in a wider one (NEMA NU 2 sums a point's profiles in both
/// directions across, too). Where some of them leave the volume the mean is that of the others; without a width it is
/// [`profile`].
pub fn band_profile(
    volume: &Volume,
    [from_mm, to_mm]: [Point; 2],
    width_mm: f64,
    num_points: usize,
    interpolation: ProfileInterpolation,
) -> Vec<ProfilePoint> {
    let along: Point = std::array::from_fn(|a| to_mm[a] - from_mm[a]);
    let length = along.iter().map(|v| v * v).sum::<f64>().sqrt();
    let finest = volume.grid.voxel_mm.into_iter().fold(f64::INFINITY, f64::min);
    let num_lines = (width_mm / finest).ceil().clamp(1.0, MAX_LINES_ACROSS);
    if num_lines == 1.0 || length == 0.0 {
        return profile(volume, from_mm, to_mm, num_points, interpolation);
    }
    let sides = across(along.map(|v| v / length));
    let place = |k: f64| width_mm * ((k + 0.5) / num_lines - 0.5);
    let mut sums = vec![(0.0, 0.0, 0usize); num_points];
    for k in 0..num_lines as usize {
        for j in 0..num_lines as usize {
            let shift: Point = std::array::from_fn(|a| place(k as f64) * sides[0][a] + place(j as f64) * sides[1][a]);
            let [from, to] = [from_mm, to_mm].map(|end| std::array::from_fn(|a| end[a] + shift[a]));
            for point in profile(volume, from, to, num_points, interpolation) {
                let index = (point.distance_mm / length * (num_points as f64 - 1.0)).round() as usize;
                if let Some((distance, sum, num)) = sums.get_mut(index) {
                    (*distance, *sum, *num) = (point.distance_mm, *sum + point.value, *num + 1);
                }
            }
        }
    }
    let inside = sums.into_iter().filter(|(.., num)| *num > 0);
    inside.map(|(distance_mm, sum, num)| ProfilePoint { distance_mm, value: sum / num as f64 }).collect()
}

/// Returns two directions across a unit vector and each other. Across a line along an axis, or in a plane of two, one of them is an
/// axis.
fn across(along: Point) -> [Point; 2] {
    let across = (0..3).min_by(|a, b| along[*a].abs().total_cmp(&along[*b].abs())).unwrap_or_default();
    let mut axis = [0.0; 3];
    axis[across] = 1.0;
    let product = |a: Point, b: Point| -> Point {
        std::array::from_fn(|k| a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3])
    };
    let first = product(along, axis);
    let size = first.iter().map(|v| v * v).sum::<f64>().sqrt();
    let first = first.map(|v| v / size);
    [first, product(along, first)]
}

/// Returns the value at a point, interpolated; in the outer half of the outermost voxels theirs. `None` outside.
fn interpolated(volume: &Volume, point: Point, interpolation: ProfileInterpolation) -> Option<f64> {
    let voxel = volume.grid.voxel_from_mm(point);
    // Along each axis the voxels that count, and by how much.
    let mut near = [[(0, 0.0); 4]; 3];
    for a in 0..3 {
        let last = volume.grid.size[a] as f64 - 1.0;
        if !(-0.5..=last + 0.5).contains(&voxel[a]) {
            return None;
        }
        let at = voxel[a].clamp(0.0, last);
        for (tap, near) in (-1..).zip(&mut near[a]) {
            let place = at.floor() + f64::from(tap);
            *near = (place.clamp(0.0, last) as usize, interpolation.weight((place - at).abs()));
        }
    }
    let [x, y, z] = near.map(|near| near.into_iter().filter(|(_, weight)| *weight != 0.0));
    let mut sum = 0.0;
    for (z, of_z) in z {
        for (y, of_y) in y.clone() {
            sum += of_z * of_y * x.clone().map(|(x, of_x)| of_x * f64::from(volume.values[[z, y, x]])).sum::<f64>();
        }
    }
    finite(sum)
}

impl ProfileInterpolation {
    /// Returns the weight of a voxel whose centre is `t` voxels away.
    fn weight(self, t: f64) -> f64 {
        match self {
            ProfileInterpolation::Linear => (1.0 - t).max(0.0),
            ProfileInterpolation::Cubic if t <= 1.0 => 1.0 + t * t * (1.5 * t - 2.5),
            ProfileInterpolation::Cubic => (2.0 + t * (-4.0 + t * (2.5 - 0.5 * t))) * f64::from(t < 2.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    #[test]
    fn a_profile_of_a_linear_image_is_linear_inside_it() {
        let grid = Grid::centred([5, 4, 3], [2.0, 3.0, 4.0]).unwrap();
        let mut volume = Volume::filled(grid.clone(), 0.0);
        for ((z, y, x), value) in volume.values.indexed_iter_mut() {
            let [x, y, z] = grid.mm_from_voxel([x as f64, y as f64, z as f64]);
            *value = (10.0 + x - 2.0 * y + 0.5 * z) as f32;
        }
        let along = |from, to, num| profile(&volume, from, to, num, ProfileInterpolation::Linear);
        let found = along([-4.0, 4.0, -3.0], [4.0, -4.0, 3.0], 9);
        assert_eq!(found.len(), 9);
        for (index, point) in found.iter().enumerate() {
            let t = index as f64 / 8.0;
            let expected = 10.0 + (-4.0 + 8.0 * t) - 2.0 * (4.0 - 8.0 * t) + 0.5 * (-3.0 + 6.0 * t);
            assert!((point.value - expected).abs() < 1e-6);
            assert!((point.distance_mm - t * (64.0f64 + 64.0 + 36.0).sqrt()).abs() < 1e-12);
        }
        // x reaches from −5 to 5: of −6, −4, … 6 the outer two are left out.
        assert_eq!(along([-6.0, 0.0, 0.0], [6.0, 0.0, 0.0], 7).len(), 5);
        assert!(along([f64::NAN; 3], [1.0; 3], 3).is_empty());
    }

    #[test]
    fn a_band_averages_over_a_square_about_the_line() {
        // v = x² + 10 y² + z: over a square of the side w the mean of t² is w²/12, which the lines across, w/n apart, give as
        // w²/12 (1 − 1/n²).
        let grid = Grid::centred([41, 41, 41], [1.0; 3]).unwrap();
        let mut volume = Volume::filled(grid.clone(), 0.0);
        for ((z, y, x), value) in volume.values.indexed_iter_mut() {
            let [x, y, z] = grid.mm_from_voxel([x as f64, y as f64, z as f64]);
            *value = (x * x + 10.0 * y * y + z) as f32;
        }
        let second_moment = |num: f64| 8.0 * 8.0 / 12.0 * (1.0 - 1.0 / (num * num));
        let of = |ends, width_mm| band_profile(&volume, ends, width_mm, 11, ProfileInterpolation::Cubic);
        let along_x = of([[-5.0, 2.0, 0.0], [5.0, 2.0, 0.0]], 8.0);
        assert_eq!(along_x.len(), 11);
        for (index, point) in along_x.iter().enumerate() {
            let x = index as f64 - 5.0;
            assert!((point.distance_mm - index as f64).abs() < 1e-9);
            let expected = x * x + 10.0 * (4.0 + second_moment(8.0));
            assert!((point.value - expected).abs() < 1e-9, "{x}: {} is not {expected}", point.value);
        }
        // Across the diagonal (1, 1, 0)/√2 lie (1, −1, 0)/√2 and z.
        let oblique = of([[-3.0, -3.0, 1.0], [3.0, 3.0, 1.0]], 8.0);
        let middle = oblique[5].value;
        let expected = 11.0 * 0.5 * second_moment(8.0) + 1.0;
        assert!((middle - expected).abs() < 1e-9, "{middle} is not {expected}");
        // Without a width it is the profile; beside the volume the part inside counts.
        let ends = [[-5.0, 0.0, 0.0], [5.0, 0.0, 0.0]];
        assert_eq!(of(ends, 0.0), profile(&volume, ends[0], ends[1], 11, ProfileInterpolation::Cubic));
        assert_eq!(of([[-5.0, 20.0, 0.0], [5.0, 20.0, 0.0]], 4.0).len(), 11);
        assert!(of([[-5.0, 30.0, 0.0], [5.0, 30.0, 0.0]], 4.0).is_empty());
    }

    #[test]
    fn cubic_convolution_gives_squares_back_and_edges_their_own_values() {
        let mut volume = Volume::filled(Grid::centred([9, 1, 1], [1.0; 3]).unwrap(), 0.0);
        (-4..).zip(volume.as_mut_slice()).for_each(|(x, value)| *value = (x * x) as f32);
        let found = profile(&volume, [-4.5, 0.2, 0.0], [4.5, 0.2, 0.0], 37, ProfileInterpolation::Cubic);
        assert_eq!(found.len(), 37);
        for point in found {
            let x = point.distance_mm - 4.5;
            match x.abs() {
                far if far >= 4.0 => assert_eq!(point.value, 16.0),
                far if far <= 3.0 => assert!((point.value - x * x).abs() < 1e-12, "{x}: {}", point.value),
                _ => {}
            }
        }
    }
}
