//! Check of a resolution model against an image.

use crate::data::{Notice, Psf};
use crate::geometry::Grid;
use crate::operator::{effective_fwhm_mm, is_coarse};
use crate::plan::problem::SetupProblem;

const AXES: [char; 3] = ['x', 'y', 'z'];

/// Returns notices about the widths of a resolution model in an image.
///
/// # Errors
/// A width that is larger than the image.
pub fn check_psf(psf: &Psf, grid: &Grid) -> Result<Vec<Notice>, SetupProblem> {
    let widths: Vec<[f64; 3]> = match psf {
        Psf::Everywhere(fwhm_mm) => vec![*fwhm_mm],
        // Directions away from the axis are along x and along y.
        Psf::ByRadius(rows) => rows
            .iter()
            .flat_map(|row| {
                let [radial, tangential, axial] = row.fwhm_mm();
                [[radial, tangential, axial], [tangential, radial, axial]]
            })
            .collect(),
    };
    let mut coarse = Vec::new();
    for (axis, name) in AXES.into_iter().enumerate() {
        let (voxel_mm, extent_mm) = (grid.voxel_mm[axis], grid.voxel_mm[axis] * grid.size[axis] as f64);
        let of_axis = || widths.iter().map(|width| width[axis]);
        let widest = of_axis().fold(0.0, f64::max);
        // (An image of one slice is not convolved along the axis in any case.)
        if widest > extent_mm && grid.size[axis] > 1 {
            return Err(SetupProblem::WidePsf { fwhm_mm: widest, axis: name, extent_mm });
        }
        let narrowest = of_axis().filter(|width| is_coarse(*width, voxel_mm)).fold(f64::INFINITY, f64::min);
        if narrowest.is_finite() {
            let acts_as = effective_fwhm_mm(narrowest, voxel_mm);
            coarse.push(format!("{narrowest} mm along {name} acts as {acts_as:.2} mm"));
        }
    }
    let text = || {
        format!(
            "the resolution model has widths below 1.5 voxels, which voxels of this size cannot show: {}; choose smaller voxels",
            coarse.join(", ")
        )
    };
    Ok(if coarse.is_empty() { Vec::new() } else { vec![Notice::warning(text())] })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_that_voxels_cannot_show_are_named_and_others_are_not() {
        let grid = Grid::centred([20, 20, 10], [2.0, 2.0, 4.0]).unwrap();
        let check = |text: &str| check_psf(&text.parse().unwrap(), &grid);
        assert_eq!(check("3,3,6"), Ok(Vec::new()));
        let notices = check("3,3,4").unwrap();
        assert!(notices.len() == 1 && notices[0].text.contains("4 mm along z acts as 3."), "{notices:?}");
        assert_eq!(check("3,41,6"), Err(SetupProblem::WidePsf { fwhm_mm: 41.0, axis: 'y', extent_mm: 40.0 }));
    }
}
