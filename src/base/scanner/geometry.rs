//! The sampling of a michelogram: which line of response belongs to which bin.

use std::f64::consts::PI;

use super::catalogue::Scanner;
use crate::coded::coded;
use crate::geometry::{Grid, GridError, LENGTHS_MM, Line};

/// Largest number of bins that a michelogram may have (2³²: 16 GiB of counts).
const MAX_BINS: u64 = 1 << 32;

/// Map of a tangential position to the signed distance s from the axis. With i = index − floor(num_tangential / 2):
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum InPlane {
    /// Equidistant bins, s = i·bin_mm (arc-corrected data).
    ArcCorrected {
        /// Distance between bins, mm.
        bin_mm: f64,
    },
    /// The detectors' own positions, s = R sin(i π / num_detectors). Every line of a view has the view's angle, as in STIR.
    Detectors,
    /// The same, with each line between the very detectors that see it: the angle of odd i is π / num_detectors less than the
    /// view's, since neighbouring tangential positions take turns. Without mashing of views.
    DetectorPairs,
    /// Equidistant bins, s = i·bin_mm, between flat heads that turn about the axis: the LORs of a view end on the two planes
    /// a = ±R, as the nominal line of each bin does. (The crystal pairs that fall into a bin meet the heads at many angles.)
    Heads {
        /// Distance between bins, mm.
        bin_mm: f64,
    },
}

impl InPlane {
    /// Returns the distance between bins, mm, where they are equidistant.
    pub fn bin_mm(&self) -> Option<f64> {
        match self {
            InPlane::ArcCorrected { bin_mm } | InPlane::Heads { bin_mm } => Some(*bin_mm),
            InPlane::Detectors | InPlane::DetectorPairs => None,
        }
    }
}

/// Planes of one (mean) ring difference.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Segment {
    /// Smallest ring difference added into the segment.
    pub min_ring_difference: i32,
    /// Largest ring difference added into the segment.
    pub max_ring_difference: i32,
    /// Number of axial positions.
    pub num_axial_pos: usize,
}

impl Segment {
    /// Returns the segment of ring differences `min ..= max` with all the axial positions that a scanner of `num_rings` gives it:
    /// one per ring pair where min = max, else one per half ring spacing that any of its ring pairs reaches.
    pub fn full(min_ring_difference: i32, max_ring_difference: i32, num_rings: usize) -> Self {
        let smallest = if min_ring_difference <= 0 && max_ring_difference >= 0 {
            0
        } else {
            min_ring_difference.unsigned_abs().min(max_ring_difference.unsigned_abs()) as usize
        };
        let rings = num_rings.saturating_sub(smallest);
        let num_axial_pos = if min_ring_difference == max_ring_difference { rings } else { (2 * rings).saturating_sub(1) };
        Self { min_ring_difference, max_ring_difference, num_axial_pos }
    }

    /// Returns the rings at the end and at the start of the lines of each plane, where the segment has one ring difference.
    pub fn ring_pairs(&self) -> impl Iterator<Item = [usize; 2]> + use<> {
        let [down, up] = [-self.min_ring_difference, self.min_ring_difference].map(|shift| shift.max(0) as usize);
        (0..self.num_axial_pos).map(move |axial_pos| [axial_pos + down, axial_pos + up])
    }

    /// Returns the mean ring difference δ = (min + max) / 2.
    pub fn mean_ring_difference(&self) -> f64 {
        0.5 * (f64::from(self.min_ring_difference) + f64::from(self.max_ring_difference))
    }

    /// Returns true if several ring differences are added (span above 1): planes then lie half a ring spacing apart.
    pub fn is_spanned(&self) -> bool {
        self.min_ring_difference != self.max_ring_difference
    }
}

/// In-plane part of a LOR: end points on the circle of radius R, or on the planes of the heads, mm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TransaxialLor {
    /// `[x, y]` at the smallest a, where z = `Plane::z_start_mm`.
    pub start: [f64; 2],
    /// `[x, y]` at the largest a, where z = `Plane::z_end_mm`.
    pub end: [f64; 2],
}

/// Axial part of a LOR: the z of its two ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plane {
    /// Index into [`ScanGeometry::segments`].
    pub segment: usize,
    /// Axial position within the segment.
    pub axial_pos: usize,
    /// z at the start of the LOR, mm.
    pub z_start_mm: f64,
    /// z at the end of the LOR, mm.
    pub z_end_mm: f64,
}

/// Everything that fixes the line of response of each bin. A bin is (view, tangential_pos, plane); its transaxial
/// index is view·num_tangential + tangential_pos and planes are ordered by segment, then axial position.
///
/// ```
/// use tomoscope_base::scanner::{self, ScanGeometryError};
///
/// // Half the views of a built-in scanner.
/// let mut geometry = scanner::find("small").unwrap().geometry.clone();
/// geometry.num_views /= 2;
/// let geometry = geometry.validate()?;
/// assert_eq!(geometry.num_bins(), geometry.num_views * geometry.num_tangential * geometry.num_planes());
/// # Ok::<(), ScanGeometryError>(())
/// ```
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ScanGeometry {
    /// Name of the scanner as files give it.
    pub scanner: String,
    /// Number of detector rings.
    pub num_rings: usize,
    /// Distance between neighbouring rings, mm.
    pub ring_spacing_mm: f64,
    /// Detectors in a ring.
    pub num_detectors_per_ring: usize,
    /// Inner radius of the detector ring, or distance of the heads from the axis, mm.
    pub inner_radius_mm: f64,
    /// Mean depth of interaction, mm; R is the inner radius plus this.
    pub depth_of_interaction_mm: f64,
    /// Number of views over 180°.
    pub num_views: usize,
    /// Number of tangential positions.
    pub num_tangential: usize,
    /// Intrinsic tilt of the scanner: angle of view 0 before view mashing, degrees.
    pub view_offset_deg: f64,
    /// Tangential sampling.
    pub in_plane: InPlane,
    /// Segments in the order of the planes.
    pub segments: Vec<Segment>,
    /// Radius of the transaxial field of view, mm.
    pub fov_radius_mm: f64,
}

/// Reason for which a sampling is invalid.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ScanGeometryError {
    /// A count is zero.
    #[error("{what} is {found}; it must be at least 1")]
    Zero {
        /// Which count.
        what: &'static str,
        /// The value.
        found: usize,
    },
    /// A length is not positive, or out of range.
    #[error("{what} is {found} mm; it must be a positive length, from 0.000001 to 1000000 mm")]
    Length {
        /// Which length.
        what: &'static str,
        /// The value.
        found: f64,
    },
    /// An angle is not finite.
    #[error("the view offset is {0}°; it must be a number")]
    Angle(f64),
    /// A tangential position lies outside the detector ring.
    #[error(
        "the outermost tangential position lies {s_mm:.1} mm from the axis, outside the ring of radius {radius_mm:.1} mm; check number of bins, bin size and ring diameter"
    )]
    OutsideRing {
        /// Distance of that position.
        s_mm: f64,
        /// Effective radius R.
        radius_mm: f64,
    },
    /// A segment's ring differences are impossible.
    #[error("segment {index} holds ring differences {min} to {max} with {num_axial_pos} axial positions; a scanner of {num_rings} rings allows differences up to ±{} and {allowed} positions for these", .num_rings - 1)]
    Segment {
        /// Position in the list.
        index: usize,
        /// Smallest difference.
        min: i32,
        /// Largest difference.
        max: i32,
        /// Number of axial positions.
        num_axial_pos: usize,
        /// Rings of the scanner.
        num_rings: usize,
        /// Axial positions that the scanner allows for it.
        allowed: usize,
    },
    /// The number of bins is too large.
    #[error(
        "{num_views} views × {num_tangential} tangential positions × {num_planes} planes are more bins than can be held (2³²)"
    )]
    TooManyBins {
        /// Number of views.
        num_views: usize,
        /// Number of tangential positions.
        num_tangential: usize,
        /// Number of planes.
        num_planes: u64,
    },
}

coded!(ScanGeometryError = "scanner");

impl ScanGeometry {
    /// Checks every value; call once after setting the fields.
    ///
    /// # Errors
    /// The first invalid value.
    pub fn validate(self) -> Result<Self, ScanGeometryError> {
        let counts = [
            ("the number of rings", self.num_rings),
            ("the number of detectors per ring", self.num_detectors_per_ring),
            ("the number of views", self.num_views),
            ("the number of tangential positions", self.num_tangential),
            ("the number of segments", self.segments.len()),
        ];
        if let Some((what, found)) = counts.into_iter().find(|(_, found)| *found == 0) {
            return Err(ScanGeometryError::Zero { what, found });
        }
        let mut lengths = vec![
            ("the distance between rings", self.ring_spacing_mm),
            ("the inner ring radius", self.inner_radius_mm),
            ("the radius of the field of view", self.fov_radius_mm),
            ("the axial length", self.axial_length_mm()),
        ];
        if let Some(bin_mm) = self.in_plane.bin_mm() {
            lengths.push(("the tangential bin size", bin_mm));
        }
        if let Some((what, found)) = lengths.into_iter().find(|(_, mm)| !LENGTHS_MM.contains(mm)) {
            return Err(ScanGeometryError::Length { what, found });
        }
        if !(0.0..=*LENGTHS_MM.end()).contains(&self.depth_of_interaction_mm) {
            let found = self.depth_of_interaction_mm;
            return Err(ScanGeometryError::Length { what: "the depth of interaction", found });
        }
        if !self.view_offset_deg.is_finite() {
            return Err(ScanGeometryError::Angle(self.view_offset_deg));
        }
        for (index, segment) in self.segments.iter().enumerate() {
            let (min, max) = (segment.min_ring_difference, segment.max_ring_difference);
            let largest = i64::try_from(self.num_rings).unwrap_or(i64::MAX) - 1;
            let in_range = min <= max && i64::from(min).abs() <= largest && i64::from(max).abs() <= largest;
            let allowed = if in_range { Segment::full(min, max, self.num_rings).num_axial_pos } else { 0 };
            if segment.num_axial_pos == 0 || segment.num_axial_pos > allowed {
                let (num_axial_pos, num_rings) = (segment.num_axial_pos, self.num_rings);
                return Err(ScanGeometryError::Segment { index, min, max, num_axial_pos, num_rings, allowed });
            }
        }
        let num_planes: u64 = self.segments.iter().map(|s| s.num_axial_pos as u64).sum();
        let bins = (self.num_views as u64).checked_mul(self.num_tangential as u64).and_then(|n| n.checked_mul(num_planes));
        if bins.is_none_or(|n| n > MAX_BINS) {
            let (num_views, num_tangential) = (self.num_views, self.num_tangential);
            return Err(ScanGeometryError::TooManyBins { num_views, num_tangential, num_planes });
        }
        let first = self.tangential_index(0).unsigned_abs();
        let outermost = first.max(self.tangential_index(self.num_tangential - 1).unsigned_abs());
        let quarter_turn = 2 * outermost < self.num_detectors_per_ring;
        let s_mm = match self.in_plane {
            InPlane::ArcCorrected { bin_mm } | InPlane::Heads { bin_mm } => outermost as f64 * bin_mm,
            InPlane::Detectors | InPlane::DetectorPairs if quarter_turn => 0.0,
            InPlane::Detectors | InPlane::DetectorPairs => self.radius_mm(),
        };
        if s_mm >= self.radius_mm() {
            return Err(ScanGeometryError::OutsideRing { s_mm, radius_mm: self.radius_mm() });
        }
        Ok(self)
    }

    /// Returns the effective ring radius R, mm.
    pub fn radius_mm(&self) -> f64 {
        self.inner_radius_mm + self.depth_of_interaction_mm
    }

    /// Returns the default radius of the field of view, mm: half the width of the bins, or less if the catalogue's scanner
    /// has a smaller one.
    pub fn usual_fov_radius_mm(&self, known: Option<&Scanner>) -> f64 {
        let half = 0.5 * self.num_tangential as f64;
        let reach = match self.in_plane {
            InPlane::ArcCorrected { .. } | InPlane::Heads { .. } => self.s_mm_of_index(half),
            InPlane::Detectors | InPlane::DetectorPairs => self.s_mm_of_index(half.min(0.5 * self.num_detectors_per_ring as f64)),
        };
        known.map_or(reach, |scanner| reach.min(scanner.geometry.fov_radius_mm))
    }

    /// Returns the number of transaxial LORs.
    pub fn num_transaxial(&self) -> usize {
        self.num_views * self.num_tangential
    }

    /// Returns the number of planes over all segments.
    pub fn num_planes(&self) -> usize {
        self.segments.iter().map(|s| s.num_axial_pos).sum()
    }

    /// Returns the number of bins.
    pub fn num_bins(&self) -> usize {
        self.num_transaxial() * self.num_planes()
    }

    /// Returns the axial length of the scanner, mm.
    pub fn axial_length_mm(&self) -> f64 {
        self.num_rings as f64 * self.ring_spacing_mm
    }

    /// Returns the image grid for data of this scanner where nothing else is asked for: transaxial voxels as wide as the middle
    /// bins, an odd number of them that reaches across the field of view but not past the bins; 2·rings − 1 slices half a ring
    /// spacing apart, so that every direct and every cross plane lies in the middle of a slice.
    ///
    /// # Errors
    /// The grid would be too large.
    pub fn default_grid(&self) -> Result<Grid, GridError> {
        let side_mm = self.central_bin_mm();
        let reach = (self.fov_radius_mm / side_mm - 0.5).ceil().max(0.0) as usize;
        let side = 2 * reach.min(self.num_tangential / 2) + 1;
        Grid::centred([side, side, 2 * self.num_rings - 1], [side_mm, side_mm, 0.5 * self.ring_spacing_mm])
    }

    /// Returns the signed tangential index i, zero in the middle.
    pub fn tangential_index(&self, tangential_pos: usize) -> isize {
        tangential_pos as isize - (self.num_tangential / 2) as isize
    }

    /// Returns the signed distance s of fractional tangential index i from the axis, mm.
    fn s_mm_of_index(&self, i: f64) -> f64 {
        match self.in_plane {
            InPlane::ArcCorrected { bin_mm } | InPlane::Heads { bin_mm } => i * bin_mm,
            InPlane::Detectors | InPlane::DetectorPairs => self.radius_mm() * (i * PI / self.num_detectors_per_ring as f64).sin(),
        }
    }

    /// Returns the signed distance s of a tangential position from the axis, mm.
    pub fn s_mm(&self, tangential_pos: usize) -> f64 {
        self.s_mm_of_index(self.tangential_index(tangential_pos) as f64)
    }

    /// Returns the distance between the middle tangential positions, mm.
    pub fn central_bin_mm(&self) -> f64 {
        self.s_mm_of_index(0.5) - self.s_mm_of_index(-0.5)
    }

    /// Returns the largest distance between neighbouring lines of a view inside a circle about the axis, mm. Lines between pairs
    /// of detectors open by a further π / num_detectors, as they take turns.
    pub fn largest_line_gap_mm(&self, radius_mm: f64) -> f64 {
        let positions: Vec<f64> = (0..self.num_tangential).map(|tangential_pos| self.s_mm(tangential_pos)).collect();
        let reaches = |pair: &&[f64]| pair[0].abs().min(pair[1].abs()) <= radius_mm;
        let gaps = positions.windows(2).filter(reaches).map(|pair| pair[1] - pair[0]);
        let gap = gaps.reduce(f64::max).unwrap_or_else(|| self.central_bin_mm());
        match self.in_plane {
            InPlane::DetectorPairs => gap + radius_mm * PI / self.num_detectors_per_ring as f64,
            InPlane::ArcCorrected { .. } | InPlane::Detectors | InPlane::Heads { .. } => gap,
        }
    }

    /// Returns the angle φ of a view, radians: v π / num_views, plus the intrinsic tilt, plus the shift to the middle of the
    /// detector pairs that view mashing adds together.
    pub fn phi_rad(&self, view: usize) -> f64 {
        let num_detectors = self.num_detectors_per_ring as f64;
        let mashing = (0.5 * num_detectors / self.num_views as f64).max(1.0);
        view as f64 * PI / self.num_views as f64 + self.view_offset_deg.to_radians() + (mashing - 1.0) * PI / num_detectors
    }

    /// Returns the angle of the lines of a view at a tangential position, radians: that of the view, but where detectors take
    /// turns.
    pub fn line_phi_rad(&self, view: usize, tangential_pos: usize) -> f64 {
        let takes_turns = self.in_plane == InPlane::DetectorPairs && self.tangential_index(tangential_pos) % 2 != 0;
        self.phi_rad(view) - if takes_turns { PI / self.num_detectors_per_ring as f64 } else { 0.0 }
    }

    /// Returns the in-plane LOR of a view at a tangential position. `ray` of `num_rays` lines spread evenly over the bin's width;
    /// `(0, 1)` is the line through the bin's middle.
    pub fn transaxial_lor(&self, view: usize, tangential_pos: usize, ray: usize, num_rays: usize) -> TransaxialLor {
        let offset = (ray as f64 - 0.5 * (num_rays as f64 - 1.0)) / num_rays as f64;
        let s = self.s_mm_of_index(self.tangential_index(tangential_pos) as f64 + offset);
        let (sin, cos) = self.line_phi_rad(view, tangential_pos).sin_cos();
        let radius = self.radius_mm();
        let half = match self.in_plane {
            InPlane::Heads { .. } => radius,
            _ => (radius * radius - s * s).max(0.0).sqrt(),
        };
        TransaxialLor { start: [s * cos - half * sin, s * sin + half * cos], end: [s * cos + half * sin, s * sin - half * cos] }
    }

    /// Returns the distance between neighbouring planes of a segment, mm.
    pub fn axial_sampling_mm(&self, segment: &Segment) -> f64 {
        if segment.is_spanned() { 0.5 * self.ring_spacing_mm } else { self.ring_spacing_mm }
    }

    /// Returns all planes in order, with the z of their ends.
    pub fn planes(&self) -> Vec<Plane> {
        let mut planes = Vec::with_capacity(self.num_planes());
        for (index, segment) in self.segments.iter().enumerate() {
            let half_rise = 0.5 * segment.mean_ring_difference() * self.ring_spacing_mm;
            let sampling = self.axial_sampling_mm(segment);
            for axial_pos in 0..segment.num_axial_pos {
                let m = (axial_pos as f64 - 0.5 * (segment.num_axial_pos as f64 - 1.0)) * sampling;
                planes.push(Plane { segment: index, axial_pos, z_start_mm: m + half_rise, z_end_mm: m - half_rise });
            }
        }
        planes
    }

    /// Returns the planes, each moved to ray `ray` of `num_rays` lines spread evenly over its axial sampling; `(0, 1)` is the
    /// planes themselves.
    pub fn ray_planes(&self, ray: usize, num_rays: usize) -> Vec<Plane> {
        let offset = (ray as f64 - 0.5 * (num_rays as f64 - 1.0)) / num_rays as f64;
        let mut planes = self.planes();
        for plane in &mut planes {
            let shift = offset * self.axial_sampling_mm(&self.segments[plane.segment]);
            plane.z_start_mm += shift;
            plane.z_end_mm += shift;
        }
        planes
    }

    /// Returns the line of response of a transaxial LOR and a plane.
    pub fn lor(&self, transaxial: TransaxialLor, plane: Plane) -> Line {
        Line {
            start: [transaxial.start[0], transaxial.start[1], plane.z_start_mm],
            end: [transaxial.end[0], transaxial.end[1], plane.z_end_mm],
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_default_grid_has_the_bins_width_and_the_planes_height() {
        let scanner = crate::scanner::find("discovery-ste").unwrap();
        let grid = scanner.geometry.default_grid().unwrap();
        assert_eq!(grid.size, [329, 329, 47]);
        assert!((grid.voxel_mm[0] - 700.0 / 329.0).abs() < 1e-12 && grid.voxel_mm[2] == 3.27);
        let scanner = crate::scanner::find("prt-1").unwrap();
        assert_eq!(scanner.geometry.default_grid().unwrap().size, [129, 129, 31]);
    }
}
