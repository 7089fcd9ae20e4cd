//! A regular grid of voxels.

use std::ops::RangeInclusive;

use super::Point;
use crate::coded::coded;

/// Largest number of voxels that a grid may have (2³¹: an index fits in 32 bits, and the values in 8 GiB).
const MAX_VOXELS: usize = 1 << 31;

/// Smallest and largest length of voxels and scanners, mm: a nanometre and a kilometre. Between them positions along a line in
/// double precision distinguish every voxel face from the next.
pub const LENGTHS_MM: RangeInclusive<f64> = 1e-6..=1e6;

/// Farthest from the world's origin that a grid may begin, mm.
const MAX_ORIGIN_MM: f64 = 1e9;

/// A regular grid of voxels in world coordinates. All triples are `[x, y, z]`.
///
/// ```
/// use tomoscope_base::geometry::{Grid, GridError};
///
/// let grid = Grid::centred([3, 3, 2], [2.0, 2.0, 4.0])?;
/// assert_eq!(grid.num_voxels(), 18);
/// // The middle of the first voxel, and a place in voxels.
/// assert_eq!(grid.mm_from_voxel([0.0; 3]), [-2.0, -2.0, -2.0]);
/// assert_eq!(grid.voxel_from_mm([2.0, 0.0, 2.0]), [2.0, 1.0, 1.0]);
/// # Ok::<(), GridError>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct Grid {
    /// Number of voxels along x, y, z.
    pub size: [usize; 3],
    /// Voxel pitch along x, y, z in mm.
    pub voxel_mm: [f64; 3],
    /// Centre of voxel (0, 0, 0) in mm.
    pub origin_mm: Point,
}

/// Unchecked fields of a grid.
#[derive(serde::Deserialize)]
struct Unchecked {
    size: [usize; 3],
    voxel_mm: [f64; 3],
    origin_mm: Point,
}

impl TryFrom<Unchecked> for Grid {
    type Error = GridError;

    fn try_from(fields: Unchecked) -> Result<Self, GridError> {
        Grid::new(fields.size, fields.voxel_mm, fields.origin_mm)
    }
}

/// Reason for which a grid is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GridError {
    /// A side is zero or the product is too large.
    #[error("invalid image size {0} × {1} × {2} voxels: each side must be at least 1 and the total at most 2³¹")]
    Size(usize, usize, usize),
    /// A pitch is not a positive length, or out of range.
    #[error("invalid voxel size {0:?} × {1:?} × {2:?} mm: each side must be a positive length in mm, from 0.000001 to 1000000")]
    Voxel(f64, f64, f64),
    /// The origin is not a number, or out of range.
    #[error("invalid position of the first voxel ({0}, {1}, {2}) mm: each must be a number of at most 10⁹ mm")]
    Origin(f64, f64, f64),
}

coded!(GridError = "grid");

impl Grid {
    /// Returns a checked grid; `origin_mm` is the centre of voxel (0, 0, 0).
    ///
    /// # Errors
    /// Zero or huge sizes, pitches that are not within [`LENGTHS_MM`], an origin that is not finite or too far away.
    pub fn new(size: [usize; 3], voxel_mm: [f64; 3], origin_mm: Point) -> Result<Self, GridError> {
        let total = size[0].checked_mul(size[1]).and_then(|n| n.checked_mul(size[2]));
        if !total.is_some_and(|n| (1..=MAX_VOXELS).contains(&n)) {
            return Err(GridError::Size(size[0], size[1], size[2]));
        }
        if !voxel_mm.iter().all(|d| LENGTHS_MM.contains(d)) {
            return Err(GridError::Voxel(voxel_mm[0], voxel_mm[1], voxel_mm[2]));
        }
        if !origin_mm.iter().all(|o| o.abs() <= MAX_ORIGIN_MM) {
            return Err(GridError::Origin(origin_mm[0], origin_mm[1], origin_mm[2]));
        }
        Ok(Self { size, voxel_mm, origin_mm })
    }

    /// Returns a grid whose faces lie symmetrically about the world's origin (±n·d/2).
    ///
    /// # Errors
    /// As [`Grid::new`].
    pub fn centred(size: [usize; 3], voxel_mm: [f64; 3]) -> Result<Self, GridError> {
        let origin = std::array::from_fn(|a| -0.5 * (size[a] as f64 - 1.0) * voxel_mm[a]);
        Self::new(size, voxel_mm, origin)
    }

    /// Returns the total number of voxels.
    pub fn num_voxels(&self) -> usize {
        self.size.iter().product()
    }

    /// Returns the array shape `[z, y, x]`.
    pub fn shape(&self) -> [usize; 3] {
        [self.size[2], self.size[1], self.size[0]]
    }

    /// Returns the continuous voxel coordinates of a point: voxel i spans i − ½ … i + ½.
    pub fn voxel_from_mm(&self, point: Point) -> [f64; 3] {
        std::array::from_fn(|a| (point[a] - self.origin_mm[a]) / self.voxel_mm[a])
    }

    /// Returns the world position of continuous voxel coordinates.
    pub fn mm_from_voxel(&self, voxel: [f64; 3]) -> Point {
        std::array::from_fn(|a| self.origin_mm[a] + voxel[a] * self.voxel_mm[a])
    }

    /// Returns the value of a function of the voxels at a point, linear between the voxel centres around it and constant in the
    /// outer half voxels; `None` outside the voxels.
    pub fn interpolated_mm(&self, point: Point, value: impl Fn([usize; 3]) -> f64) -> Option<f64> {
        let (at, size) = (self.voxel_from_mm(point), self.size);
        if !(0..3).all(|a| (-0.5..=size[a] as f64 - 0.5).contains(&at[a])) {
            return None;
        }
        let inside: [f64; 3] = std::array::from_fn(|a| at[a].clamp(0.0, size[a] as f64 - 1.0));
        let low = inside.map(|at| at.floor() as usize);
        let corner = |corner: usize| {
            let up = [corner & 1, corner >> 1 & 1, corner >> 2];
            let weight = |a: usize| {
                let part = inside[a] - low[a] as f64;
                if up[a] == 1 { part } else { 1.0 - part }
            };
            (0..3).map(weight).product::<f64>() * value(std::array::from_fn(|a| (low[a] + up[a]).min(size[a] - 1)))
        };
        Some((0..8).map(corner).sum())
    }

    /// Returns the lower and upper outer faces along an axis (0 = x, 1 = y, 2 = z) in mm.
    pub fn extent_mm(&self, axis: usize) -> [f64; 2] {
        let low = self.origin_mm[axis] - 0.5 * self.voxel_mm[axis];
        [low, low + self.size[axis] as f64 * self.voxel_mm[axis]]
    }

    /// Returns the volume of a voxel in millilitres.
    pub fn voxel_ml(&self) -> f64 {
        self.voxel_mm.iter().product::<f64>() * 1e-3
    }

    /// Returns the radius of the largest circle about the axis that stays inside the grid's faces in x and y, in mm; zero when
    /// the axis lies outside.
    pub fn inscribed_radius_mm(&self) -> f64 {
        (0..2)
            .flat_map(|a| {
                let [low, high] = self.extent_mm(a);
                [-low, high]
            })
            .fold(f64::INFINITY, f64::min)
            .max(0.0)
    }

    /// Returns half the shorter side in x and y, mm: the inscribed circle if the grid had its middle on the axis.
    pub fn half_side_mm(&self) -> f64 {
        let half = |axis: usize| 0.5 * self.size[axis] as f64 * self.voxel_mm[axis];
        half(0).min(half(1))
    }

    /// Returns the distance of the grid's middle from the axis, mm, if it is more than a voxel along x or y. (The axis of many files
    /// is half a voxel from the middle of the grid.)
    pub fn off_axis_mm(&self) -> Option<f64> {
        let middle = [0, 1].map(|axis| self.extent_mm(axis).into_iter().sum::<f64>() / 2.0);
        let is_off = (0..2).any(|axis| middle[axis].abs() > self.voxel_mm[axis]);
        is_off.then(|| middle[0].hypot(middle[1]))
    }

    /// Returns the radius of the field of view if none is set, mm: that of the inscribed circle; on a grid off the axis, which that
    /// circle would cut, the scanner's.
    pub fn field_of_view_mm(&self, scanner_mm: f64) -> f64 {
        let inscribed_mm = self.inscribed_radius_mm();
        match self.off_axis_mm() {
            Some(_) => scanner_mm.min(self.farthest_from_axis_mm()).max(inscribed_mm),
            None => inscribed_mm,
        }
    }

    /// Returns the distance of the grid's farthest corner from the axis, mm.
    pub fn farthest_from_axis_mm(&self) -> f64 {
        let farthest = |axis: usize| self.extent_mm(axis).into_iter().fold(0.0, |farthest: f64, mm| farthest.max(mm.abs()));
        farthest(0).hypot(farthest(1))
    }

    /// Returns the grid as it is written in sentences.
    pub fn text(&self) -> String {
        let ([nx, ny, nz], [dx, dy, dz], [x, y, z]) = (self.size, self.voxel_mm, self.origin_mm);
        format!("{nx} × {ny} × {nz} voxels of {dx:.4} × {dy:.4} × {dz:.4} mm, the first at ({x:.3}, {y:.3}, {z:.3}) mm")
    }

    /// Returns true if two grids are the same to within 1e-3 of a voxel everywhere.
    pub fn same_as(&self, other: &Grid) -> bool {
        self.size == other.size
            && (0..3).all(|a| {
                let tolerance = 1e-3 * self.voxel_mm[a];
                let last = (self.size[a] - 1) as f64;
                let first_shift = self.origin_mm[a] - other.origin_mm[a];
                let last_shift = first_shift + last * (self.voxel_mm[a] - other.voxel_mm[a]);
                first_shift.abs() <= tolerance && last_shift.abs() <= tolerance
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_out_of_all_proportion_are_refused() {
        for voxel in [1e-7, 1e-300, f64::MIN_POSITIVE, 1.1e6, 1e300, f64::INFINITY, f64::NAN, 0.0, -1.0] {
            let error = Grid::new([4, 4, 4], [1.0, voxel, 1.0], [0.0; 3]).unwrap_err();
            assert!(matches!(error, GridError::Voxel(..)), "{error}");
        }
        for origin in [1.1e9, -1e300, f64::NAN, f64::INFINITY] {
            assert!(Grid::new([4, 4, 4], [1.0; 3], [0.0, origin, 0.0]).is_err(), "{origin}");
        }
        assert!(Grid::new([4, 4, 4], [1e-6, 1.0, 1e6], [-1e9, 0.0, 1e9]).is_ok());
    }

    #[test]
    fn a_grid_off_the_axis_has_the_field_of_view_of_the_scanner() {
        let mut grid = Grid::centred([30, 40, 4], [2.0; 3]).unwrap();
        assert_eq!((grid.off_axis_mm(), grid.field_of_view_mm(50.0)), (None, 30.0));
        assert_eq!(grid.half_side_mm(), grid.inscribed_radius_mm());
        // The axis in the middle of a voxel, as files without an offset.
        grid.origin_mm[0] += 1.0;
        assert_eq!((grid.off_axis_mm(), grid.field_of_view_mm(50.0)), (None, 29.0));
        grid.origin_mm[0] += 19.0;
        assert_eq!((grid.off_axis_mm(), grid.field_of_view_mm(45.0)), (Some(20.0), 45.0));
        // No farther than its corners, no less than before.
        assert_eq!(grid.field_of_view_mm(1e3), 50f64.hypot(40.0));
        assert_eq!(grid.field_of_view_mm(5.0), 10.0);
    }
}
