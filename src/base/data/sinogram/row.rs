//! Rows of a sinogram.

use super::michelogram::Michelogram;
use crate::scanner::{Plane, ScanGeometry};

/// Row of a sinogram: the bins of one view and one plane, at all tangential positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SinogramRow {
    /// View.
    pub view: usize,
    /// Plane, in the order of [`ScanGeometry::planes`].
    pub plane: usize,
}

impl SinogramRow {
    /// Returns the row of a view in the plane whose middle is nearest to this height, mm. Planes with the smallest ring difference
    /// come first: direct planes, if the scan has any.
    pub fn at_height(geometry: &ScanGeometry, view: usize, z_mm: f64) -> Self {
        let difference = |plane: &Plane| geometry.segments[plane.segment].mean_ring_difference().abs();
        let distance_mm = |plane: &Plane| (plane_z_mm(plane) - z_mm).abs();
        let planes = geometry.planes();
        let nearest = planes.iter().enumerate().min_by(|(_, a), (_, b)| {
            difference(a).total_cmp(&difference(b)).then_with(|| distance_mm(a).total_cmp(&distance_mm(b)))
        });
        Self { view: view.min(geometry.num_views.saturating_sub(1)), plane: nearest.map_or(0, |(plane, _)| plane) }
    }

    /// Returns the height of the middle of its plane, mm.
    pub fn z_mm(self, geometry: &ScanGeometry) -> f64 {
        geometry.planes().get(self.plane).map_or(0.0, plane_z_mm)
    }

    /// Returns the signed distance from the axis of the line of its view through a point, mm; compare [`ScanGeometry::s_mm`].
    pub fn s_mm(self, geometry: &ScanGeometry, [x_mm, y_mm, _]: [f64; 3]) -> f64 {
        let (sin, cos) = geometry.phi_rad(self.view).sin_cos();
        x_mm * cos + y_mm * sin
    }

    /// Returns the values of its bins by tangential position, over all time-of-flight bins.
    pub fn values(self, data: &Michelogram) -> Vec<f32> {
        let (num_tangential, num_planes) = (data.geometry.num_tangential, data.geometry.num_planes());
        let first = self.view * num_tangential * num_planes + self.plane;
        data.counts.iter().skip(first).step_by(num_planes).take(num_tangential).copied().collect()
    }
}

fn plane_z_mm(plane: &Plane) -> f64 {
    0.5 * (plane.z_start_mm + plane.z_end_mm)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::scanner::find;

    #[test]
    fn a_row_is_the_nearest_direct_plane_and_its_lines_pass_the_point() {
        let geometry = Arc::new(find("small").unwrap().geometry.clone());
        let planes = geometry.planes();
        for z_mm in [-100.0, -3.0, 0.1, 6.0, 100.0] {
            let row = SinogramRow::at_height(&geometry, 3, z_mm);
            let Plane { segment, z_start_mm, z_end_mm, .. } = planes[row.plane];
            assert_eq!((z_start_mm, geometry.segments[segment].mean_ring_difference()), (z_end_mm, 0.0));
            let nearest = planes.iter().filter(|plane| plane.segment == segment).map(|plane| (plane.z_start_mm - z_mm).abs());
            assert_eq!((row.z_mm(&geometry) - z_mm).abs(), nearest.fold(f64::INFINITY, f64::min));
        }
        // The line of a tangential position passes all points at its distance.
        for tangential_pos in [2, 17] {
            let row = SinogramRow::at_height(&geometry, 5, 0.0);
            let lor = geometry.transaxial_lor(5, tangential_pos, 0, 1);
            for [x, y] in [lor.start, lor.end] {
                assert!((row.s_mm(&geometry, [x, y, 0.0]) - geometry.s_mm(tangential_pos)).abs() < 1e-9);
            }
        }
        let data = Michelogram::new(Arc::clone(&geometry), (0..geometry.num_bins()).map(|bin| bin as f32).collect()).unwrap();
        let row = SinogramRow { view: 2, plane: 4 };
        for (tangential_pos, value) in row.values(&data).into_iter().enumerate() {
            assert_eq!(data.bin_of_index(value as usize), (2, tangential_pos, 4));
        }
    }
}
