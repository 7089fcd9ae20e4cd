//! The window used for long: many starts and many iterations leave no memory and no threads behind.
//!
//! `TOMOSCOPE_SOAK=1` makes it 2000 starts and 10 000 iterations, some minutes; else a few of each.

use std::time::Duration;

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use sysinfo::{ProcessRefreshKind, ProcessesToUpdate, System};
use tomoscope::ui::App;

use super::{click, finished, wait_for};

const SIZE: [f32; 2] = [1000.0, 700.0];

/// Between two frames.
const FRAME: Duration = Duration::from_millis(10);

/// Resident megabytes and threads of this process.
fn held() -> (f64, usize) {
    let pid = sysinfo::get_current_pid().unwrap();
    let mut system = System::new().unwrap();
    system.refresh_processes_specifics(ProcessesToUpdate::Some(&[pid]), false, ProcessRefreshKind::nothing().with_memory());
    let megabytes = system.process(pid).unwrap().memory() as f64 / f64::from(1 << 20);
    (megabytes, std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count))
}

fn set_iterations(harness: &mut Harness<'_, App>, number: usize) {
    harness.get_by_role_and_label(Role::SpinButton, "Iterations").set_value_accesskit(number as f64);
    harness.run_steps(2);
}

fn restart(harness: &mut Harness<'_, App>) {
    click(harness, "Restart");
    let run = harness.state().work.live().run;
    wait_for(harness, "the run", |app| app.work.live().run == run);
    // Images wait for the next picture to be drawn, of which a window draws one a frame.
    harness.render().unwrap();
    while !harness.state().work.is_run_over() {
        std::thread::sleep(FRAME);
        harness.step();
        harness.render().unwrap();
    }
    harness.run_steps(3);
}

#[test]
fn many_starts_and_iterations_leave_nothing_behind() {
    let is_long = std::env::var_os("TOMOSCOPE_SOAK").is_some();
    let (num_starts, num_iterations) = if is_long { (2000, 10_000) } else { (12, 60) };
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    set_iterations(&mut harness, 2);
    // As many as are kept, and some more for what grows to its size at first.
    let num_first = num_starts / 4;
    (0..num_first.max(6)).for_each(|_| restart(&mut harness));
    let (megabytes, threads) = held();
    (0..num_starts - num_first).for_each(|_| restart(&mut harness));
    let (then, threads_then) = held();
    println!("{num_starts} starts: {megabytes:.0} MB and {threads} threads, then {then:.0} MB and {threads_then} threads");
    // Other tests of this process come and go beside it, unless it is alone.
    if is_long {
        assert!(then < 1.05 * megabytes + 8.0, "{megabytes:.0} MB have become {then:.0}");
        assert!(threads_then <= threads, "{threads} threads have become {threads_then}");
    }
    assert_eq!(harness.state().work.kept_runs().count(), 3);
    set_iterations(&mut harness, num_iterations);
    restart(&mut harness);
    let (end, _) = held();
    println!("{num_iterations} iterations: {end:.0} MB");
    assert_eq!(harness.state().work.live().progress().0 % num_iterations, 0);
    if is_long {
        // Each step leaves its numbers: some hundred bytes, and its regions' sums.
        let megabytes_of_steps = harness.state().work.live().steps.len() as f64 * 2e3 / f64::from(1 << 20);
        assert!(end < then + 256.0 + megabytes_of_steps + 16.0, "{then:.0} MB have become {end:.0}");
    }
}
