//! Widths of small sources in images: points at several distances from the axis, as Lage et al. 2009 measured them, and lines in
//! a warm cylinder, with the noise of its background.
//!
//! The algorithm keeps activity non-negative and would sharpen a source in air without end: all sources lie in a warm background.
//! A width is the FWHM of the Gaussian on a constant that best fits a profile through the source. The points of the profile are
//! sums over the voxels near it across.

use std::f64::consts::PI;

use crate::geometry::Point;
use crate::measure::{ProfilePoint, peak_width};
use crate::phantom::{Material, Part, Phantom, Solid};
use crate::reproduce::prelude::*;

/// Distances of the points from the axis, mm: the first and the last are those of the paper.
pub const POINTS_MM: [f64; 4] = [0.0, 10.0, 20.0, 35.0];
pub const POINT_DIAMETER_MM: f64 = 0.25;
/// A point has the activity of this volume of the warm background, mm³.
pub const POINT_MM3: f64 = 200.0;
/// Half of the sides of the warm bar about the points across, and how far it reaches beyond them along, mm.
const BAR_MM: [f64; 2] = [8.0, 6.0];

/// Distance of the second line from the axis, mm; the first lies on it.
pub const FAR_LINE_MM: f64 = 14.0;
pub const LINE_DIAMETER_MM: f64 = 0.5;
/// A line has the activity of this cross-section of the warm background, mm².
pub const LINE_MM2: f64 = 20.0;
/// Radius and half the length of the warm cylinder about the lines, mm.
const CYLINDER_MM: [f64; 2] = [21.0, 22.0];
/// The noise is measured farther than this from a line, and nearer than this to the axis, mm.
const WARM_MM: [f64; 2] = [5.0, 18.0];

/// Reach of a profile along its axis and across it, from its source, mm.
const PROFILE_MM: [f64; 2] = [4.5, 1.6];

/// FWHM of a point, mm; `None` where no Gaussian fits.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointWidths {
    pub radial_mm: Option<f64>,
    pub tangential_mm: Option<f64>,
    pub axial_mm: Option<f64>,
}

/// FWHM of the lines, mm, and the noise of the background.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LineWidths {
    /// Width of the line on the axis: mean of both directions.
    pub on_axis_mm: Option<f64>,
    /// Width of the other line.
    pub radial_mm: Option<f64>,
    pub tangential_mm: Option<f64>,
    /// Standard deviation of two images from each other over √2, in % of the mean.
    pub noise_percent: f64,
}

fn phantom(title: &str, parts: impl IntoIterator<Item = (Solid, f64)>) -> Phantom {
    let part = |(solid, activity)| Part { solid, material: Material { activity, mu_per_mm: 0.0 } };
    let parts = parts.into_iter().map(part).collect();
    Phantom { name: String::new(), title: title.into(), parts, rois: Vec::new(), notices: Vec::new(), size: 1.0 }
}

/// Returns points along x, at the centre of the scanner, in a warm bar.
pub fn points() -> Phantom {
    let [half, beyond] = BAR_MM;
    let far = POINTS_MM[POINTS_MM.len() - 1];
    let bar = Solid::cuboid([-half, -half, -half], [far + beyond, half, half]);
    let radius_mm = 0.5 * POINT_DIAMETER_MM;
    let activity = POINT_MM3 / (4.0 / 3.0 * PI * radius_mm.powi(3));
    let points = POINTS_MM.map(|x| (Solid::ball([x, 0.0, 0.0], radius_mm), activity));
    phantom("Points in a warm bar", std::iter::once((bar, 1.0)).chain(points))
}

/// Returns lines along z in a warm cylinder.
pub fn lines() -> Phantom {
    let [radius_mm, half] = CYLINDER_MM;
    let warm = (Solid::cylinder([0.0; 2], radius_mm, [-half, half]), 1.0);
    let line_radius_mm = 0.5 * LINE_DIAMETER_MM;
    let activity = LINE_MM2 / (PI * line_radius_mm.powi(2));
    let line = |x| (Solid::cylinder([x, 0.0], line_radius_mm, [-half, half]), activity);
    phantom("Lines in a warm cylinder", [warm, line(0.0), line(FAR_LINE_MM)])
}

/// Returns the widths of all points in an image.
pub fn point_widths(image: &Volume) -> Vec<PointWidths> {
    let of_point = |x: f64| {
        let [radial_mm, tangential_mm, axial_mm] = [0, 1, 2].map(|axis| width_mm(image, [x, 0.0, 0.0], axis, None));
        PointWidths { radial_mm, tangential_mm, axial_mm }
    };
    POINTS_MM.into_iter().map(of_point).collect()
}

/// Returns the widths of the lines in the mean of two images of different counts, over the middle third of the slices, and the
/// noise of one.
pub fn line_widths(images: [&Volume; 2]) -> LineWidths {
    let grid = &images[0].grid;
    let third_mm = grid.size[2] as f64 * grid.voxel_mm[2] / 6.0;
    let mut mean = images[0].clone();
    mean.as_mut_slice().iter_mut().zip(images[1].as_slice()).for_each(|(mean, other)| *mean = 0.5 * (*mean + other));
    let width = |x, axis| width_mm(&mean, [x, 0.0, 0.0], axis, Some(third_mm));
    let (mut num, mut sum, mut squares) = (0.0f64, 0.0, 0.0);
    let [from_line_mm, from_axis_mm] = WARM_MM;
    for ((k, j, i), mean) in mean.values.indexed_iter() {
        let [x, y, z] = grid.mm_from_voxel([i as f64, j as f64, k as f64]);
        let is_warm = [0.0, FAR_LINE_MM].iter().all(|line| (x - line).hypot(y) > from_line_mm) && x.hypot(y) < from_axis_mm;
        if is_warm && z.abs() < third_mm {
            num += 1.0;
            sum += f64::from(*mean);
            squares += (f64::from(images[0].values[[k, j, i]]) - f64::from(images[1].values[[k, j, i]])).powi(2);
        }
    }
    LineWidths {
        on_axis_mm: width(0.0, 0).zip(width(0.0, 1)).map(|(one, other)| 0.5 * (one + other)),
        radial_mm: width(FAR_LINE_MM, 0),
        tangential_mm: width(FAR_LINE_MM, 1),
        noise_percent: 100.0 * (0.5 * squares / num).sqrt() / (sum / num),
    }
}

/// Returns the FWHM along an axis of the source nearest to a position. The profile sums over its usual reach across, or over
/// `z_mm` to either side along z.
fn width_mm(image: &Volume, position_mm: Point, axis: usize, z_mm: Option<f64>) -> Option<f64> {
    let grid = &image.grid;
    let [along_mm, across_mm] = PROFILE_MM;
    let middle = grid.voxel_from_mm(position_mm).map(f64::round);
    let reach = [0, 1, 2].map(|a| {
        let reach_mm = if a == axis { along_mm } else { z_mm.filter(|_| a == 2).unwrap_or(across_mm) };
        (reach_mm / grid.voxel_mm[a]).floor()
    });
    let mut sums = vec![0.0; 2 * reach[axis] as usize + 1];
    for ((k, j, i), value) in image.values.indexed_iter() {
        let offset: Point = std::array::from_fn(|a| [i, j, k][a] as f64 - middle[a]);
        if (0..3).all(|a| offset[a].abs() <= reach[a]) {
            sums[(offset[axis] + reach[axis]) as usize] += f64::from(*value);
        }
    }
    let voxel_mm = grid.voxel_mm[axis];
    let point = |(index, value)| ProfilePoint { distance_mm: index as f64 * voxel_mm, value };
    let profile: Vec<ProfilePoint> = sums.into_iter().enumerate().map(point).collect();
    peak_width(&profile, voxel_mm).ok().map(|width| width.fwhm_mm)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;
    use crate::random::stream;

    /// An image of something warm and of Gaussian sources, with some noise.
    fn image(seed: u64, noise: f64, sources: &[([f64; 3], [f64; 3])]) -> Volume {
        let grid = Grid::centred([117, 117, 59], [0.74, 0.74, 0.76]).unwrap();
        let mut image = Volume::filled(grid.clone(), 0.0);
        let mut random = stream(seed, 0);
        for ((k, j, i), value) in image.values.indexed_iter_mut() {
            let position_mm = grid.mm_from_voxel([i as f64, j as f64, k as f64]);
            let of_source = |(middle, fwhm): &([f64; 3], [f64; 3])| -> f64 {
                let squares: f64 = (0..3).map(|a| ((position_mm[a] - middle[a]) / fwhm[a]).powi(2)).sum();
                20.0 * (-4.0 * 2f64.ln() * squares).exp()
            };
            let uniform = rand_philox::u32_to_unit_f64(random.next_u32());
            *value = (1.0 + sources.iter().map(of_source).sum::<f64>() + noise * 12f64.sqrt() * (uniform - 0.5)) as f32;
        }
        image
    }

    #[test]
    fn points_have_the_widths_that_they_were_made_with() {
        let expected = [[1.5, 1.6, 2.3], [1.6, 1.9, 2.6], [1.7, 2.1, 2.9], [1.9, 2.5, 3.4]];
        let sources: Vec<_> = POINTS_MM.iter().zip(expected).map(|(x, fwhm)| ([*x, 0.0, 0.0], fwhm)).collect();
        let found = point_widths(&image(1, 0.05, &sources));
        for (found, expected) in found.iter().zip(expected) {
            let widths = [found.radial_mm, found.tangential_mm, found.axial_mm].map(Option::unwrap);
            assert!(widths.iter().zip(expected).all(|(found, expected)| (found / expected - 1.0).abs() < 0.03), "{found:?}");
        }
        assert!(point_widths(&image(1, 0.05, &[])).iter().all(|point| point.radial_mm.is_none()));
    }

    #[test]
    fn lines_have_their_widths_and_the_noise_is_that_beside_them() {
        const ANY: f64 = 1e9;
        let sources = [([0.0; 3], [1.8, 2.0, ANY]), ([FAR_LINE_MM, 0.0, 0.0], [1.7, 2.2, ANY])];
        let images = [1, 2].map(|seed| image(seed, 0.1, &sources));
        let found = line_widths([&images[0], &images[1]]);
        let widths = [found.on_axis_mm, found.radial_mm, found.tangential_mm].map(Option::unwrap);
        assert!(widths.iter().zip([1.9, 1.7, 2.2]).all(|(found, expected)| (found / expected - 1.0).abs() < 0.02), "{found:?}");
        assert!((found.noise_percent - 10.0).abs() < 0.3, "{found:?}");
    }

    #[test]
    fn phantoms_have_their_activity() {
        let (points, lines) = (points(), lines());
        assert_eq!((points.parts.len(), lines.parts.len()), (5, 3));
        let ball_mm3 = PI / 6.0 * POINT_DIAMETER_MM.powi(3);
        assert!((points.material_at([35.0, 0.0, 0.0]).activity * ball_mm3 - POINT_MM3).abs() < 1e-9);
        let disc_mm2 = PI / 4.0 * LINE_DIAMETER_MM.powi(2);
        assert!((lines.material_at([14.0, 0.0, 3.0]).activity * disc_mm2 - LINE_MM2).abs() < 1e-9);
        assert_eq!([points.material_at([5.0, 1.0, 2.0]).activity, lines.material_at([5.0, 1.0, 2.0]).activity], [1.0; 2]);
    }
}
