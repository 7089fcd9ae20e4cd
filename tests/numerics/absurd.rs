//! Sizes out of all proportion, and work that is stopped: every loop ends.

use tomoscope::algebra::Host;
use tomoscope::data::Direction;
use tomoscope::geometry::{Grid, Line};
use tomoscope::operator::{
    FilteredProjections, Interpolation, MultiStage, OperatorError, OperatorLimit, PlainPlanes, PlaneBackprojector, PlaneSampling,
    Siddon, SingleStage,
};
use tomoscope::phantom::epri::{SweepError, SweepOptions, by_name, simulate};
use tomoscope::recon::{FilterSettings, ProjectionFilter, ReconError};
use tomoscope::scanner::epri::{Scheme, unit_vector};
use tomoscope::scanner::find;
use tomoscope::task::{Stopped, Task};

/// What a run would be refused for.
const MOST_BYTES: u64 = 1 << 26;

fn directions() -> Vec<Direction> {
    [(0.0, 0.0), (0.3, 0.0), (1.57, 0.0), (0.7, 2.0), (3.1, -3.0)].map(|(theta, phi)| unit_vector(theta, phi)).to_vec()
}

#[test]
fn planes_go_to_any_grid_without_a_panic() {
    let mut num_done = 0;
    for voxel_mm in [1e-6, 1e-3, 1.0, 1e6] {
        for origin_mm in [0.0, -1e3, 1e9, -1e9] {
            for step_mm in [1e-300, 1e-9, 1.0, 1e300] {
                for centre in [0.0, 7.5, -1e300, 1e300] {
                    let grid = Grid::new([5, 3, 18], [voxel_mm, 1.0, voxel_mm], [origin_mm, 0.0, -origin_mm]).unwrap();
                    let sampling = PlaneSampling { num_points: 16, step_mm, centre };
                    for interpolation in [Interpolation::Nearest, Interpolation::Linear, Interpolation::Cubic] {
                        let samples = (0..5 * 16).map(f64::from).collect();
                        let filtered = FilteredProjections::new(sampling, interpolation, directions(), samples).unwrap();
                        let mut add = |planes: &mut dyn PlaneBackprojector<Host>| {
                            if planes.scratch_bytes(5, &sampling) <= MOST_BYTES {
                                let mut image = vec![0.0; grid.num_voxels()].into();
                                planes.add(&mut Host, &filtered, &mut image, &Task::new()).unwrap();
                                num_done += 1;
                            }
                        };
                        add(&mut PlainPlanes::new(grid.clone()));
                        add(&mut SingleStage::new(grid.clone()));
                        add(&mut MultiStage::new(grid.clone()));
                    }
                }
            }
        }
    }
    assert!(num_done > 1000, "{num_done}");
}

#[test]
fn two_stages_that_no_memory_holds_are_refused() {
    let grid = Grid::new([5, 3, 18], [1.0; 3], [1e9; 3]).unwrap();
    let sampling = PlaneSampling { num_points: 16, step_mm: 1e-300, centre: 0.0 };
    assert!(MultiStage::new(grid.clone()).scratch_bytes(5, &sampling) > 1 << 60);
    let filtered = FilteredProjections::new(sampling, Interpolation::Linear, directions(), vec![1.0; 80]).unwrap();
    let mut image = vec![0.0; grid.num_voxels()].into();
    let error = MultiStage::new(grid).add(&mut Host, &filtered, &mut image, &Task::new()).unwrap_err();
    assert!(matches!(error, OperatorError::Settings(OperatorLimit::StageMemory { num_azimuths: 3, .. })), "{error:?}");
}

#[test]
fn a_line_ends_in_the_smallest_and_the_largest_voxels() {
    let geometry = std::sync::Arc::new(find("small").unwrap().geometry.clone());
    for voxel_mm in [1e-6, 1e-3, 1.0, 1e6] {
        for size in [[1, 1, 1], [4, 5, 6], [1, 1000, 1]] {
            let grid = Grid::centred(size, [voxel_mm; 3]).unwrap();
            let siddon = Siddon::new(geometry.clone(), grid, 1e3 * voxel_mm, [1, 1]);
            for end in [[70.0, 1e-9, 0.0], [70.0, 70.0, 70.0], [-70.0, 33.3, 1e-7], [0.0, -70.0, 1e6], [1e6, 3e5, 1.0]] {
                let line = Line { start: end.map(|x| -0.9 * x), end };
                let (mut total, mut num) = (0.0, 0);
                siddon.walk(&line, |_, length| {
                    total += length;
                    num += 1;
                });
                assert!(
                    total <= line.length_mm() * (1.0 + 1e-9) && num <= 2 * 1010,
                    "{voxel_mm} {size:?} {end:?}: {total} {num}"
                );
            }
        }
    }
}

#[test]
fn resampling_and_true_images_end_when_they_are_stopped() {
    let options = SweepOptions { scheme: Scheme::with_at_least(30).unwrap(), num_points: 16, ..SweepOptions::default() };
    let phantom = by_name("ball", options.half_extent_mm()).unwrap();
    let sweep = simulate(&phantom, &options, &Task::new()).unwrap();
    let stopped = Task::new();
    stopped.stop();
    let filter = ProjectionFilter::new(&sweep.measured, &FilterSettings::default()).unwrap();
    let error = filter.apply_at_equal_angles(&sweep.measured.projections, [5, 6], &stopped).unwrap_err();
    assert_eq!(error, ReconError::Operator(OperatorError::Stopped(Stopped)));
    let grid = Grid::centred([8; 3], [1.0; 3]).unwrap();
    assert_eq!(phantom.truth(&grid, &stopped).unwrap_err(), Stopped);
    assert_eq!(simulate(&phantom, &options, &stopped).unwrap_err(), SweepError::Stopped(Stopped));
    let scanner = find("small").unwrap();
    let object = tomoscope::phantom::by_name("cylinder", &scanner.geometry).unwrap();
    assert_eq!(object.truth(&grid, 1.0, &stopped).unwrap_err(), Stopped);
}
