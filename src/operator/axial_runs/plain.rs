//! The plain Siddon sum of single bins. All its terms are ≥ 0, so that its rounding is relative to the bin itself, where that of
//! axial runs is relative to the largest row integral of the LOR.

use super::AxialRuns;
use crate::operator::siddon::walk_parts;

impl AxialRuns {
    /// Adds up some planes of the LOR (view, tangential position) again.
    pub(super) fn project_plain(&self, [view, tangential_pos]: [usize; 2], x: &[f32], planes: &[usize], bins: &mut [f32]) {
        let num_rays = self.num_tangential_rays;
        let weight = 1.0 / (num_rays * self.ray_planes.len()) as f64;
        for &plane in planes {
            let mut sum = 0.0f64;
            for ray in 0..num_rays {
                let transaxial = self.geometry.transaxial_lor(view, tangential_pos, ray, num_rays);
                for ray_planes in &self.ray_planes {
                    let line = self.geometry.lor(transaxial, ray_planes[plane]);
                    let weighted_mm = weight * line.length_mm();
                    walk_parts(&self.voxels, &line, |voxel, [from, to], share| {
                        sum += weighted_mm * share * (to - from) * f64::from(x[self.voxels.place(voxel)]);
                    });
                }
            }
            bins[plane] = sum as f32;
        }
    }
}
