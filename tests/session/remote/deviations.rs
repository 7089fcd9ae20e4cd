//! Standard deviations of voxels on a server: the image of the replicates arrives, also after a lost connection.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tomoscope::data::{Counts, Study};
use tomoscope::plan::{Job, ReplicateSettings};
use tomoscope::session::{Command, Control, EventKind, RoiSet, Session, SessionOptions, Volumes, VolumesOf};

use super::super::runs::cylinder_study;
use super::super::script::PATIENCE;
use super::{RemoteSession, real, settings, watch};

/// Returns the job of two iterations with a number of replicates.
fn job(study: &Arc<Study<Counts>>, num_replicates: Option<usize>) -> Job {
    let replicates = num_replicates.map(ReplicateSettings::new);
    Job::of(study, settings(study, 2).with_replicates(replicates))
}

/// Does a run to its end.
fn run(session: &Session, job: Job) {
    let run = session.send(Command::Start { job, rois: RoiSet::default(), paused: false });
    let (kinds, _) = watch(session, run);
    assert!(matches!(kinds.last(), Some(EventKind::Ended(_))), "{kinds:?}");
}

fn request(session: &Session, post_filter_fwhm_mm: Option<f64>) {
    session.send(Control::ReadVolumes(VolumesOf::Deviation(post_filter_fwhm_mm)));
}

/// Waits for the number of the next standard deviations.
fn announced(session: &Session) -> usize {
    let begun = Instant::now();
    loop {
        let event = session.events().recv_timeout(PATIENCE.saturating_sub(begun.elapsed())).unwrap();
        if let EventKind::Volumes { id, of: VolumesOf::Deviation(_), num } = event.kind {
            assert_eq!(event.run, id.run);
            return num;
        }
    }
}

/// Waits for the next standard deviations.
fn received(session: &Session) -> Volumes {
    assert_eq!(announced(session), 1);
    let begun = Instant::now();
    loop {
        if let Some(volumes) = session.take_volumes().pop() {
            return volumes;
        }
        assert!(begun.elapsed() < PATIENCE);
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn assert_same(remote: &Volumes, local: &Volumes) {
    assert_eq!((remote.id, remote.of, &remote.volumes), (local.id, local.of, &local.volumes));
}

#[test]
fn standard_deviations_of_a_server_are_those_of_this_host_bit_by_bit() {
    let study = cylinder_study();
    let local = Session::with_setup(SessionOptions::default(), real(), || {});
    let server = RemoteSession::new(&study, real);
    let opened = server.open();
    run(&local, job(&study, Some(4)));
    run(&server.session, job(&opened, Some(4)));
    let sd: Vec<Volumes> = [None, Some(6.0)]
        .map(|filter_mm| {
            request(&local, filter_mm);
            request(&server.session, filter_mm);
            let (near, far) = (received(&local), received(&server.session));
            assert_same(&far, &near);
            far
        })
        .into();
    // A filter makes the replicates alike.
    let [plain, filtered] = [0, 1].map(|k| sd[k].volumes[0].extremes().high);
    assert!(filtered > 0.0 && filtered < 0.7 * plain, "{filtered} {plain}");
    // A run without replicates has none, which arrives too.
    run(&server.session, job(&opened, None));
    request(&server.session, None);
    assert_eq!(announced(&server.session), 0);
}

#[cfg(unix)]
#[test]
fn standard_deviations_arrive_after_a_lost_connection() {
    let study = cylinder_study();
    let local = Session::with_setup(SessionOptions::default(), real(), || {});
    let server = RemoteSession::new(&study, real);
    let opened = server.open();
    run(&local, job(&study, Some(3)));
    run(&server.session, job(&opened, Some(3)));
    request(&local, None);
    request(&server.session, None);
    server.cut();
    assert_same(&received(&server.session), &received(&local));
}
