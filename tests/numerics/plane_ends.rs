//! Where filtered projections jump: at their first and last samples, and half-way between samples that are not interpolated.
//! Voxels that line up with samples lie exactly there, and every program has to decide alike.

use strum::VariantArray as _;
use tomoscope::algebra::Simd;
use tomoscope::data::Direction;
use tomoscope::geometry::Grid;
use tomoscope::operator::{
    FilteredProjections, Interpolation, MultiStage, PlainPlanes, PlaneSampling, SingleStage, grid_about_zero,
};

use super::fbp::equal_solid_angle;
use super::support::{noise, planes_by, planes_by_definition, relative};

const NUM_POINTS: usize = 21;
/// Not a sum of few powers of two: positions are rounded.
const STEP_MM: f64 = 0.3;

/// Samples far from zero up to the ends.
pub fn high_at_the_ends(
    interpolation: Interpolation,
    directions: Vec<Direction>,
    num_points: usize,
    centre: f64,
) -> FilteredProjections {
    let samples = noise(7, directions.len() * num_points).iter().map(|&value| 1.0 + f64::from(value)).collect();
    FilteredProjections::new(PlaneSampling { num_points, step_mm: STEP_MM, centre }, interpolation, directions, samples).unwrap()
}

/// A grid that lines up with samples across it and has voxels beyond both ends.
pub fn lined_up(size: [usize; 3]) -> Grid {
    grid_about_zero(size, [STEP_MM; 3]).unwrap()
}

/// Sample m of the projection along x is what the plane of voxels m − 2 gets, and nothing lies beyond.
#[test]
fn a_voxel_on_the_first_or_the_last_sample_is_inside() {
    let grid = lined_up([NUM_POINTS + 4, 17, 3]);
    let samples = high_at_the_ends(Interpolation::Linear, vec![[1.0, 0.0, 0.0]], NUM_POINTS, 10.0).values;
    for (direction, interpolation) in [1.0, -1.0]
        .into_iter()
        .flat_map(|x| Interpolation::VARIANTS.iter().map(move |&interpolation| ([x, 0.0, 0.0], interpolation)))
    {
        let projections = high_at_the_ends(interpolation, vec![direction], NUM_POINTS, 10.0);
        let mut volumes = vec![("plain".to_owned(), planes_by(&mut PlainPlanes::new(grid.clone()), &projections))];
        for simd in Simd::available() {
            let mut fast = SingleStage::new(grid.clone()).with_simd(simd);
            volumes.push((simd.name().to_owned(), planes_by(&mut fast, &projections)));
        }
        volumes.push(("two stages".to_owned(), planes_by(&mut MultiStage::new(grid.clone()), &projections)));
        for (program, volume) in volumes {
            for (voxel, &value) in volume.iter().enumerate() {
                let m = voxel % grid.size[0];
                let at = if direction[0] > 0.0 { m.checked_sub(2) } else { (NUM_POINTS + 1).checked_sub(m) };
                let expected = at.and_then(|at| samples.get(at)).copied().unwrap_or(0.0);
                assert!(
                    (f64::from(value) - expected).abs() <= 2e-6,
                    "{program}, {interpolation}, {direction:?}, voxel {m}: {value}, not {expected}"
                );
            }
        }
    }
}

#[test]
fn half_way_between_samples_the_later_one_is_nearest() {
    let grid = lined_up([NUM_POINTS, 17, 2]);
    let projections = high_at_the_ends(Interpolation::Nearest, vec![[1.0, 0.0, 0.0]], NUM_POINTS, 9.5);
    let mut volumes = vec![planes_by_definition(&grid, &projections)];
    volumes.extend(Simd::available().into_iter().map(|simd| {
        let mut fast = SingleStage::new(grid.clone()).with_simd(simd);
        planes_by(&mut fast, &projections)
    }));
    for volume in volumes {
        for (voxel, &value) in volume.iter().enumerate() {
            let m = voxel % NUM_POINTS;
            // The first plane lies half a sample before the projection.
            let expected = if m == 0 { 0.0 } else { projections.values[m] };
            assert_eq!(value, expected as f32, "voxel {m}");
        }
    }
}

/// The whole grid lines up along the axes, and every end is a jump. Fine voxels and coarse ones.
#[test]
fn jumps_do_not_part_the_fast_backprojection_from_the_plain_one() {
    let mut all: Vec<Direction> = equal_solid_angle(10).iter().map(|(direction, _)| *direction).collect();
    all.extend([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0], [0.6, 0.8, 0.0], [0.0, 0.28, -0.96]]);
    for voxel_mm in [STEP_MM, 2.0 * STEP_MM, 4.0 * STEP_MM, 12.0 * STEP_MM] {
        let grid = grid_about_zero([45, 23, 17], [voxel_mm; 3]).unwrap();
        for &interpolation in Interpolation::VARIANTS {
            for centre in [10.0, 9.5] {
                let projections = high_at_the_ends(interpolation, all.clone(), NUM_POINTS, centre);
                let truth = planes_by_definition(&grid, &projections);
                for simd in Simd::available() {
                    let error = relative(&planes_by(&mut SingleStage::new(grid.clone()).with_simd(simd), &projections), &truth);
                    println!("{interpolation}, {}, {voxel_mm} mm, {centre}: {error:.1e}", simd.name());
                    assert!(error <= 2e-6);
                }
            }
        }
    }
}
