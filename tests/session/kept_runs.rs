//! Histories of several runs: those of retained runs remain during another run.

use tomoscope::measure::widths_along;
use tomoscope::session::{
    Answer, Control, Event, EventKind, HistoryChange, PeakLine, PeaksPoint, Query, RegionSums, RoiSet, RunId, SessionOptions,
};

use super::script::{Script, Watcher, ball, regions, scripted, value_of};

const VOLUME_BYTES: u64 = 4 * 4 * 4 * 3;

/// Returns a watcher of runs of one subset with room for this number of stored iterates, as an option.
fn watcher(num_images: u64) -> Watcher {
    let options = SessionOptions { history_bytes: num_images * VOLUME_BYTES, ..SessionOptions::default() };
    Watcher::with_options(options, scripted(|_| Script::new(1)), |_| {})
}

/// Starts a run of this number of iterations and waits for its end.
fn finished(watcher: &mut Watcher, num_iterations: usize) -> RunId {
    let run = watcher.start(num_iterations, RoiSet::default(), false);
    watcher.wait_for_end(run);
    run
}

/// Returns the stored iterations of a run, after a check of the images.
fn iterations(watcher: &Watcher, run: RunId) -> Vec<usize> {
    let past = watcher.session.history(run);
    assert!(past.iter().all(|kept| kept.id.run == run && kept.volume.as_slice()[0] == value_of(run as usize, kept.id.iteration)));
    past.iter().map(|kept| kept.id.iteration).collect()
}

#[test]
fn the_past_of_a_kept_run_stays_until_it_is_let_go() {
    let mut watcher = watcher(100);
    let first = finished(&mut watcher, 3);
    watcher.session.send(HistoryChange::Retain(first));
    let second = watcher.start(1000, RoiSet::default(), true);
    watcher.wait_for(0, |event| event.run == second && matches!(event.kind, EventKind::Paused));
    watcher.session.send(Control::StepOnce);
    watcher.wait_for(0, |event| event.run == second && matches!(event.kind, EventKind::Iterate(_)));
    assert_eq!((iterations(&watcher, first), iterations(&watcher, second)), (vec![1, 2, 3], vec![1]));
    watcher.session.send(HistoryChange::Release(first));
    assert_eq!((iterations(&watcher, first), iterations(&watcher, second)), (vec![], vec![1]));
    // The second run was not retained.
    let third = finished(&mut watcher, 2);
    assert_eq!((iterations(&watcher, second), iterations(&watcher, third)), (vec![], vec![1, 2]));
}

#[test]
fn a_run_can_be_kept_before_it_has_begun_and_let_go_before_another_has() {
    for _ in 0..50 {
        let mut watcher = watcher(100);
        let first = watcher.start(2, RoiSet::default(), false);
        watcher.session.send(HistoryChange::Retain(first));
        watcher.wait_for_end(first);
        let second = watcher.start(2, RoiSet::default(), false);
        watcher.wait_for_end(second);
        assert_eq!(iterations(&watcher, first), [1, 2]);
        watcher.session.send(HistoryChange::Retain(second));
        let third = watcher.start(2, RoiSet::default(), false);
        watcher.session.send(HistoryChange::Release(first));
        watcher.wait_for_end(third);
        assert_eq!((iterations(&watcher, first), iterations(&watcher, second)), (vec![], vec![1, 2]));
    }
}

#[test]
fn the_budget_is_for_all_runs_together() {
    let mut watcher = watcher(8);
    let first = finished(&mut watcher, 8);
    assert_eq!(iterations(&watcher, first), [1, 2, 3, 4, 5, 6, 7, 8]);
    watcher.session.send(HistoryChange::Retain(first));
    let second = finished(&mut watcher, 5);
    assert_eq!((iterations(&watcher, first), iterations(&watcher, second)), (vec![2, 4, 6, 8], vec![2, 4, 5]));
    watcher.session.send(HistoryChange::Retain(second));
    let third = finished(&mut watcher, 41);
    let pasts = [first, second, third].map(|run| iterations(&watcher, run));
    assert!(pasts.iter().map(Vec::len).sum::<usize>() <= 8, "{pasts:?}");
    assert_eq!(pasts.each_ref().map(|past| past.last().copied()), [Some(8), Some(5), Some(41)]);
}

#[test]
fn regions_are_measured_on_the_past_of_a_kept_run() {
    let mut watcher = watcher(100);
    let first = finished(&mut watcher, 3);
    watcher.session.send(HistoryChange::Retain(first));
    let second = finished(&mut watcher, 2);
    // In one breath: neither makes the measurer forget the other.
    watcher.session.send(Control::Measure(first, Query::Regions(ball(5))));
    watcher.session.send(Control::SetRois(ball(6)));
    for (run, branch, num_points) in [(first, 5, 3), (second, 6, 2)] {
        let is_told = |event: &Event| event.run == run && regions(event).is_some();
        let event = watcher.wait_for(0, is_told);
        let RegionSums { branch: found, points, .. } = regions(&event).unwrap().clone();
        assert_eq!((found, points.len()), (branch, num_points));
        for (kept, (iteration, _, sums)) in watcher.session.history(run).iter().zip(points) {
            let masks = ball(branch).rois.masks(&kept.volume.grid);
            assert_eq!((iteration, sums), (kept.id.iteration, vec![masks[0].sums(kept.volume.as_slice())]));
        }
    }
}

fn peaks(event: &Event) -> Option<&(PeakLine, PeaksPoint)> {
    if let EventKind::Measured(Answer::Peaks(peaks)) = &event.kind { Some(peaks) } else { None }
}

#[test]
fn peaks_are_measured_on_what_is_kept_and_on_what_comes() {
    let mut watcher = watcher(100);
    let first = finished(&mut watcher, 3);
    watcher.session.send(HistoryChange::Retain(first));
    let second = watcher.start(2, RoiSet::default(), true);
    watcher.wait_for(0, |event| event.run == second && matches!(event.kind, EventKind::Paused));
    let line = |y_mm| PeakLine { ends_mm: [[-2.0, y_mm, 0.0], [2.0, y_mm, 0.0]], width_mm: 0.0 };
    [first, second].into_iter().for_each(|run| _ = watcher.session.send(Control::Measure(run, Query::Peaks(Some(line(0.0))))));
    watcher.session.send(Control::Resume);
    watcher.wait_for_end(second);
    // Each image once, in their order, however many come at a time.
    let points = |watcher: &mut Watcher, run: RunId, line: PeakLine, num: usize| {
        let mut found: Vec<PeaksPoint> = Vec::new();
        let mut from = 0;
        while found.len() < num {
            let is_told = |event: &Event| event.run == run && peaks(event).is_some_and(|(of, _)| *of == line);
            let event = watcher.wait_for(from, is_told);
            from = watcher.events.iter().skip(from).position(is_told).unwrap() + from + 1;
            found.push(peaks(&event).unwrap().1.clone());
        }
        let images = watcher.session.history(run);
        let expected = images.iter().map(|kept| PeaksPoint {
            iteration: kept.id.iteration,
            subiteration: kept.id.subiteration,
            widths: widths_along(&kept.volume, line.ends_mm, line.width_mm),
        });
        assert_eq!(found, expected.collect::<Vec<_>>());
    };
    points(&mut watcher, first, line(0.0), 3);
    points(&mut watcher, second, line(0.0), 2);
    // A moved line is measured on the stored iterates too; a removed one is not.
    watcher.session.send(Control::Measure(first, Query::Peaks(None)));
    watcher.session.send(Control::Measure(second, Query::Peaks(Some(line(1.0)))));
    points(&mut watcher, second, line(1.0), 2);
    let moved = |event: &&Event| event.run == first && peaks(event).is_some_and(|(of, _)| *of != line(0.0));
    assert_eq!(watcher.events.iter().filter(moved).count(), 0);
}

#[test]
fn the_residual_of_an_iteration_is_that_of_its_steps_together() {
    // Step k of the script leaves k squares over 4 expected.
    let mut watcher = Watcher::with_options(SessionOptions::default(), scripted(|_| Script::new(2)), |_| {});
    let run = finished(&mut watcher, 2);
    let found: Vec<_> = watcher.iterates(run).iter().map(|report| report.residual).collect();
    assert_eq!(found, [None, Some(3.0 / 8.0), None, Some(7.0 / 8.0)]);
}
