//! Profiles along a line through a volume.

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

/// Values at `num_points` equidistant points from one place to another, linearly interpolated between voxel centres;
/// points outside the volume are left out.
pub fn profile(volume: &Volume, from_mm: Point, to_mm: Point, num_points: usize) -> Vec<ProfilePoint> {
    let along: Point = std::array::from_fn(|a| to_mm[a] - from_mm[a]);
    let length = along.iter().map(|v| v * v).sum::<f64>().sqrt();
    let point = |index: usize| {
        let t = if num_points > 1 { index as f64 / (num_points - 1) as f64 } else { 0.0 };
        let value = interpolated(volume, std::array::from_fn(|a| from_mm[a] + t * along[a]))?;
        Some(ProfilePoint { distance_mm: t * length, value })
    };
    (0..num_points).filter_map(point).collect()
}

/// The value at a point, linearly interpolated; in the outer half of the outermost voxels theirs. `None` outside.
fn interpolated(volume: &Volume, point: Point) -> Option<f64> {
    let voxel = volume.grid.voxel_from_mm(point);
    let mut low = [0usize; 3];
    let mut share = [0.0; 3];
    for a in 0..3 {
        let num = volume.grid.size[a] as f64;
        if !(-0.5..=num - 0.5).contains(&voxel[a]) {
            return None;
        }
        let clamped = voxel[a].clamp(0.0, num - 1.0);
        low[a] = clamped as usize;
        share[a] = clamped - low[a] as f64;
    }
    let mut sum = 0.0;
    for corner in 0..8 {
        let step: [usize; 3] = std::array::from_fn(|a| corner >> a & 1);
        let weight: f64 = (0..3).map(|a| if step[a] == 1 { share[a] } else { 1.0 - share[a] }).product();
        if weight > 0.0 {
            sum += weight * f64::from(*volume.values.get([low[2] + step[2], low[1] + step[1], low[0] + step[0]])?);
        }
    }
    finite(sum)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;

    #[test]
    fn a_profile_of_a_linear_image_is_linear() {
        let grid = Grid::centred([5, 4, 3], [2.0, 3.0, 4.0]).unwrap();
        let mut volume = Volume::filled(grid.clone(), 0.0);
        for ((z, y, x), value) in volume.values.indexed_iter_mut() {
            let [x, y, z] = grid.mm_from_voxel([x as f64, y as f64, z as f64]);
            *value = (10.0 + x - 2.0 * y + 0.5 * z) as f32;
        }
        let found = profile(&volume, [-4.0, 4.0, -3.0], [4.0, -4.0, 3.0], 9);
        assert_eq!(found.len(), 9);
        for (index, point) in found.iter().enumerate() {
            let t = index as f64 / 8.0;
            let expected = 10.0 + (-4.0 + 8.0 * t) - 2.0 * (4.0 - 8.0 * t) + 0.5 * (-3.0 + 6.0 * t);
            assert!((point.value - expected).abs() < 1e-6);
            assert!((point.distance_mm - t * (64.0f64 + 64.0 + 36.0).sqrt()).abs() < 1e-12);
        }
        // x reaches from −5 to 5: of −6, −4, … 6 the outer two are left out.
        assert_eq!(profile(&volume, [-6.0, 0.0, 0.0], [6.0, 0.0, 0.0], 7).len(), 5);
        assert!(profile(&volume, [f64::NAN; 3], [1.0; 3], 3).is_empty());
    }
}
