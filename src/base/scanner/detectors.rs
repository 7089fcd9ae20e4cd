//! A scanner as the places of its crystals, however they are arranged: blocks, gaps, layers, panels. Any two may see an event.

use std::f64::consts::PI;

use super::ScanGeometry;
use crate::coded::coded;
use crate::geometry::{LENGTHS_MM, Line, Point, Vector};

/// Maximum number of crystals: 2²⁴, so that a crystal and its flags fit into 32 bits.
const MAX_CRYSTALS: usize = 1 << 24;

/// A crystal: a box.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Crystal {
    /// Its middle, mm.
    pub centre_mm: Point,
    /// Unit vectors along its depth, outwards, and along its tangential and axial sides.
    pub axes: [Point; 3],
    /// Its sides along these, mm; 0 where it is not known.
    pub size_mm: [f64; 3],
}

/// Reason for which crystals are no valid scanner.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum DetectorsError {
    /// Too few or too many.
    #[error("the scanner {scanner} has {found} crystals; it must have between 2 and 16777216")]
    Number {
        /// The scanner.
        scanner: String,
        /// Its crystals.
        found: usize,
    },
    /// A crystal without a valid position or size.
    #[error("invalid crystal {crystal} of scanner {scanner}: {problem}")]
    Crystal {
        /// The scanner.
        scanner: String,
        /// Its number.
        crystal: usize,
        /// The problem.
        problem: &'static str,
    },
}

coded!(DetectorsError = "detectors");

/// The crystals of a scanner.
#[derive(Clone, Debug, PartialEq)]
pub struct Detectors {
    name: String,
    crystals: Vec<Crystal>,
}

impl Detectors {
    /// Returns a scanner of these crystals, which events identify by their index.
    ///
    /// # Errors
    /// Fewer than two, more than 2²⁴, an invalid crystal.
    pub fn new(name: impl Into<String>, crystals: Vec<Crystal>) -> Result<Self, DetectorsError> {
        let (scanner, found) = (name.into(), crystals.len());
        if !(2..=MAX_CRYSTALS).contains(&found) {
            return Err(DetectorsError::Number { scanner, found });
        }
        let problem = |crystal: &Crystal| {
            let largest = *LENGTHS_MM.end();
            if !crystal.centre_mm.iter().all(|mm| mm.abs() <= largest) {
                return Some("its place is no place, or farther away than a kilometre");
            }
            if !crystal.size_mm.iter().all(|mm| (0.0..=largest).contains(mm)) {
                return Some("a side is no length");
            }
            let is_unit = |axis: &Point| (axis.iter().map(|v| v * v).sum::<f64>() - 1.0).abs() < 1e-3;
            (!crystal.axes.iter().all(is_unit)).then_some("its sides have no direction")
        };
        match crystals.iter().enumerate().find_map(|(index, crystal)| Some((index, problem(crystal)?))) {
            Some((crystal, problem)) => Err(DetectorsError::Crystal { scanner, crystal, problem }),
            None => Ok(Self { name: scanner, crystals }),
        }
    }

    /// Returns the detectors of a cylinder as its michelogram numbers them: detector n of ring r is crystal r·detectors + n, at
    /// the angle 2πn / detectors from −y towards +x (turned by the view offset), rings from −z on. Their depth is not known.
    ///
    /// # Errors
    /// More than 2²⁴ detectors.
    pub fn of_cylinder(geometry: &ScanGeometry) -> Result<Self, DetectorsError> {
        let (num, radius) = (geometry.num_detectors_per_ring, geometry.radius_mm());
        let width_mm = 2.0 * PI * radius / num as f64;
        let crystal = |index: usize| {
            let (ring, detector) = (index / num, index % num);
            let angle = 2.0 * PI * detector as f64 / num as f64 + geometry.view_offset_deg.to_radians();
            let (sin, cos) = angle.sin_cos();
            let z = (ring as f64 - 0.5 * (geometry.num_rings as f64 - 1.0)) * geometry.ring_spacing_mm;
            Crystal {
                centre_mm: [radius * sin, -radius * cos, z],
                axes: [[sin, -cos, 0.0], [cos, sin, 0.0], [0.0, 0.0, 1.0]],
                size_mm: [0.0, width_mm, geometry.ring_spacing_mm],
            }
        };
        let found = geometry.num_rings.saturating_mul(num);
        if found > MAX_CRYSTALS {
            return Err(DetectorsError::Number { scanner: geometry.scanner.clone(), found });
        }
        Self::new(geometry.scanner.clone(), (0..found).map(crystal).collect())
    }

    /// Returns the name of the scanner.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the crystals by their numbers.
    pub fn crystals(&self) -> &[Crystal] {
        &self.crystals
    }

    /// Returns the line between the middles of two crystals. (Numbers must be those of crystals.)
    pub fn line(&self, [first, second]: [u32; 2]) -> Line {
        Line { start: self.crystals[first as usize].centre_mm, end: self.crystals[second as usize].centre_mm }
    }

    /// Returns ray number `ray` of those between two crystals.
    pub fn ray(&self, [first, second]: [u32; 2], ray: usize, rays: PairRays) -> Line {
        let [across, along] = rays.offsets(ray);
        let point = |crystal: u32, across: f64| {
            let Crystal { centre_mm, axes, size_mm } = &self.crystals[crystal as usize];
            let shift_mm = [across * size_mm[1], along * rays.axial_mm.unwrap_or(size_mm[2])];
            std::array::from_fn(|a| centre_mm[a] + shift_mm[0] * axes[1][a] + shift_mm[1] * axes[2][a])
        };
        // Sides of crystals that face each other run in opposite directions.
        Line { start: point(first, across), end: point(second, -across) }
    }

    /// Returns the largest distances of crystals from the axis, and along it from the middle, mm.
    pub fn extent_mm(&self) -> [f64; 2] {
        let largest = |of: fn(&Point) -> f64| self.crystals.iter().map(|crystal| of(&crystal.centre_mm)).fold(0.0, f64::max);
        [largest(|p| p[0].hypot(p[1])), largest(|p| p[2].abs())]
    }

    /// Returns the distance from the axis to the nearest crystal's middle, mm.
    pub fn bore_mm(&self) -> f64 {
        self.crystals.iter().map(|crystal| crystal.centre_mm[0].hypot(crystal.centre_mm[1])).fold(f64::INFINITY, f64::min)
    }
}

/// Returns the depth, tangential and axial side of a crystal of this depth: the axial one is as near to z as can be.
pub fn axes_of_depth(depth: Point) -> [Point; 3] {
    let depth = Vector::from(depth);
    // Along the axis there is no side that is nearer to it.
    let nearest = if depth.z.abs() < 0.999 { Vector::z() } else { Vector::y() };
    let axial = (nearest - depth * nearest.dot(&depth)).normalize();
    [depth, axial.cross(&depth).normalize(), axial].map(Point::from)
}

/// Rays of a crystal pair, evenly side by side, like those of a michelogram's bin: for crystals on a cylinder they are the same
/// lines. They are the same for either order of the crystals.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairRays {
    /// Across the crystals.
    pub tangential: usize,
    /// Along their axial sides.
    pub axial: usize,
    /// Length over which the axial ones are spread, mm; `None` = the crystals' own.
    pub axial_mm: Option<f64>,
}

impl PairRays {
    /// The line between the middles.
    pub const ONE: PairRays = PairRays { tangential: 1, axial: 1, axial_mm: None };

    /// Returns the number of rays.
    pub fn num(self) -> usize {
        self.tangential * self.axial
    }

    /// Returns where a ray is, across and along, in parts of the sides from the middle: −½ to ½.
    fn offsets(self, ray: usize) -> [f64; 2] {
        let offset = |number: usize, num: usize| (number as f64 + 0.5) / num as f64 - 0.5;
        [offset(ray % self.tangential, self.tangential), offset(ray / self.tangential, self.axial)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find;

    #[test]
    fn rays_lie_evenly_side_by_side_and_are_the_same_from_both_ends() {
        let geometry = &find("small").unwrap().geometry;
        let detectors = Detectors::of_cylinder(geometry).unwrap();
        let pair = [3, 96 * 5 + 51];
        assert_eq!(detectors.ray(pair, 0, PairRays::ONE), detectors.line(pair));
        let rays = PairRays { tangential: 3, axial: 2, axial_mm: None };
        let lines = |pair: [u32; 2]| (0..rays.num()).map(|ray| detectors.ray(pair, ray, rays)).collect::<Vec<Line>>();
        let distance = |a: Point, b: Point| (Vector::from(a) - Vector::from(b)).norm();
        let (there, back) = (lines(pair), lines([pair[1], pair[0]]));
        for line in &there {
            assert!(back.iter().any(|back| distance(line.start, back.end) < 1e-9 && distance(line.end, back.start) < 1e-9));
        }
        // These two face each other: all rays have one direction, and the outer ones are two thirds of a side apart.
        let along = |line: &Line| line.way().into();
        assert!(there.iter().all(|line| distance(along(line), along(&there[0])) < 1e-9));
        let size_mm = detectors.crystals()[0].size_mm;
        assert!((distance(there[0].start, there[2].start) - size_mm[1] * 2.0 / 3.0).abs() < 1e-9);
        assert!((there[3].start[2] - there[0].start[2] - 0.5 * size_mm[2]).abs() < 1e-9);
    }

    #[test]
    fn invalid_scanners_are_refused() {
        let crystal =
            Crystal { centre_mm: [1.0, 2.0, 3.0], axes: [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], size_mm: [1.0; 3] };
        assert!(Detectors::new("a", vec![crystal; 2]).is_ok());
        assert!(Detectors::new("a", vec![crystal]).is_err());
        let nowhere = Crystal { centre_mm: [f64::NAN, 0.0, 0.0], ..crystal };
        let flat = Crystal { axes: [[0.0; 3]; 3], ..crystal };
        let negative = Crystal { size_mm: [1.0, -1.0, 1.0], ..crystal };
        for wrong in [nowhere, flat, negative] {
            assert!(matches!(Detectors::new("a", vec![crystal, wrong]), Err(DetectorsError::Crystal { crystal: 1, .. })));
        }
    }
}
