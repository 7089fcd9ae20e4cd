//! Figure 9: activity of warps. A warp is 32 neighbouring bins in the paper's order (r fastest, then view). It walks as long as
//! its longest line, so that of its lanes
//!
//! ```text
//! active lanes = 32 · Σ over bins of steps / Σ over warps of (32 · the most steps of a bin)
//! ```
//!
//! are busy on average. In each step the lanes choose the axis of the next crossing. Where the choice is a branch, as in the
//! paper, a step with different choices is divergent. Both follow from the geometry alone: they are counted with the projector's
//! walk, on every `PLANE_STEP`-th sinogram.

use rayon::prelude::*;

use super::plan::Image;
use crate::operator::Siddon;
use crate::reproduce::prelude::*;
use crate::scanner::{Plane, ScanGeometry};

const LANES: usize = 32;
/// Step of the sampled sinograms.
const PLANE_STEP: usize = 28;

/// Work of warps over one image.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Warps {
    /// Mean steps of a line.
    pub steps_per_line: f64,
    /// Mean number of lanes of 32 that work.
    pub active_lanes: f64,
    /// Steps of warps of a whole forward projection.
    pub warp_steps: f64,
    /// Part of these in which lanes choose different axes.
    pub divergent: f64,
}

/// Sums over warps.
#[derive(Clone, Copy, Default)]
struct Sums {
    bins: u64,
    steps: u64,
    warp_steps: u64,
    divergent: u64,
}

impl std::iter::Sum for Sums {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |a, b| Self {
            bins: a.bins + b.bins,
            steps: a.steps + b.steps,
            warp_steps: a.warp_steps + b.warp_steps,
            divergent: a.divergent + b.divergent,
        })
    }
}

/// Walks the lines of the sampled sinograms.
pub fn warps(geometry: &Arc<ScanGeometry>, image: &Image) -> Result<Warps, ReproduceError> {
    let grid = image.grid()?;
    let strides = [1, grid.size[0], grid.size[0] * grid.size[1]];
    let siddon = Siddon::new(Arc::clone(geometry), grid, image.fov_radius_mm(), [1, 1]);
    let planes: Vec<Plane> = geometry.planes().into_iter().step_by(PLANE_STEP).collect();
    let num_bins = geometry.num_transaxial();
    // 32 views are whole warps for any number of bins.
    let stretch = LANES * geometry.num_tangential;
    let stretches: Vec<(Plane, usize)> =
        planes.iter().flat_map(|plane| (0..num_bins).step_by(stretch).map(|first| (*plane, first))).collect();
    let of_stretch = |&(plane, first): &(Plane, usize)| {
        let mut lanes: Vec<Vec<u8>> = vec![Vec::new(); LANES];
        let warps = (first..num_bins.min(first + stretch)).step_by(LANES).map(|warp| {
            let mut bins = 0;
            for (lane, axes) in lanes.iter_mut().enumerate() {
                axes.clear();
                if warp + lane < num_bins {
                    axes_of_line(&siddon, geometry, warp + lane, plane, strides, axes);
                    bins += 1;
                }
            }
            Sums { bins, ..of_warp(&lanes) }
        });
        warps.sum::<Sums>()
    };
    let sums: Sums = stretches.par_iter().map(of_stretch).sum();
    let part = planes.len() as f64 / geometry.num_planes() as f64;
    Ok(Warps {
        steps_per_line: sums.steps as f64 / sums.bins as f64,
        active_lanes: LANES as f64 * sums.steps as f64 / (LANES as u64 * sums.warp_steps).max(1) as f64,
        warp_steps: sums.warp_steps as f64 / part,
        divergent: sums.divergent as f64 / sums.warp_steps.max(1) as f64,
    })
}

/// Appends the axis along which each step of a bin's line leaves its voxel; the last step leaves the image (3).
fn axes_of_line(
    siddon: &Siddon,
    geometry: &ScanGeometry,
    transaxial: usize,
    plane: Plane,
    strides: [usize; 3],
    axes: &mut Vec<u8>,
) {
    let (view, tangential_pos) = (transaxial / geometry.num_tangential, transaxial % geometry.num_tangential);
    let line = geometry.lor(geometry.transaxial_lor(view, tangential_pos, 0, 1), plane);
    let mut last = None;
    siddon.walk(&line, |voxel, _| {
        if let Some(last) = last.replace(voxel) {
            axes.push(strides.iter().position(|&stride| stride == voxel.abs_diff(last)).unwrap_or(3) as u8);
        }
    });
    if last.is_some() {
        axes.push(3);
    }
}

/// Returns the steps of a warp's lanes.
fn of_warp(lanes: &[Vec<u8>]) -> Sums {
    let max_steps = lanes.iter().map(Vec::len).max().unwrap_or(0);
    let is_divergent = |step: &usize| {
        let mut axes = lanes.iter().filter_map(|axes| axes.get(*step));
        axes.next().is_some_and(|first| axes.any(|axis| axis != first))
    };
    Sums {
        bins: 0,
        steps: lanes.iter().map(|axes| axes.len() as u64).sum(),
        warp_steps: max_steps as u64,
        divergent: (0..max_steps).filter(is_divergent).count() as u64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_walks_as_long_as_its_longest_line() {
        let sums = of_warp(&[vec![0, 0, 1, 3], vec![0, 1, 1, 3], vec![0, 3], vec![]]);
        assert_eq!((sums.steps, sums.warp_steps, sums.divergent), (10, 4, 1));
        assert_eq!(of_warp(&[vec![], vec![]]).warp_steps, 0);
    }

    /// Through an image of one voxel every line that hits takes one step, and lanes of a warp are busy in the share in
    /// which its lines hit.
    #[test]
    fn lines_through_one_voxel_take_one_step() {
        let geometry = Arc::new(crate::scanner::find("small").unwrap().geometry.clone());
        let image = Image { name: "", title: "", size: [1; 3], width_mm: 60.0, height_mm: 40.0 };
        let found = warps(&geometry, &image).unwrap();
        assert!(found.steps_per_line > 0.1 && found.steps_per_line < 1.0, "{found:?}");
        assert!(found.active_lanes > 1.0 && found.active_lanes < 32.0, "{found:?}");
        assert_eq!(found.divergent, 0.0);
    }
}
