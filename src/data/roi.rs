//! Regions of interest: shapes in mm and the voxels they cover.

use std::sync::Arc;

use crate::geometry::{Grid, Point};

/// The plane that a flat ROI lies in.
///
/// The window has these names, files the same in lower case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
pub enum RoiPlane {
    /// Normal to z.
    #[default]
    Transaxial,
    /// Normal to y.
    Coronal,
    /// Normal to x.
    Sagittal,
}

impl RoiPlane {
    /// Its name for people.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// In-plane axes (horizontal, vertical) and the normal axis; 0 = x, 1 = y, 2 = z.
    pub fn axes(self) -> ([usize; 2], usize) {
        match self {
            RoiPlane::Transaxial => ([0, 1], 2),
            RoiPlane::Coronal => ([0, 2], 1),
            RoiPlane::Sagittal => ([1, 2], 0),
        }
    }
}

/// Shape and size of a ROI about its centre.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RoiShape {
    /// A disc in the slice nearest to the centre; edge voxels count by the fraction of their area inside.
    Circle {
        /// Radius, mm.
        radius_mm: f64,
        /// The plane it lies in.
        plane: RoiPlane,
    },
    /// A ball; edge voxels count by the fraction of their volume inside.
    Sphere {
        /// Radius, mm.
        radius_mm: f64,
    },
    /// A rectangle in the slice nearest to the centre; edge voxels count by the fraction of their area inside.
    Rectangle {
        /// Full sides along the plane's horizontal and vertical axis, mm.
        size_mm: [f64; 2],
        /// The plane it lies in.
        plane: RoiPlane,
    },
}

/// What a ROI stands for in noise and contrast.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize, strum::IntoStaticStr, strum::VariantArray,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RoiRole {
    /// Only its own numbers.
    #[default]
    None,
    /// Uniform background: gives the noise-to-signal ratio and the reference of contrast.
    Background,
    /// Hotter than the background.
    Hot,
    /// Without activity.
    Cold,
}

impl RoiRole {
    /// Its name in files and in the window.
    pub fn name(self) -> &'static str {
        self.into()
    }
}

/// A named region of interest.
#[derive(Clone, Debug, PartialEq)]
pub struct Roi {
    /// Name in tables and files.
    pub name: String,
    /// Shape and size.
    pub shape: RoiShape,
    /// Centre, world mm.
    pub centre_mm: Point,
    /// What it stands for.
    pub role: RoiRole,
    /// True ratio of its activity to the background's (hot ROIs), for contrast recovery; see [`checked_activity_ratio`].
    /// `None` until somebody who knows it has said so.
    pub activity_ratio: Option<f64>,
    /// Colour of its outline and curves: red, green, blue. `None` = it is given one when it is shown.
    pub colour: Option<[u8; 3]>,
}

/// Why a number cannot be the true ratio of a hot ROI's activity to the background's.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
pub enum ActivityRatioError {
    /// Zero, negative, or not a number.
    #[error(
        "a true activity ratio must be a positive number, found {0}: it is the region's activity over the background's (a cold region needs none)"
    )]
    NotPositive(f64),
    /// As active as the background.
    #[error(
        "a true activity ratio of 1 leaves no contrast to recover: enter the region's activity over the background's, or give it no role"
    )]
    NoContrast,
}

/// A true ratio of activities, if it can be one.
///
/// # Errors
/// It is not positive and finite, or 1.
pub fn checked_activity_ratio(ratio: f64) -> Result<f64, ActivityRatioError> {
    match ratio {
        1.0 => Err(ActivityRatioError::NoContrast),
        _ if ratio.is_finite() && ratio > 0.0 => Ok(ratio),
        _ => Err(ActivityRatioError::NotPositive(ratio)),
    }
}

/// The voxels of a ROI on one grid, with the fraction of each that lies inside. Clones share them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RoiMask {
    /// Voxel index in a `[z, y, x]` volume and weight in (0, 1].
    pub voxels: Arc<[(u32, f32)]>,
}

/// Weighted sums over a ROI: all that its statistics need.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoiSums {
    /// Σ w.
    pub weight: f64,
    /// Σ w v.
    pub sum: f64,
    /// Σ w v².
    pub sum_of_squares: f64,
    /// Smallest value of any voxel in it.
    pub min: f32,
    /// Largest value of any voxel in it.
    pub max: f32,
    /// Number of voxels touched.
    pub num_voxels: usize,
}

/// Points per voxel side at which a shape is sampled for the inside fraction of an edge voxel.
const SUBSAMPLES: usize = 8;

impl Roi {
    /// Whether it has the shape and the centre of another, and so covers the same voxels.
    pub fn covers_same(&self, other: &Roi) -> bool {
        self.shape == other.shape && self.centre_mm == other.centre_mm
    }

    /// The voxels of `grid` that the ROI covers. Empty where it lies outside the grid.
    pub fn mask(&self, grid: &Grid) -> RoiMask {
        let (half, flat) = self.half_extent_mm();
        let mut low = [0usize; 3];
        let mut high = [0usize; 3];
        let centre = grid.voxel_from_mm(self.centre_mm);
        for a in 0..3 {
            let last = grid.size[a] as f64 - 1.0;
            let (from, to) = if flat == Some(a) {
                let slice = centre[a].round();
                (slice, slice)
            } else {
                let reach = half[a] / grid.voxel_mm[a];
                ((centre[a] - reach).round(), (centre[a] + reach).round())
            };
            if !(from.is_finite() && to.is_finite()) || to < 0.0 || from > last {
                return RoiMask::default();
            }
            low[a] = from.max(0.0) as usize;
            high[a] = to.min(last) as usize;
        }
        let mut voxels = Vec::new();
        for z in low[2]..=high[2] {
            for y in low[1]..=high[1] {
                for x in low[0]..=high[0] {
                    let weight = self.inside_fraction(grid, [x, y, z], flat);
                    if weight > 0.0 {
                        let index = (z * grid.size[1] + y) * grid.size[0] + x;
                        voxels.push((index as u32, weight as f32));
                    }
                }
            }
        }
        RoiMask { voxels: voxels.into() }
    }

    /// Half of the bounding box along x, y, z, and the axis along which the shape is flat.
    fn half_extent_mm(&self) -> ([f64; 3], Option<usize>) {
        match self.shape {
            RoiShape::Sphere { radius_mm } => ([radius_mm; 3], None),
            RoiShape::Circle { radius_mm, plane } => ([radius_mm; 3], Some(plane.axes().1)),
            RoiShape::Rectangle { size_mm, plane } => {
                let (axes, normal) = plane.axes();
                let mut half = [0.0; 3];
                half[axes[0]] = 0.5 * size_mm[0];
                half[axes[1]] = 0.5 * size_mm[1];
                (half, Some(normal))
            }
        }
    }

    /// Fraction of a voxel that lies inside, from a regular set of points in it.
    fn inside_fraction(&self, grid: &Grid, voxel: [usize; 3], flat: Option<usize>) -> f64 {
        let centre = grid.mm_from_voxel(voxel.map(|i| i as f64));
        let offset: [f64; 3] = std::array::from_fn(|a| centre[a] - self.centre_mm[a]);
        if let Some(is_inside) = self.contains_voxel(grid, offset, flat) {
            return f64::from(u8::from(is_inside));
        }
        let points = |a: usize| if flat == Some(a) { 1 } else { SUBSAMPLES };
        let position = |a: usize, k: usize| {
            if flat == Some(a) {
                return 0.0;
            }
            offset[a] + grid.voxel_mm[a] * ((k as f64 + 0.5) / SUBSAMPLES as f64 - 0.5)
        };
        let mut inside = 0usize;
        for k in 0..points(2) {
            for j in 0..points(1) {
                for i in 0..points(0) {
                    inside += usize::from(self.contains([position(0, i), position(1, j), position(2, k)]));
                }
            }
        }
        inside as f64 / (points(0) * points(1) * points(2)) as f64
    }

    /// Whether all points of a voxel (given by its centre relative to the ROI's) lie inside, or none; `None` where only
    /// some may. The shapes are symmetric about their centre and convex, so that its nearest and its farthest point tell.
    fn contains_voxel(&self, grid: &Grid, offset: Point, flat: Option<usize>) -> Option<bool> {
        let reach = |a: usize| {
            let half = 0.5 * grid.voxel_mm[a];
            if flat == Some(a) { [0.0; 2] } else { [(offset[a].abs() - half).max(0.0), offset[a].abs() + half] }
        };
        if !self.contains(std::array::from_fn(|a| reach(a)[0])) {
            return Some(false);
        }
        self.contains(std::array::from_fn(|a| reach(a)[1])).then_some(true)
    }

    /// Whether a point, given relative to the centre, lies inside.
    fn contains(&self, offset: Point) -> bool {
        match self.shape {
            RoiShape::Sphere { radius_mm } | RoiShape::Circle { radius_mm, .. } => {
                offset.iter().map(|v| v * v).sum::<f64>() <= radius_mm * radius_mm
            }
            RoiShape::Rectangle { size_mm, plane } => {
                let (axes, _) = plane.axes();
                offset[axes[0]].abs() <= 0.5 * size_mm[0] && offset[axes[1]].abs() <= 0.5 * size_mm[1]
            }
        }
    }
}

impl RoiMask {
    /// Weighted sums of a volume's values (`[z, y, x]` order).
    pub fn sums(&self, values: &[f32]) -> RoiSums {
        self.sums_with(|voxel| values.get(voxel).copied())
    }

    /// Weighted sums of the values that `value` gives for voxel indices of a `[z, y, x]` volume; voxels without one are
    /// left out.
    pub fn sums_with(&self, value: impl Fn(usize) -> Option<f32>) -> RoiSums {
        let mut sums = RoiSums {
            weight: 0.0,
            sum: 0.0,
            sum_of_squares: 0.0,
            min: f32::INFINITY,
            max: f32::NEG_INFINITY,
            num_voxels: self.voxels.len(),
        };
        for &(index, weight) in self.voxels.iter() {
            let Some(value) = value(index as usize) else { continue };
            let (w, v) = (f64::from(weight), f64::from(value));
            sums.weight += w;
            sums.sum += w * v;
            sums.sum_of_squares += w * v * v;
            sums.min = sums.min.min(value);
            sums.max = sums.max.max(value);
        }
        sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_positive_and_not_one() {
        assert_eq!([0.25, 4.0].map(checked_activity_ratio), [Ok(0.25), Ok(4.0)]);
        assert_eq!(checked_activity_ratio(1.0), Err(ActivityRatioError::NoContrast));
        for ratio in [0.0, -2.0, f64::INFINITY, f64::NAN] {
            assert!(matches!(checked_activity_ratio(ratio), Err(ActivityRatioError::NotPositive(_))), "{ratio}");
        }
    }

    #[test]
    fn voxels_wholly_inside_or_outside_need_no_points() {
        let grid = Grid::centred([24, 22, 20], [1.3, 1.7, 2.1]).unwrap();
        let plane = RoiPlane::Coronal;
        for shape in [
            RoiShape::Sphere { radius_mm: 8.3 },
            RoiShape::Circle { radius_mm: 7.1, plane },
            RoiShape::Rectangle { size_mm: [9.0, 11.5], plane },
        ] {
            let roi = Roi {
                name: String::new(),
                shape,
                centre_mm: [1.1, -0.7, 0.4],
                role: RoiRole::None,
                activity_ratio: None,
                colour: None,
            };
            let mask = roi.mask(&grid);
            let flat = roi.half_extent_mm().1;
            let weight = |x: usize, y: usize, z: usize| {
                let index = ((z * 22 + y) * 24 + x) as u32;
                mask.voxels.iter().find(|(at, _)| *at == index).map_or(0.0, |(_, weight)| *weight)
            };
            for (z, y, x) in (0..20).flat_map(|z| (0..22).flat_map(move |y| (0..24).map(move |x| (z, y, x)))) {
                let centre = grid.mm_from_voxel([x as f64, y as f64, z as f64]);
                let offset: Point = std::array::from_fn(|a| if flat == Some(a) { 0.0 } else { centre[a] - roi.centre_mm[a] });
                let in_slice = flat.is_none() || y == 10;
                match roi.contains_voxel(&grid, offset, flat) {
                    Some(is_inside) if in_slice => assert_eq!(weight(x, y, z), f32::from(u8::from(is_inside)), "{x} {y} {z}"),
                    None if in_slice => {}
                    _ => assert_eq!(weight(x, y, z), 0.0),
                }
            }
            // The mask has the size of the shape.
            let size: f64 = mask.voxels.iter().map(|(_, w)| f64::from(*w)).sum();
            let expected = match shape {
                RoiShape::Sphere { radius_mm } => 4.0 / 3.0 * std::f64::consts::PI * radius_mm.powi(3) / (1.3 * 1.7 * 2.1),
                RoiShape::Circle { radius_mm, .. } => std::f64::consts::PI * radius_mm.powi(2) / (1.3 * 2.1),
                RoiShape::Rectangle { size_mm, .. } => size_mm[0] * size_mm[1] / (1.3 * 2.1),
            };
            // Straight edges may all miss or all take a row of the eight points of a voxel side.
            assert!((size / expected - 1.0).abs() < 0.05, "{shape:?}: {size} is not {expected}");
        }
    }
}
