//! Which place of a cylinder each crystal of a scanner has, so that its events can be counted in a michelogram. Gaps between
//! blocks become places without a crystal, as the mMR's format has them.

use std::f64::consts::PI;

use super::{Crystal, Detectors, InPlane, ScanGeometry, ScanGeometryError, Segment};
use crate::geometry::Vector;

/// Maximum distance of a crystal from its place, in parts of the distance between neighbouring places.
const MAX_DEVIATION: f64 = 0.5;
/// Places of a ring that are tried at most, in parts of its crystals: a gap of one in two.
const MAX_PLACES: f64 = 1.5;
/// A number of places whose crystals are off by this much more of a place than with the best number is as good.
const TIE_TOLERANCE: f64 = 0.02;
/// Heights that differ by less are those of one ring, mm.
const SAME_HEIGHT_MM: f64 = 1e-2;
/// Most places along the axis, in parts of the heights at which there are crystals.
const MAX_RINGS: usize = 4;

/// A cylinder of places, some of them with a crystal. Detector n of a ring is at the angle 2πn / detectors from −y towards +x,
/// turned by the offset; rings are counted from −z.
#[derive(Clone, Debug, PartialEq)]
pub struct Cylinder {
    /// Places along the axis.
    pub num_rings: usize,
    /// Places around it: an even number.
    pub num_detectors: usize,
    /// From the axis to a place, mm.
    pub radius_mm: f64,
    /// Between neighbouring rings, mm.
    pub ring_spacing_mm: f64,
    /// Angle of detector 0, degrees.
    pub offset_deg: f64,
    /// The largest distance of a crystal from its place, mm.
    pub deviation_mm: f64,
    /// Ring and detector of each crystal.
    places: Vec<[u32; 2]>,
    /// The crystal of each place, `[ring][detector]`; [`EMPTY`] where there is none.
    crystals: Vec<u32>,
}

/// No crystal.
const EMPTY: u32 = u32::MAX;

/// Where a pair of crystals is counted: the bin whose line runs between their places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CylinderBin {
    /// View.
    pub view: usize,
    /// Tangential position, 0 in the middle.
    pub tangential: i32,
    /// Ring of the detector at the line's end.
    pub ring1: u32,
    /// Ring of the one at its start.
    pub ring2: u32,
    /// True if the pair's second crystal is at the line's end.
    pub is_swapped: bool,
}

impl Cylinder {
    /// Returns the cylinder that the crystals of a scanner lie on.
    ///
    /// # Errors
    /// In words why there is none.
    pub fn recognise(detectors: &Detectors) -> Result<Self, String> {
        let crystals = detectors.crystals();
        let heights: Vec<f64> = crystals.iter().map(|crystal| crystal.centre_mm[2]).collect();
        let (first_mm, ring_spacing_mm, num_rings) = rings(&heights)?;
        let angles: Vec<f64> = crystals.iter().map(angle).collect();
        let ring_of = |z: f64| (((z - first_mm) / ring_spacing_mm).round().max(0.0) as usize).min(num_rings - 1);
        let mut num_in_ring = vec![0usize; num_rings];
        heights.iter().for_each(|&z| num_in_ring[ring_of(z)] += 1);
        let fullest = (0..num_rings).max_by_key(|&ring| (num_in_ring[ring], num_rings - ring)).unwrap_or(0);
        let of_fullest = heights.iter().zip(&angles).filter(|(z, _)| ring_of(**z) == fullest).map(|(_, angle)| *angle).collect();
        let (num_detectors, offset) = detectors_of_a_ring(of_fullest)?;
        let radius_mm =
            crystals.iter().map(|crystal| crystal.centre_mm[0].hypot(crystal.centre_mm[1])).sum::<f64>() / crystals.len() as f64;
        let step = 2.0 * PI / num_detectors as f64;
        let mut cylinder = Self {
            num_rings,
            num_detectors,
            radius_mm,
            ring_spacing_mm,
            offset_deg: offset.to_degrees(),
            deviation_mm: 0.0,
            places: Vec::with_capacity(crystals.len()),
            crystals: vec![EMPTY; num_rings * num_detectors],
        };
        for (index, crystal) in crystals.iter().enumerate() {
            let detector = ((angles[index] - offset) / step).round().rem_euclid(num_detectors as f64) as usize % num_detectors;
            let ring = ring_of(heights[index]);
            let taken = std::mem::replace(&mut cylinder.crystals[ring * num_detectors + detector], index as u32);
            if taken != EMPTY {
                return Err(format!("crystals {taken} and {index} lie behind or next to each other, in layers or panels"));
            }
            cylinder.places.push([ring as u32, detector as u32]);
            let (sin, cos) = (offset + step * detector as f64).sin_cos();
            let place = [radius_mm * sin, -radius_mm * cos, first_mm + ring as f64 * ring_spacing_mm];
            let off = (Vector::from(crystal.centre_mm) - Vector::from(place)).norm();
            cylinder.deviation_mm = cylinder.deviation_mm.max(off);
        }
        let middle_mm = first_mm + 0.5 * (num_rings as f64 - 1.0) * ring_spacing_mm;
        if middle_mm.abs() > MAX_DEVIATION * ring_spacing_mm {
            return Err(format!("the middle of its rings lies {middle_mm:.2} mm from the scanner's middle"));
        }
        let most_mm = MAX_DEVIATION * radius_mm * step;
        if cylinder.deviation_mm > most_mm {
            let off = cylinder.deviation_mm;
            return Err(format!(
                "its crystals lie up to {off:.2} mm from places of a cylinder, which are {:.2} mm apart",
                2.0 * most_mm
            ));
        }
        Ok(cylinder)
    }

    /// Returns the cylinder of a michelogram's detectors ([`Detectors::of_cylinder`]), none of them missing.
    pub fn of(geometry: &ScanGeometry) -> Self {
        let (num_rings, num_detectors) = (geometry.num_rings, geometry.num_detectors_per_ring);
        let num = num_rings * num_detectors;
        Self {
            num_rings,
            num_detectors,
            radius_mm: geometry.radius_mm(),
            ring_spacing_mm: geometry.ring_spacing_mm,
            offset_deg: geometry.view_offset_deg,
            deviation_mm: 0.0,
            places: (0..num).map(|index| [(index / num_detectors) as u32, (index % num_detectors) as u32]).collect(),
            crystals: (0..num as u32).collect(),
        }
    }

    /// Returns the crystal at a place.
    pub fn crystal(&self, ring: usize, detector: usize) -> Option<u32> {
        self.crystals.get(ring * self.num_detectors + detector).copied().filter(|&crystal| crystal != EMPTY)
    }

    /// Returns the place of a crystal: ring · detectors + detector. (The number must be that of a crystal.)
    pub fn place(&self, crystal: u32) -> usize {
        let [ring, detector] = self.places[crystal as usize];
        ring as usize * self.num_detectors + detector as usize
    }

    /// Returns the number of places without a crystal.
    pub fn num_gaps(&self) -> usize {
        self.crystals.len() - self.places.len()
    }

    /// Returns where a pair is counted. (Numbers must be those of crystals.)
    pub fn bin(&self, [first, second]: [u32; 2]) -> CylinderBin {
        let ([ring_a, a], [ring_b, b]) = (self.places[first as usize], self.places[second as usize]);
        let (num, half) = (self.num_detectors as i32, self.num_detectors as i32 / 2);
        // Detectors v + ⌊t/2⌋ and v − ⌈t/2⌉ + n/2 of a ring of n see view v at the tangential position t.
        let view_of = |a: i32, b: i32| {
            let tangential = (a - b + half + half).rem_euclid(num) - half;
            ((a - (tangential >> 1)).rem_euclid(num), tangential)
        };
        let (view, tangential) = view_of(a as i32, b as i32);
        if view < half {
            return CylinderBin { view: view as usize, tangential, ring1: ring_a, ring2: ring_b, is_swapped: false };
        }
        let (view, tangential) = view_of(b as i32, a as i32);
        CylinderBin { view: (view % half) as usize, tangential, ring1: ring_b, ring2: ring_a, is_swapped: true }
    }

    /// Returns the two detectors of a view at a tangential position: those at the end and at the start of its line.
    pub fn detectors(&self, view: usize, tangential: i32) -> [usize; 2] {
        let (num, half) = (self.num_detectors as i32, self.num_detectors as i32 / 2);
        let view = view as i32;
        [view + (tangential >> 1), view - ((tangential + 1) >> 1) + half].map(|n| n.rem_euclid(num) as usize)
    }

    /// Returns the sampling with a bin for every detector pair within `num_tangential` tangential positions and the largest ring
    /// difference, along the line between the two detectors. Segments hold `span` ring differences (the last ones fewer, if they
    /// do not fit): 1 gives each pair of rings its own plane; an even span counts as the next smaller one.
    ///
    /// # Errors
    /// More bins than the limit.
    pub fn geometry(
        &self,
        scanner: &str,
        num_tangential: usize,
        max_ring_difference: usize,
        span: usize,
        fov_radius_mm: f64,
    ) -> Result<ScanGeometry, ScanGeometryError> {
        let largest = max_ring_difference.min(self.num_rings - 1) as i32;
        let half = (span.clamp(1, 2 * self.num_rings) as i32 - 1) / 2;
        let outer = (half + 1..=largest).step_by(2 * half as usize + 1).map(|first| (first, (first + 2 * half).min(largest)));
        let outer = outer.flat_map(|(first, last)| [(-last, -first), (first, last)]);
        let differences = std::iter::once((-half.min(largest), half.min(largest))).chain(outer);
        ScanGeometry {
            scanner: scanner.into(),
            num_rings: self.num_rings,
            ring_spacing_mm: self.ring_spacing_mm,
            num_detectors_per_ring: self.num_detectors,
            inner_radius_mm: self.radius_mm,
            depth_of_interaction_mm: 0.0,
            num_views: self.num_detectors / 2,
            num_tangential: num_tangential.clamp(1, self.num_detectors - 1),
            view_offset_deg: self.offset_deg,
            in_plane: InPlane::DetectorPairs,
            segments: differences.map(|(first, last)| Segment::full(first, last, self.num_rings)).collect(),
            fov_radius_mm,
        }
        .validate()
    }
}

/// Returns the angle of a crystal from −y towards +x.
fn angle(crystal: &Crystal) -> f64 {
    let [x, y, _] = crystal.centre_mm;
    x.atan2(-y)
}

/// Returns the first height, distance and number of the equidistant heights that these are.
fn rings(heights: &[f64]) -> Result<(f64, f64, usize), String> {
    let mut sorted = heights.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup_by(|b, a| *b - *a < SAME_HEIGHT_MM);
    let (Some(&first), Some(&last)) = (sorted.first(), sorted.last()) else { return Err("it has no crystals".into()) };
    let Some(nearest) = sorted.windows(2).map(|pair| pair[1] - pair[0]).min_by(f64::total_cmp) else {
        return Err("its crystals are all at one height, and a michelogram needs the distance between rings".into());
    };
    let num = ((last - first) / nearest).round() as usize + 1;
    if num > MAX_RINGS * sorted.len() {
        return Err("its rings are not equally far apart".into());
    }
    let spacing = (last - first) / (num - 1) as f64;
    let is_off = |z: &f64| {
        let ring = (z - first) / spacing;
        (ring - ring.round()).abs() > 0.1
    };
    if sorted.iter().any(is_off) {
        return Err("its rings are not equally far apart".into());
    }
    Ok((first, spacing, num))
}

/// Returns the number of places of a ring with crystals at these angles, and the angle of the first place.
fn detectors_of_a_ring(angles: Vec<f64>) -> Result<(usize, f64), String> {
    let min = angles.len();
    if min < 4 {
        return Err("a ring has fewer than four crystals".into());
    }
    let max = (MAX_PLACES * min as f64) as usize;
    let offset = |num: usize| {
        let num = num as f64;
        let (sin, cos) =
            angles.iter().map(|angle| (num * angle).sin_cos()).fold((0.0, 0.0), |sum, (s, c)| (sum.0 + s, sum.1 + c));
        sin.atan2(cos) / num
    };
    let off = |num: usize| {
        let offset = offset(num);
        let places = angles.iter().map(|angle| (angle - offset) * num as f64 / (2.0 * PI));
        places.map(|place| (place - place.round()).abs()).fold(0.0, f64::max)
    };
    // A view has a detector at either end.
    let found: Vec<(usize, f64)> = (min.next_multiple_of(2)..=max.max(min + 1)).step_by(2).map(|num| (num, off(num))).collect();
    let best = found.iter().map(|(_, off)| *off).fold(f64::INFINITY, f64::min);
    match found.into_iter().find(|(_, off)| *off <= best + TIE_TOLERANCE) {
        Some((num, off)) if off < MAX_DEVIATION => {
            // The smallest of the equally good angles.
            let step = 2.0 * PI / num as f64;
            let offset = offset(num);
            Ok((num, offset - step * (offset / step).round()))
        }
        _ => Err("its crystals are not at regular angles around the axis".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scanner::find;

    #[test]
    fn every_pair_of_detectors_has_the_bin_whose_line_it_is() {
        let geometry = &find("small").unwrap().geometry;
        for offset_deg in [0.0, 1.3] {
            let geometry = ScanGeometry { view_offset_deg: offset_deg, ..geometry.clone() };
            let detectors = Detectors::of_cylinder(&geometry).unwrap();
            let cylinder = Cylinder::recognise(&detectors).unwrap();
            assert!(cylinder.deviation_mm < 1e-9 && (cylinder.offset_deg - offset_deg).abs() < 1e-9);
            assert_eq!((cylinder.num_rings, cylinder.num_detectors, cylinder.num_gaps()), (8, 96, 0));
            assert_eq!(cylinder.places, Cylinder::of(&geometry).places);
            let unmashed = cylinder.geometry("small", 95, 7, 1, 60.0).unwrap();
            let planes = unmashed.planes();
            let mut is_seen = vec![false; unmashed.num_bins()];
            for first in 0..768u32 {
                for second in (0..768u32).filter(|&second| second % 96 != first % 96) {
                    let bin = cylinder.bin([first, second]);
                    let at = [0, 1].map(|end| cylinder.detectors(bin.view, bin.tangential)[end] as u32);
                    let pair = if bin.is_swapped { [second, first] } else { [first, second] };
                    assert_eq!(pair, [bin.ring1 * 96 + at[0], bin.ring2 * 96 + at[1]]);
                    let plane = planes.iter().position(|plane| {
                        let segment = &unmashed.segments[plane.segment];
                        let difference = bin.ring2 as i32 - bin.ring1 as i32;
                        segment.min_ring_difference == difference && plane.axial_pos as u32 == bin.ring1.min(bin.ring2)
                    });
                    let tangential_pos = (bin.tangential + 47) as usize;
                    let line = unmashed.lor(unmashed.transaxial_lor(bin.view, tangential_pos, 0, 1), planes[plane.unwrap()]);
                    let expected = detectors.line([pair[1], pair[0]]);
                    for a in 0..3 {
                        let off = (line.start[a] - expected.start[a]).abs() + (line.end[a] - expected.end[a]).abs();
                        assert!(off < 1e-9, "{bin:?}: {line:?}, not {expected:?}");
                    }
                    let index = (bin.view * 95 + tangential_pos) * planes.len() + plane.unwrap();
                    is_seen[index] = true;
                }
            }
            assert!(is_seen.into_iter().all(|is_seen| is_seen));
        }
    }

    /// A ring of flat modules.
    fn modules(num_modules: usize, num_across: usize, pitch_mm: f64, face_mm: f64, layers: usize) -> Detectors {
        let mut crystals = Vec::new();
        for (ring, module, across, layer) in (0..4 * num_modules * num_across * layers).map(|i| {
            (
                i / (num_modules * num_across * layers),
                i / (num_across * layers) % num_modules,
                i / layers % num_across,
                i % layers,
            )
        }) {
            let (sin, cos) = (2.0 * PI * (module as f64 + 0.2) / num_modules as f64).sin_cos();
            let (side, out) = ((across as f64 - 0.5 * (num_across as f64 - 1.0)) * pitch_mm, face_mm + 10.0 * layer as f64);
            let z = (ring as f64 - 1.5) * pitch_mm;
            crystals.push(Crystal {
                centre_mm: [out * sin + side * cos, -out * cos + side * sin, z],
                axes: [[sin, -cos, 0.0], [cos, sin, 0.0], [0.0, 0.0, 1.0]],
                size_mm: [10.0, pitch_mm, pitch_mm],
            });
        }
        Detectors::new("modules", crystals).unwrap()
    }

    #[test]
    fn gaps_between_modules_are_places_without_crystals_and_layers_are_no_cylinder() {
        let cylinder = Cylinder::recognise(&modules(12, 8, 12.0, 200.0, 1)).unwrap();
        assert_eq!((cylinder.num_detectors, cylinder.num_rings, cylinder.num_gaps()), (108, 4, 4 * 12));
        assert!(cylinder.deviation_mm > 0.5 && cylinder.deviation_mm < 4.0, "{}", cylinder.deviation_mm);
        for (crystal, &[ring, detector]) in cylinder.places.iter().enumerate() {
            assert_eq!(cylinder.crystal(ring as usize, detector as usize), Some(crystal as u32));
        }
        let refusal = Cylinder::recognise(&modules(12, 8, 12.0, 200.0, 2)).unwrap_err();
        assert!(refusal.contains("layers"), "{refusal}");
        let panels = Cylinder::recognise(&modules(2, 40, 4.0, 100.0, 1)).unwrap_err();
        assert!(!panels.is_empty());
    }
}
