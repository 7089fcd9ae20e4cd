//! The constants of the kernels of events (`shaders/compute/events`), and the positions of crystals.

use std::fmt::Write as _;

use crate::algebra::FieldOfView;
use crate::geometry::{FACE_TOLERANCE_VOXELS, Grid, Point};
use crate::operator::{END_MARGIN, EventRays, Misfit, TofKernel};

/// Fractional bits of a position.
const FRACTION_BITS: i32 = 40;

/// A position farther away than this, in voxels, has no room in 64 bits.
const MAX_VOXELS: f64 = (1 << 22) as f64;

/// Returns x, y, z of points in units of 2^-40 voxels; voxel i spans i … i + 1.
///
/// # Errors
/// A point that is millions of voxels away.
pub(super) fn positions(points: &[Point], grid: &Grid) -> Result<Vec<i64>, Misfit> {
    let voxels = points.iter().flat_map(|point| grid.voxel_from_mm(*point)).map(|u| u + 0.5);
    let unit = f64::from(FRACTION_BITS).exp2();
    voxels.map(|u| if u.abs() < MAX_VOXELS { Ok((u * unit).round() as i64) } else { Err(Misfit::FarImage) }).collect()
}

/// Returns the declarations that precede the text of the kernels; images are `[y][x][z]`.
pub(super) fn constants(rays: &EventRays, grid: &Grid, fov: &FieldOfView, kernel: Option<&TofKernel>) -> String {
    let [nx, ny, nz] = grid.size;
    let [x_mm, y_mm, z_mm] = grid.voxel_mm;
    let terms = kernel.map(TofKernel::terms).unwrap_or_default();
    let unit = f64::from(FRACTION_BITS).exp2();
    let mut text = format!(
        "const SIZE = vec3i({nx}, {ny}, {nz});\n\
         const STRIDES = vec3i({nz}, {}, 1);\n\
         const VOXEL_MM = vec3f({:e}, {:e}, {:e});\n\
         const LOW_MM = vec2f({:e}, {:e});\n\
         const NUM_CRYSTALS: u32 = {}u;\n\
         const NUM_RAYS: u32 = {}u;\n\
         const FACE_SHIFT: u32 = {}u;\n\
         const FACE_DISTANCE: u32 = {}u;\n\
         const HAS_TOF: bool = {};\n",
        nx * nz,
        x_mm as f32,
        y_mm as f32,
        z_mm as f32,
        grid.extent_mm(0)[0] as f32,
        grid.extent_mm(1)[0] as f32,
        rays.num_crystals(),
        rays.num_rays(),
        // The first is less than the tolerance, the second at most the tolerance.
        (FACE_TOLERANCE_VOXELS * unit).ceil(),
        (FACE_TOLERANCE_VOXELS * 2.0 * unit).floor(),
        kernel.is_some(),
    );
    let sigma_mm = kernel.map_or(1.0, TofKernel::sigma_mm);
    let numbers = [
        // Wider by far more than the rounding.
        ("CLIP_RADIUS_MM", (fov.path_radius_mm + 0.01 * x_mm.min(y_mm)) as f32),
        ("SHARE", 1.0 / rays.num_rays() as f32),
        ("END_MARGIN", END_MARGIN as f32),
        ("REACH_MM", kernel.map_or(0.0, |kernel| kernel.reach_mm([0.0; 2])[1]) as f32),
        ("MIN_WIDTH_MM", (TofKernel::MIN_WIDTH * sigma_mm) as f32),
        ("REACH", terms.reach),
        ("T_SCALE", terms.scale),
        ("PER_SIGMA", terms.per_sigma),
    ];
    for (name, value) in numbers {
        // A string takes everything.
        let _ = writeln!(text, "const {name}: f32 = {value:e}f;");
    }
    for (name, terms) in [("cumulative_terms", terms.cumulative), ("density_terms", terms.density)] {
        let _ = writeln!(text, "fn {name}(v: f32) -> f32 {{\n    var sum = 0.0;");
        terms.iter().rev().for_each(|term| {
            let _ = writeln!(text, "    sum = fma(sum, v, {term:e}f);");
        });
        let _ = writeln!(text, "    return sum;\n}}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_voxels_in_units_of_2_to_the_minus_40() {
        let grid = Grid::new([4, 4, 4], [2.0, 4.0, 1.0], [0.0; 3]).unwrap();
        // The middle of the first voxel lies at 0 mm.
        let found = positions(&[[0.0, 8.0, -0.5], [-1.0, 1.0, 1e-9]], &grid).unwrap();
        let unit = 1i64 << 40;
        assert_eq!(found[..5], [unit / 2, 5 * unit / 2, 0, 0, 3 * unit / 4]);
        assert!((found[5] - unit / 2 - 1100).abs() <= 1, "{}", found[5] - unit / 2);
        assert_eq!(positions(&[[0.0, 0.0, 5e6]], &grid), Err(Misfit::FarImage));
    }
}
