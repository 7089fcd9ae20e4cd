//! Sweeps that are still being written.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use tomoscope::data::{Projection, Severity};
use tomoscope::io::{SweepFollower, SweepUpdate, follow_sweep, read_sweep, write_sweep};

use super::sweep_forms::ball;
use super::{assert_brief, bytes_of, folder, sweeps};

fn append(path: &Path, bytes: &[u8]) {
    OpenOptions::new().create(true).append(true).open(path).unwrap().write_all(bytes).unwrap();
}

fn assert_nothing(update: &SweepUpdate) {
    assert_eq!(update, &SweepUpdate::default());
}

fn only_warning(update: &SweepUpdate) -> &str {
    let [notice] = &update.notices[..] else { panic!("{:?}", update.notices) };
    assert_eq!((notice.severity, update.projections.len()), (Severity::Warning, 0));
    &notice.text
}

#[test]
fn projections_arrive_as_they_become_complete() {
    let folder = folder();
    let path = sweeps::put(folder.path(), &[], "float 8", true);
    let data = path.with_extension("DTA");
    let bytes = fs::read(&data).unwrap();
    let whole = read_sweep(&path, None).unwrap();
    fs::remove_file(&data).unwrap();
    let (sweep, mut follower) = follow_sweep(&path, None).unwrap();
    assert_eq!((sweep.measured.num_complete(), sweep.measured.num_expected), (0, Some(4)));
    // Not there yet: said once.
    assert!(only_warning(&follower.poll()).contains("a-proj.DTA: opening the file failed"));
    assert_nothing(&follower.poll());
    // Half a projection waits; one and a half give one.
    append(&data, &bytes[..20]);
    assert!(follower.poll().projections.is_empty());
    append(&data, &bytes[20..48]);
    let mut read: Vec<Projection> = follower.poll().projections;
    assert_eq!(read, whole.measured.projections[..1]);
    assert_nothing(&follower.poll());
    assert!(!follower.is_finished());
    append(&data, &bytes[48..]);
    read.extend(follower.poll().projections);
    assert_eq!(read, whole.measured.projections);
    assert!(follower.is_finished());
    fs::remove_file(&data).unwrap();
    assert_nothing(&follower.poll());
}

#[test]
fn a_file_that_gets_shorter_is_told_once_and_goes_on_when_it_has_grown_again() {
    let folder = folder();
    let path = sweeps::put(folder.path(), &[], "float 8", true);
    let data = path.with_extension("DTA");
    let bytes = fs::read(&data).unwrap();
    fs::write(&data, &bytes[..64]).unwrap();
    let (_, mut follower) = follow_sweep(&path, None).unwrap();
    assert_eq!(follower.poll().projections.len(), 2);
    fs::write(&data, &bytes[..40]).unwrap();
    let update = follower.poll();
    assert!(only_warning(&update).contains("has become shorter: 40 bytes, 1 projections, where 2 were read"));
    assert_nothing(&follower.poll());
    fs::remove_file(&data).unwrap();
    assert!(only_warning(&follower.poll()).contains("opening the file failed"));
    fs::write(&data, &bytes[..96]).unwrap();
    let update = follower.poll();
    assert!(update.notices.iter().any(|n| n.severity == Severity::Info && n.text.contains("available again")));
    assert_eq!(update.projections.iter().map(|p| p.values[0]).collect::<Vec<_>>(), [8.0]);
    assert!(!follower.is_finished());
}

#[test]
fn a_file_that_becomes_another_ends_the_following() {
    let folder = folder();
    let path = sweeps::put(folder.path(), &[], "float 8", true);
    let data = path.with_extension("DTA");
    let bytes = fs::read(&data).unwrap();
    // In the first projection that was read, and in the last one.
    for changed in [9, 57] {
        fs::write(&data, &bytes[..64]).unwrap();
        let (_, mut follower) = follow_sweep(&path, None).unwrap();
        assert_eq!(follower.poll().projections.len(), 2);
        let mut other = bytes.clone();
        other[changed] ^= 0x10;
        fs::write(&data, &other).unwrap();
        assert!(only_warning(&follower.poll()).contains("was replaced by another acquisition"));
        assert!(follower.is_finished());
        assert_nothing(&follower.poll());
    }
}

#[test]
fn a_projection_that_holds_no_numbers_is_left_out() {
    let folder = folder();
    let path = sweeps::put(folder.path(), &[], "float 8", true);
    let mut samples: Vec<f64> = (0..16).map(f64::from).collect();
    samples[5] = f64::NAN;
    fs::write(path.with_extension("DTA"), bytes_of(samples, "float 8", true)).unwrap();
    let (_, mut follower) = follow_sweep(&path, None).unwrap();
    let update = follower.poll();
    assert_eq!(update.projections.len(), 3);
    assert!(update.notices.iter().any(|n| n.text.contains("left out") && n.text.contains("sample 2 of projection 2 is NaN")));
    assert!(follower.is_finished());
}

#[test]
fn what_is_allocated_in_advance_is_waited_for() {
    let folder = folder();
    let path = sweeps::put(folder.path(), &[], "float 8", true);
    let data = path.with_extension("DTA");
    let mut samples = [0.0; 16];
    let write = |samples: &[f64; 16]| fs::write(&data, bytes_of(*samples, "float 8", true)).unwrap();
    write(&samples);
    let (_, mut follower) = follow_sweep(&path, None).unwrap();
    let update = follower.poll();
    let [notice] = &update.notices[..] else { panic!("{:?}", update.notices) };
    assert!(notice.severity == Severity::Info && notice.text.contains("allocated in advance"), "{notice:?}");
    assert!(notice.text.contains("projections 1 to 4 are zero"), "{notice:?}");
    assert!(update.projections.is_empty() && !follower.is_finished());
    let mut next = |follower: &mut SweepFollower, first: usize, values: &[f64]| {
        samples[first..first + values.len()].copy_from_slice(values);
        write(&samples);
        let update = follower.poll();
        let of_zeros = "projection 2 contains zeros only";
        assert!(update.notices.iter().all(|notice| notice.text.contains(of_zeros)), "{:?}", update.notices);
        (update.projections.iter().map(|p| p.values.to_vec()).collect::<Vec<_>>(), update.notices.len())
    };
    assert_eq!(next(&mut follower, 0, &[1.0, 2.0, 3.0, 4.0]), (vec![vec![1.0, 2.0, 3.0, 4.0]], 0));
    // Half of the third one: the second one, of zeros, has something after it, so that it was not measured; the third one not yet.
    assert_eq!(next(&mut follower, 8, &[5.0, 6.0]), (vec![], 1));
    assert_eq!(next(&mut follower, 10, &[7.0]), (vec![], 0));
    assert!(follower.unmeasured().unwrap().text.contains("2 of 4 projections"));
    // It ends with a zero, which the next one shows; that one does so too, and stands still.
    assert_eq!(next(&mut follower, 12, &[8.0]), (vec![vec![5.0, 6.0, 7.0, 0.0]], 0));
    assert_eq!(next(&mut follower, 13, &[9.0]), (vec![], 0));
    assert!(!follower.is_finished());
    assert_eq!(next(&mut follower, 0, &[]), (vec![vec![8.0, 9.0, 0.0, 0.0]], 0));
    assert!(follower.is_finished() && follower.unmeasured().is_none());
}

#[test]
fn zeros_that_were_appended_are_measured() {
    let folder = folder();
    let path = sweeps::put(folder.path(), &[], "float 8", true);
    let data = path.with_extension("DTA");
    let bytes = bytes_of((0..16).map(|k| f64::from(k % 4)), "float 8", true);
    fs::write(&data, &bytes[..64]).unwrap();
    let (_, mut follower) = follow_sweep(&path, None).unwrap();
    assert_eq!(follower.poll().projections.len(), 2);
    // A file that grows tells by its length what is complete, also where a projection ends with a zero.
    let tail = bytes_of([1.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0], "float 8", true);
    append(&data, &tail);
    assert_eq!(follower.poll().projections.len(), 2);
    assert!(follower.is_finished());
}

#[test]
fn complex_projections_are_followed_at_the_phase_of_the_first_ones() {
    let folder = folder();
    let path = sweeps::put_complex(folder.path(), "a-proj", &[], 4, 50.0, 0.0);
    let data = path.with_extension("DTA");
    let bytes = fs::read(&data).unwrap();
    for asked_for in [None, Some(-130.0)] {
        // A projection and three quarters: a real file would have three.
        fs::write(&data, &bytes[..64 * 16 * 7 / 4]).unwrap();
        let (_, mut follower) = follow_sweep(&path, None).unwrap();
        asked_for.map_or(Ok(()), |degrees| follower.set_phase(degrees)).unwrap();
        let update = follower.poll();
        let degrees = asked_for.unwrap_or(50.0);
        let [notice] = &update.notices[..] else { panic!("{:?}", update.notices) };
        assert!(notice.text.contains(&format!("turned by {degrees:.2}°")), "{notice:?}");
        assert_eq!(update.phase.map(|phase| phase.is_automatic), Some(asked_for.is_none()));
        let mut read = update.projections;
        assert_eq!(read.len(), 1);
        fs::write(&data, &bytes).unwrap();
        let update = follower.poll();
        assert!(update.notices.is_empty() && follower.is_finished());
        read.extend(update.projections);
        let sign = if asked_for.is_none() { 1.0 } else { -1.0 };
        for (k, projection) in read.iter().enumerate() {
            let near = |(j, value): (usize, &f32)| (f64::from(*value) - sign * sweeps::line(k, j)).abs() < 1e-3;
            assert!(projection.values.iter().enumerate().all(near), "{k}: {projection:?}");
        }
    }
    let real = sweeps::put(folder.path(), &[], "float 8", true);
    assert!(follow_sweep(&real, None).unwrap().1.set_phase(1.0).is_err());
}

#[test]
fn a_saved_sweep_of_unknown_length_goes_on_as_long_as_its_header_does() {
    let folder = folder();
    let path = folder.path().join("a.sweep");
    let whole = ball();
    let first = |num: usize, expected: Option<usize>| {
        let mut sweep = whole.clone();
        sweep.measured.projections.truncate(num);
        sweep.measured.num_expected = expected;
        write_sweep(&path, &sweep).unwrap();
    };
    first(3, None);
    let (sweep, mut follower) = follow_sweep(&path, None).unwrap();
    assert_eq!((sweep.measured.num_complete(), sweep.measured.num_expected), (0, None));
    let mut read = follower.poll().projections;
    assert_eq!(read.len(), 3);
    assert_nothing(&follower.poll());
    first(10, None);
    read.extend(follower.poll().projections);
    first(whole.measured.num_complete(), whole.measured.num_expected);
    read.extend(follower.poll().projections);
    assert_eq!(read, whole.measured.projections);
    assert!(follower.is_finished());
}

#[test]
fn only_forms_that_grow_are_followed() {
    let error = follow_sweep(Path::new("a-proj.npy"), None).unwrap_err();
    assert_brief(&error, "io.unsupported.epri a-proj.npy NotFollowed");
    assert!(follow_sweep(Path::new("none.sweep"), None).is_err());
}
