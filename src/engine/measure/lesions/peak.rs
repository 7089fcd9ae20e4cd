//! Peak of a lesion: the largest mean of a sphere of 1 mL whose centre lies in the lesion.
//!
//! The sphere (diameter 12.407 mm) takes the part of each voxel that it covers, and may reach beyond the lesion. Its centre lies
//! anywhere in the lesion's voxels. The search begins with the voxel centres (of voxels below 1 mm those at distances of about 1 mm).
//! Of their means the largest, at least half a radius from each other, are the starts of a search along the axes, with steps down to
//! 0.05 mm.
//!
//! N voxels of a lesion take N × S multiplications, S the voxels of a sphere: 251 for voxels of 2 mm, so that 10⁶ voxels take
//! 2.5·10⁸. The search between the voxel centres does not depend on N.

use rayon::prelude::*;

use crate::data::{RoiMask, Volume};
use crate::geometry::{Grid, Point};

/// Radius of a sphere of 1 mL, (3 · 1000 mm³ / 4π)^⅓ mm.
const RADIUS_MM: f64 = 6.203_504_908_994;

/// Diameter of a sphere of 1 mL, mm.
pub const PEAK_DIAMETER_MM: f64 = 2.0 * RADIUS_MM;

/// Largest distance of the lines along x in which the sphere is cut into voxels, mm.
const LINE_MM: f64 = 0.25;

/// Number of means at voxel centres where the search between them starts.
const NUM_STARTS: usize = 16;

/// Distance of the voxel centres at which the search begins, mm, where voxels are smaller.
const START_MM: f64 = 1.0;

/// Largest number of voxels of a lesion whose voxel centres are all used.
const MAX_WHOLE: usize = 4096;

/// Smallest voxel with a peak, mm³: a sphere then has 10⁶ voxels.
const MIN_VOXEL_MM3: f64 = 1e-3;

/// Last step of the search, mm.
const LAST_STEP_MM: f64 = 0.05;

/// Mean of a sphere of 1 mL.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Peak {
    /// The mean.
    pub mean: f64,
    /// Its centre, mm.
    pub centre_mm: Point,
}

/// Parts of voxels in a sphere: rows along x, each with the offset of its first voxel.
struct Sphere {
    rows: Vec<([isize; 3], Vec<f64>)>,
    total: f64,
}

impl Sphere {
    /// Returns the parts of voxels of this size in the sphere about a point, in voxels from the middle of the voxel of the offsets.
    ///
    /// Along x the parts are exact; along y and z the covered part of each voxel has lines at equal distances.
    fn new(voxel_mm: [f64; 3], centre: [f64; 3]) -> Self {
        let reach = |axis: usize| RADIUS_MM / voxel_mm[axis];
        let voxels = |axis: usize| (centre[axis] - reach(axis)).round() as isize..=(centre[axis] + reach(axis)).round() as isize;
        // Distances from the centre (mm) of the lines through a voxel, and the part of the voxel's side of each.
        let lines = |axis: usize, voxel: isize| {
            let low = (voxel as f64 - 0.5).max(centre[axis] - reach(axis));
            let high = (voxel as f64 + 0.5).min(centre[axis] + reach(axis));
            let num = ((high - low) * voxel_mm[axis] / LINE_MM).ceil().max(1.0) as usize;
            let side = (high - low).max(0.0) / num as f64;
            (0..num).map(move |k| ((low + (k as f64 + 0.5) * side - centre[axis]) * voxel_mm[axis], side))
        };
        let first = *voxels(0).start();
        let mut rows = Vec::new();
        let mut row = vec![0.0; voxels(0).count()];
        for z in voxels(2) {
            for y in voxels(1) {
                row.fill(0.0);
                for (dz, of_z) in lines(2, z) {
                    for (dy, of_y) in lines(1, y) {
                        let squared = RADIUS_MM * RADIUS_MM - dy * dy - dz * dz;
                        if squared > 0.0 {
                            let (middle, half) = (centre[0] - first as f64, squared.sqrt() / voxel_mm[0]);
                            add_stretch(&mut row, [middle - half, middle + half], of_y * of_z);
                        }
                    }
                }
                if let Some(start) = row.iter().position(|part| *part > 0.0) {
                    let parts: Vec<f64> = row[start..].iter().copied().take_while(|part| *part > 0.0).collect();
                    rows.push(([first + start as isize, y, z], parts));
                }
            }
        }
        let total = rows.iter().flat_map(|(_, parts)| parts).sum();
        Self { rows, total }
    }

    /// Returns the mean about a voxel; `None` where the sphere leaves the image, or a value is no finite number.
    fn mean(&self, volume: &Volume, voxel: [usize; 3]) -> Option<f64> {
        let size = volume.grid.size;
        let values = volume.as_slice();
        let mut sum = 0.0;
        for (offset, parts) in &self.rows {
            let [x, y, z] = std::array::from_fn(|a| voxel[a].wrapping_add_signed(offset[a]));
            if x >= size[0] || parts.len() > size[0] - x || y >= size[1] || z >= size[2] {
                return None;
            }
            let start = (z * size[1] + y) * size[0] + x;
            let row = &values[start..start + parts.len()];
            sum += parts.iter().zip(row).map(|(part, value)| part * f64::from(*value)).sum::<f64>();
        }
        Some(sum / self.total).filter(|mean| mean.is_finite())
    }
}

/// Adds the weighted length of a stretch to the voxels that it covers; voxel i spans i − ½ … i + ½.
fn add_stretch(row: &mut [f64], [low, high]: [f64; 2], weight: f64) {
    let first = (low + 0.5).floor().max(0.0) as usize;
    for (i, part) in row.iter_mut().enumerate().skip(first) {
        let overlap = high.min(i as f64 + 0.5) - low.max(i as f64 - 0.5);
        if overlap <= 0.0 {
            break;
        }
        *part += weight * overlap;
    }
}

/// Returns the voxel with an index.
fn voxel(grid: &Grid, index: usize) -> [usize; 3] {
    let [nx, ny, _] = grid.size;
    [index % nx, index / nx % ny, index / (nx * ny)]
}

/// Returns the mean of the sphere about a point in voxels; `None` where the sphere leaves the image.
fn mean_at(volume: &Volume, point: [f64; 3]) -> Option<f64> {
    let nearest = point.map(f64::round);
    let centre = std::array::from_fn(|a| point[a] - nearest[a]);
    Sphere::new(volume.grid.voxel_mm, centre).mean(volume, nearest.map(|at| at as usize))
}

/// Returns the sphere about the middle of a voxel; `None` where no such sphere lies in the image, or voxels are too small.
fn centred_sphere(grid: &Grid) -> Option<Sphere> {
    let fits = (0..3).all(|a| PEAK_DIAMETER_MM <= grid.size[a] as f64 * grid.voxel_mm[a]);
    let is_coarse = grid.voxel_mm.iter().product::<f64>() >= MIN_VOXEL_MM3;
    (fits && is_coarse).then(|| Sphere::new(grid.voxel_mm, [0.0; 3]))
}

/// Returns the mean of the sphere about the middle of a voxel; `None` where the sphere leaves the image.
pub fn peak_at(volume: &Volume, index: usize) -> Option<f64> {
    centred_sphere(&volume.grid)?.mean(volume, voxel(&volume.grid, index))
}

/// Returns the largest mean of a sphere whose centre lies in one of these voxels; `None` where every such sphere leaves the image,
/// or voxels are smaller than 0.001 mm³.
pub fn peak(volume: &Volume, lesion: &RoiMask) -> Option<Peak> {
    let grid = &volume.grid;
    let sphere = centred_sphere(grid)?;
    let stride = grid.voxel_mm.map(|mm| (START_MM / mm).floor().max(1.0) as usize);
    let is_start = |index: u32| (0..3).all(|a| voxel(grid, index as usize)[a].is_multiple_of(stride[a]));
    let all = || lesion.voxels.iter().map(|(index, _)| *index);
    let strided: Vec<u32> =
        if lesion.voxels.len() > MAX_WHOLE { all().filter(|index| is_start(*index)).collect() } else { Vec::new() };
    let centres = if strided.is_empty() { all().collect() } else { strided };
    let at_centre = |index: &u32| Some((sphere.mean(volume, voxel(grid, *index as usize))?, *index));
    let mut means: Vec<(f64, u32)> = centres.par_iter().filter_map(at_centre).collect();
    means.sort_unstable_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    let mut starts: Vec<(f64, [f64; 3])> = Vec::new();
    for (mean, index) in means {
        let at = voxel(grid, index as usize).map(|i| i as f64);
        let distance_mm = |other: [f64; 3]| (0..3).map(|a| ((at[a] - other[a]) * grid.voxel_mm[a]).powi(2)).sum::<f64>().sqrt();
        if starts.iter().all(|(_, other)| distance_mm(*other) >= 0.5 * RADIUS_MM) {
            starts.push((mean, at));
        }
        if starts.len() == NUM_STARTS {
            break;
        }
    }
    let refined = starts.into_par_iter().map(|start| climb(volume, lesion, start));
    let highest = refined.max_by(|a, b| a.0.total_cmp(&b.0))?;
    Some(Peak { mean: highest.0, centre_mm: grid.mm_from_voxel(highest.1) })
}

/// Returns the largest mean that a search along the axes finds, and its position in voxels.
fn climb(volume: &Volume, lesion: &RoiMask, start: (f64, [f64; 3])) -> (f64, [f64; 3]) {
    let Grid { voxel_mm, size, .. } = &volume.grid;
    let is_inside = |point: [f64; 3]| {
        let [x, y, z] = point.map(f64::round);
        let index = (z * size[1] as f64 + y) * size[0] as f64 + x;
        let is_in_image = [x, y, z].iter().zip(size).all(|(at, size)| *at >= 0.0 && *at < *size as f64);
        is_in_image && lesion.voxels.binary_search_by_key(&(index as u32), |(voxel, _)| *voxel).is_ok()
    };
    let (mut best, mut step_mm) = (start, 0.5 * voxel_mm.iter().copied().fold(START_MM, f64::max));
    while step_mm >= LAST_STEP_MM {
        let ways = (0..3).flat_map(|axis| [-1.0, 1.0].map(|sign| (axis, sign * step_mm / voxel_mm[axis])));
        let moved = ways.map(|(axis, by)| {
            let mut point = best.1;
            point[axis] += by;
            point
        });
        let means = moved.filter(|point| is_inside(*point)).filter_map(|point| Some((mean_at(volume, point)?, point)));
        match means.max_by(|a, b| a.0.total_cmp(&b.0)).filter(|(mean, _)| *mean > best.0) {
            Some(better) => best = better,
            None => step_mm *= 0.5,
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Roi, RoiShape};
    use crate::random::stream;

    /// An image whose voxels have the mean of a function over 4³ points.
    fn image(size: [usize; 3], voxel_mm: [f64; 3], value: impl Fn(Point) -> f64) -> Volume {
        let grid = Grid::centred(size, voxel_mm).unwrap();
        let mut volume = Volume::filled(grid.clone(), 0.0);
        for ((z, y, x), voxel) in volume.values.indexed_iter_mut() {
            let points = (0..64).map(|k| [k % 4, k / 4 % 4, k / 16].map(|i| (f64::from(i) + 0.5) / 4.0 - 0.5));
            let of_point = |[u, v, w]: [f64; 3]| value(grid.mm_from_voxel([x as f64 + u, y as f64 + v, z as f64 + w]));
            *voxel = (points.map(of_point).sum::<f64>() / 64.0) as f32;
        }
        volume
    }

    fn ball(volume: &Volume, radius_mm: f64, centre_mm: Point) -> RoiMask {
        super::super::threshold::at_least_half(&Roi::new("", RoiShape::Sphere { radius_mm }, centre_mm).mask(&volume.grid))
    }

    #[test]
    fn the_sphere_has_a_millilitre() {
        assert!((PEAK_DIAMETER_MM - 12.407).abs() < 1e-4);
        for (voxel_mm, centre) in [([2.0; 3], [0.0; 3]), ([4.07, 4.07, 3.0], [0.31, -0.2, 0.45]), ([0.5, 0.7, 8.0], [0.1; 3])] {
            let sphere = Sphere::new(voxel_mm, centre);
            let volume_mm3 = sphere.total * voxel_mm.iter().product::<f64>();
            assert!((volume_mm3 / 1000.0 - 1.0).abs() < 2e-3, "{volume_mm3}");
            let parts = || {
                sphere
                    .rows
                    .iter()
                    .flat_map(|(offset, parts)| (offset[0]..).zip(parts).map(|(x, part)| ([x, offset[1], offset[2]], *part)))
            };
            assert!(parts().all(|(_, part)| part > 0.0 && part < 1.0 + 1e-9));
            // Its centre of mass is its centre.
            for axis in 0..3 {
                let moment: f64 = parts().map(|(offset, part)| offset[axis] as f64 * part).sum();
                let error_mm = (moment / sphere.total - centre[axis]) * voxel_mm[axis];
                assert!(error_mm.abs() < 0.35, "{error_mm}");
            }
        }
        let num_voxels: usize = Sphere::new([2.0; 3], [0.0; 3]).rows.iter().map(|(_, parts)| parts.len()).sum();
        assert!((200..300).contains(&num_voxels), "{num_voxels}");
    }

    #[test]
    fn a_small_hot_ball_is_diluted_to_a_millilitre_and_a_large_one_is_not() {
        // A ball of radius 5 mm lies wholly in the sphere: 0.5236 of 1 mL. Its centre lies between voxels.
        let centre_mm = [0.4, -0.7, 0.3];
        let distance = |p: Point| (0..3).map(|a| (p[a] - centre_mm[a]).powi(2)).sum::<f64>().sqrt();
        let small = image([40; 3], [1.0; 3], |p| if distance(p) <= 5.0 { 8.0 } else { 0.0 });
        let found = peak(&small, &ball(&small, 5.0, centre_mm)).unwrap();
        let expected = 8.0 * (5.0f64 / RADIUS_MM).powi(3);
        assert!((found.mean / expected - 1.0).abs() < 3e-3, "{} is not {expected}", found.mean);
        assert!(distance(found.centre_mm) < 1.2, "{found:?}");
        let large = image([30; 3], [2.0; 3], |p| if distance(p) <= 10.0 { 8.0 } else { 0.0 });
        let found = peak(&large, &ball(&large, 10.0, centre_mm)).unwrap();
        assert!((found.mean - 8.0).abs() < 1e-6, "{}", found.mean);
    }

    #[test]
    fn the_peak_of_a_gaussian_is_its_mean_over_the_sphere_wherever_it_lies() {
        let sigma: f64 = 5.0;
        for (voxel_mm, centre_mm) in [([1.5; 3], [0.0; 3]), ([1.5; 3], [0.7, -0.6, 0.4]), ([2.0, 2.0, 3.0], [0.9, 1.1, -1.4])] {
            // A mean over the side d of a voxel, and a constant value in it, add d²/12 each to σ².
            let widened = voxel_mm.map(|d| (sigma * sigma + d * d / 6.0).sqrt());
            let at = |p: Point| (0..3).map(|a| sigma / widened[a] * (-0.5 * (p[a] / widened[a]).powi(2)).exp()).product::<f64>();
            let num = 50;
            let middle = |k: i32| ((f64::from(k) + 0.5) / f64::from(num) * 2.0 - 1.0) * RADIUS_MM;
            let points = (0..num * num * num).map(|k| [middle(k % num), middle(k / num % num), middle(k / num / num)]);
            let inside: Vec<f64> = points.filter(|p| p.iter().map(|v| v * v).sum::<f64>() <= RADIUS_MM.powi(2)).map(at).collect();
            let expected = 10.0 * inside.iter().sum::<f64>() / inside.len() as f64;
            let squared = |p: Point| (0..3).map(|a| (p[a] - centre_mm[a]).powi(2)).sum::<f64>();
            let volume = image([26; 3], voxel_mm, |p| 10.0 * (-squared(p) / (2.0 * sigma * sigma)).exp());
            let lesion = ball(&volume, 7.0, centre_mm);
            let found = peak(&volume, &lesion).unwrap();
            assert!((found.mean / expected - 1.0).abs() < 4e-3, "{} is not {expected}", found.mean);
            assert!(squared(found.centre_mm).sqrt() < 0.15, "{found:?}");
            let [nx, ny, _] = volume.grid.size;
            let nearest = volume.grid.voxel_from_mm(centre_mm).map(|at| at.round() as usize);
            assert!(peak_at(&volume, (nearest[2] * ny + nearest[1]) * nx + nearest[0]).unwrap() <= found.mean);
        }
    }

    #[test]
    fn in_a_linear_gradient_the_centre_is_at_the_last_face_of_the_lesion() {
        let volume = image([40, 20, 20], [2.0; 3], |[x, ..]| 50.0 + x);
        let found = peak(&volume, &ball(&volume, 8.0, [0.0; 3])).unwrap();
        // The voxels with at least half in the ball end at x = 8 mm.
        assert!((found.centre_mm[0] - 8.0).abs() < 0.07, "{found:?}");
        assert!((found.mean - (50.0 + found.centre_mm[0])).abs() < 0.06, "{found:?}");
    }

    #[test]
    fn the_search_finds_what_a_fine_lattice_finds_in_noise() {
        let mut random = stream(1, 2);
        let mut volume = Volume::filled(Grid::centred([24; 3], [2.5; 3]).unwrap(), 0.0);
        volume.as_mut_slice().fill_with(|| random.next_u32() as f32 / u32::MAX as f32);
        let lesion = ball(&volume, 6.0, [0.0; 3]);
        let found = peak(&volume, &lesion).unwrap();
        let mut best = 0.0f64;
        for (index, _) in lesion.voxels.iter() {
            let at = voxel(&volume.grid, *index as usize);
            for k in 0..125 {
                let point = std::array::from_fn(|a| at[a] as f64 + 0.2 * f64::from([k % 5, k / 5 % 5, k / 25][a]) - 0.4);
                best = best.max(mean_at(&volume, point).unwrap());
            }
        }
        assert!(found.mean >= best - 1e-3 * best && found.mean < 1.02 * best, "{} {best}", found.mean);
    }

    #[test]
    fn a_sphere_that_leaves_the_image_has_no_mean() {
        let volume = Volume::filled(Grid::centred([20, 20, 3], [2.0; 3]).unwrap(), 1.0);
        assert_eq!(peak(&volume, &ball(&volume, 6.0, [0.0; 3])), None);
        let tall = Volume::filled(Grid::centred([20, 20, 8], [2.0; 3]).unwrap(), 1.0);
        let found = peak(&tall, &ball(&tall, 6.0, [0.0; 3])).unwrap();
        assert!((found.mean - 1.0).abs() < 1e-12);
        let mut broken = tall;
        broken.values[(4, 10, 10)] = f32::NAN;
        assert_eq!(peak(&broken, &ball(&broken, 2.0, [0.0; 3])), None);
    }
}
