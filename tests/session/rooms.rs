//! A system that the program does not know, of public parts alone, through a live session.

use tomoscope::algebra::{Host, HostArray, Image};
use tomoscope::data::{Roi, RoiRole, RoiShape};
use tomoscope::operator::{Accumulation, LinearOperator as _, Subset};
use tomoscope::session::{Command, EndReason, RoiSet};
use tomoscope::task::Task;

use super::script::Watcher;
use super::toy;

fn roi() -> Roi {
    Roi { role: RoiRole::Background, ..Roi::new("middle", RoiShape::Sphere { radius_mm: 11.0 }, [3.0, -2.0, 1.0]) }
}

#[test]
fn gaussians_are_reconstructed_from_events_as_the_matrix_written_out_says() {
    let voxel_mask = roi().mask(&toy::grid());
    for (num_subsets, num_iterations) in [(1, 6), (3, 4)] {
        let mut watcher = Watcher::new(toy::setup());
        let (job, rois) = (toy::job(num_subsets, num_iterations), RoiSet { branch: 1, rois: vec![roi()].into() });
        let run = watcher.session.send(Command::Start { job, rois, paused: false });
        assert_eq!(watcher.wait_for_end(run), EndReason::Completed);
        let iterates = watcher.iterates(run);
        assert_eq!(iterates.len(), num_subsets * num_iterations);
        for iteration in 1..=num_iterations {
            let expected: Vec<f32> = toy::reference(num_subsets, iteration).iter().map(|&value| value as f32).collect();
            let measured = &iterates[iteration * num_subsets - 1].roi_sums[0];
            let sums = voxel_mask.sums(&expected);
            assert!(measured.num_voxels > 20 && (measured.sum - sums.sum).abs() <= 1e-5 * sums.sum, "{measured:?} {sums:?}");
            assert!((measured.max - sums.max).abs() <= 1e-5 * sums.max, "{measured:?} {sums:?}");
        }
        let shown = watcher.shown.as_ref().unwrap();
        assert_eq!(shown.id.subiteration, num_subsets * num_iterations);
        let expected = toy::reference(num_subsets, num_iterations);
        let largest = expected.iter().copied().fold(0.0, f64::max);
        for (found, expected) in shown.volume.as_slice().iter().zip(&expected) {
            assert!((f64::from(*found) - expected).abs() <= 1e-5 * largest, "{found} {expected}");
        }
        // The image is no longer the one that it began with.
        let flat = toy::reference(num_subsets, 0);
        assert!(expected.iter().zip(&flat).any(|(end, start)| (end - start).abs() > 0.3 * largest));
    }
}

#[test]
fn a_composed_operator_is_the_adjoint_of_its_adjoint() {
    let (operator, [num_events, num_gaussians]) = toy::composed();
    for subset in [Subset::ALL, Subset { index: 1, count: 3 }] {
        let len = subset.views(num_events).len();
        let x: HostArray<Image> = (0..num_gaussians).map(|j| (j * j % 17) as f32 / 17.0).collect::<Vec<_>>().into();
        let q: Vec<f32> = (0..len).map(|i| (i * i % 23) as f32 / 23.0).collect();
        let (mut there, mut back) = (vec![0.0; len].into(), HostArray::<Image>::from(vec![0.0; num_gaussians]));
        operator.apply(&mut Host, subset, &x, &mut there, &Task::new()).unwrap();
        operator.adjoint(&mut Host, subset, &q.clone().into(), Accumulation::Deterministic, &mut back, &Task::new()).unwrap();
        let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
        let (left, right) = (dot(&there, &q), dot(&x, &back));
        assert!(left > 0.0 && (left - right).abs() <= 1e-6 * left, "{left} {right}");
    }
}
