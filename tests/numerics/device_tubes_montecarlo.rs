//! The Monte Carlo of tubes on a CUDA device against the host: the same seed, the same histories.

use tomoscope::cuda::TubesMonteCarlo;
use tomoscope::data::TubeSampling;
use tomoscope::montecarlo::{AnnihilationPhysics, Coincidences, HistoryError, HistorySimulator, Isotope, TallySums, TubeTally};
use tomoscope::scanner::{Heads, ScanGeometry, find};
use tomoscope::task::Task;

use super::coincidences::pair;
use super::device::device;

/// Share of the histories that may differ between devices.
const MAY_DIFFER: f64 = 1e-4;

/// Scanners with everything that happens to photons, and with as little as possible.
fn cases() -> Vec<(ScanGeometry, Heads, AnnihilationPhysics)> {
    let of_catalogue = |name: &str| {
        let scanner = find(name).unwrap();
        (scanner.geometry.clone(), scanner.heads.clone().unwrap())
    };
    let [(vrpet, four_heads), (parallel, two_heads)] = ["vrpet", "vrpet-2010"].map(of_catalogue);
    let (few_bins, exact_heads) = pair(4, 2.0, 10.0);
    vec![
        (vrpet, four_heads, AnnihilationPhysics::of(Isotope::F18)),
        (parallel, two_heads, AnnihilationPhysics::of(Isotope::Ga68)),
        (few_bins, exact_heads, AnnihilationPhysics::IDEAL),
    ]
}

fn tally((geometry, heads, physics): &(ScanGeometry, Heads, AnnihilationPhysics)) -> TubeTally {
    let coincidences = Coincidences::new(geometry.clone(), heads.clone(), *physics).unwrap();
    TubeTally::new(coincidences, TubeSampling::of(geometry), 11)
}

/// Half the sum of the differences over the sum: the share of what was counted that went elsewhere.
fn share_elsewhere(found: &[u64], expected: &[u64]) -> f64 {
    let differences: f64 = found.iter().zip(expected).map(|(a, b)| a.abs_diff(*b) as f64).sum();
    0.5 * differences / expected.iter().map(|sum| *sum as f64).sum::<f64>()
}

#[test]
fn a_seed_means_the_same_on_the_device() {
    let Some(device) = device() else { return };
    let mut device = TubesMonteCarlo::new(device).unwrap();
    for case in cases() {
        let [mut on_host, mut on_device] = [tally(&case), tally(&case)];
        on_host.add(1_000_000, &Task::new()).unwrap();
        // In two parts, which are to go on where the first ended.
        device.simulate(&mut on_device, 300_000, &Task::new()).unwrap();
        device.simulate(&mut on_device, 700_000, &Task::new()).unwrap();
        assert_eq!(on_device.num_histories, 1_000_000);
        let [TallySums { sums, squares, totals }, expected] = [on_device.sums(), on_host.sums()];
        let shares = [(&sums, &expected.sums), (&squares, &expected.squares)].map(|(a, b)| share_elsewhere(a, b));
        let elsewhere = share_elsewhere(&totals, &expected.totals);
        println!("{}: {shares:?} elsewhere, of the totals {elsewhere:.1e}", case.0.scanner);
        assert!(expected.totals[0] > 0 && shares.into_iter().chain([elsewhere]).all(|share| share <= MAY_DIFFER));
        let [found, expected] = [&on_device, &on_host].map(|tally| tally.precision(tomoscope::data::SuperLors::NONE).unwrap());
        assert!((found.median_percent / expected.median_percent - 1.0).abs() < 1e-3, "{found:?} {expected:?}");
        assert!((found.outside_percent - expected.outside_percent).abs() < 0.01, "{found:?} {expected:?}");
    }
}

#[test]
fn the_device_gives_the_same_bits_again_in_parts_of_any_size() {
    let Some(device) = device() else { return };
    let mut device = TubesMonteCarlo::new(device).unwrap();
    let case = cases().remove(0);
    let [mut whole, mut in_parts] = [tally(&case), tally(&case)];
    device.simulate(&mut whole, 200_001, &Task::new()).unwrap();
    for num in [1, 77_000, 123_000] {
        device.simulate(&mut in_parts, num, &Task::new()).unwrap();
    }
    let [whole, in_parts] = [whole.sums(), in_parts.sums()];
    assert!(whole.totals[0] > 0 && whole.sums == in_parts.sums && whole.squares == in_parts.squares);
    assert_eq!(whole.totals, in_parts.totals);
}

#[test]
fn a_stopped_task_stops_the_histories_and_leaves_the_tally() {
    let Some(device) = device() else { return };
    let mut device = TubesMonteCarlo::new(device).unwrap();
    let mut tally = tally(&cases().remove(0));
    let task = Task::new();
    task.stop();
    assert!(matches!(device.simulate(&mut tally, 1 << 40, &task), Err(HistoryError::Stopped(_))));
    // While it is under way.
    let task = Task::new();
    let stopped = std::thread::scope(|scope| {
        let stopped = scope.spawn(|| device.simulate(&mut tally, 1 << 40, &task));
        while task.progress().0 == 0 && !stopped.is_finished() {
            std::thread::yield_now();
        }
        task.stop();
        stopped.join().unwrap()
    });
    assert!(matches!(stopped, Err(HistoryError::Stopped(_))), "{stopped:?}");
    assert_eq!((tally.num_histories, tally.sums().totals), (0, [0, 0]));
    // The next histories begin afresh.
    device.simulate(&mut tally, 1000, &Task::new()).unwrap();
    assert_eq!(tally.num_histories, 1000);
}
