//! Differences between the geometries of two sinograms with the same numbers of bins.

use super::geometry::{InPlane, ScanGeometry};

/// Relative difference of lengths above which two geometries differ: catalogues and headers round them.
const MAX_DIFFERENCE: f64 = 1e-3;

/// Difference of view offsets above which two geometries differ, degrees.
const MAX_DEGREES: f64 = 0.05;

/// The first fact in which two geometries differ.
#[derive(Clone, Debug, PartialEq)]
pub struct GeometryDifference {
    /// Name of the fact.
    pub fact: &'static str,
    /// Its value in each, with its unit.
    pub values: [String; 2],
}

impl ScanGeometry {
    /// Returns the first fact in which the lines of another geometry differ from these; `None` if they are the same, but for rounded
    /// lengths.
    pub fn difference(&self, other: &ScanGeometry) -> Option<GeometryDifference> {
        type Length = fn(&ScanGeometry) -> f64;
        let both = [self, other];
        let differ = |values: [f64; 2]| (values[0] - values[1]).abs() > MAX_DIFFERENCE * values[0].abs().max(values[1].abs());
        let lengths: [(&'static str, Length); 3] = [
            ("a ring diameter (with twice the depth of interaction) of", |geometry| 2.0 * geometry.radius_mm()),
            ("a ring spacing of", |geometry| geometry.ring_spacing_mm),
            ("a central bin size of", ScanGeometry::central_bin_mm),
        ];
        let of_lines = both.map(|geometry| in_plane_text(geometry.in_plane));
        let ring_differences = both.map(|geometry| {
            geometry.segments.iter().map(|segment| [segment.min_ring_difference, segment.max_ring_difference]).collect::<Vec<_>>()
        });
        let offsets = both.map(|geometry| geometry.view_offset_deg);
        if of_lines[0] != of_lines[1] {
            return Some(GeometryDifference { fact: "bins that are", values: of_lines.map(str::to_owned) });
        }
        if ring_differences[0] != ring_differences[1] {
            let values = ring_differences.map(|segments| format!("{segments:?}"));
            return Some(GeometryDifference { fact: "segments of the ring differences", values });
        }
        if (offsets[0] - offsets[1]).abs() > MAX_DEGREES {
            return Some(GeometryDifference { fact: "a view offset of", values: offsets.map(|degrees| format!("{degrees}°")) });
        }
        let values = lengths.map(|(fact, length)| (fact, both.map(length)));
        let (fact, values) = values.into_iter().find(|(_, values)| differ(*values))?;
        Some(GeometryDifference { fact, values: values.map(|mm| format!("{mm:.3} mm")) })
    }
}

/// Describes the tangential sampling.
fn in_plane_text(in_plane: InPlane) -> &'static str {
    match in_plane {
        InPlane::ArcCorrected { .. } => "arc-corrected",
        InPlane::Heads { .. } => "those of flat heads",
        InPlane::Detectors | InPlane::DetectorPairs => "by detector (not arc-corrected)",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fact_of_the_lines_is_compared_and_rounded_lengths_are_the_same() {
        let geometry = crate::scanner::find("small").unwrap().geometry.clone();
        type Change = fn(&mut ScanGeometry);
        let changes: [(&str, Change); 6] = [
            ("ring diameter", |geometry| geometry.inner_radius_mm *= 4.0 / 3.0),
            ("ring spacing", |geometry| geometry.ring_spacing_mm *= 2.0),
            ("view offset", |geometry| geometry.view_offset_deg += 15.0),
            ("bins that are", |geometry| {
                geometry.in_plane = match geometry.in_plane {
                    InPlane::Detectors | InPlane::DetectorPairs => InPlane::ArcCorrected { bin_mm: geometry.central_bin_mm() },
                    InPlane::ArcCorrected { .. } | InPlane::Heads { .. } => InPlane::Detectors,
                };
            }),
            ("ring differences", |geometry| geometry.segments[0].min_ring_difference -= 1),
            ("ring diameter", |geometry| geometry.depth_of_interaction_mm += 0.02 * geometry.inner_radius_mm),
        ];
        for (fact, change) in changes {
            let mut other = geometry.clone();
            change(&mut other);
            let found = geometry.difference(&other).unwrap();
            assert!(found.fact.contains(fact) && found.values[0] != found.values[1], "{fact}: {found:?}");
        }
        let mut rounded = geometry.clone();
        rounded.inner_radius_mm *= 1.0002;
        rounded.scanner = "another name".into();
        rounded.fov_radius_mm *= 0.5;
        assert_eq!(geometry.difference(&rounded), None);
    }
}
