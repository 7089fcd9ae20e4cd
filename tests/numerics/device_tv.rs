//! Total variation on a CUDA device against the host.

use std::sync::Arc;

use tomoscope::algebra::Host;
use tomoscope::data::{Sweep, Volume};
use tomoscope::geometry::Grid;
use tomoscope::operator::grid_about_zero;
use tomoscope::recon::{Algorithm, TotalVariation, TotalVariationKernels, TvImages, TvSettings};
use tomoscope::task::Task;

use super::device::device;
use super::support::relative;
use super::tv::sweep_of_noise;

/// The image after some steps, and the objective of the last report that has one.
fn image_of<B: TotalVariationKernels>(
    backend: B,
    sweep: &Sweep,
    grid: &Grid,
    settings: TvSettings,
    images: TvImages,
) -> (Vec<f32>, f64) {
    let mut tv = TotalVariation::new(backend, sweep, &[], grid, settings, images).unwrap();
    let mut objective = 0.0;
    for _ in 0..21 {
        let ascent = tv.step(&Task::new()).unwrap().ascent.unwrap();
        objective = ascent.objective.map_or(objective, |value| value.total());
    }
    (tv.images().unwrap().swap_remove(0), objective)
}

#[test]
fn images_equal_those_of_the_host() {
    let Some(_) = device() else { return };
    // Transforms of 2, 3, 4 and 5; odd sizes; rows that have no partner; more lines than a block has.
    let sizes = [[7, 6, 1], [45, 31, 1], [200, 401, 1], [5, 6, 7], [27, 30, 13], [16, 50, 65]];
    for size in sizes {
        let grid = grid_about_zero(size, [0.4, 0.4, 0.4]).unwrap();
        let sweep = sweep_of_noise(size[2] == 1, 256, 3.7);
        for (is_positive, has_mask) in [(false, false), (true, true)] {
            let mask = |index: usize| if index % 7 < 5 { 1.0 } else { 0.0 };
            let mask = Volume::from_vec(grid.clone(), (0..grid.num_voxels()).map(mask).collect(), Default::default()).unwrap();
            let images = TvImages { init: None, mask: has_mask.then(|| Arc::new(mask)) };
            let settings = TvSettings { strength: 0.05, is_positive, ..TvSettings::default() };
            let expected = image_of(Host, &sweep, &grid, settings, images.clone());
            let found = image_of(device().unwrap(), &sweep, &grid, settings, images.clone());
            let error = relative(&found.0, &expected.0);
            println!("{size:?}, mask {has_mask}: {error:.1e}, objective {:.6e} and {:.6e}", found.1, expected.1);
            assert!(error <= 1e-5, "{size:?}: {error}");
            assert!((found.1 - expected.1).abs() <= 1e-5 * expected.1.abs(), "{size:?}: {} {}", found.1, expected.1);
            let again = image_of(device().unwrap(), &sweep, &grid, settings, images);
            assert!(found.0 == again.0, "{size:?}: not the same bits twice");
        }
    }
}
