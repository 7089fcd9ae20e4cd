//! Standard deviations of voxels on a server: the image of the replicates arrives, also after a lost connection.

use std::sync::Arc;
use std::time::Instant;

use tomoscope::data::{Counts, Study};
use tomoscope::plan::{Job, ReplicateSettings};
use tomoscope::session::{Command, Control, DeviationUpdate, EventKind, RoiSet, Session, SessionOptions};

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
    session.send(Control::MeasureDeviation { post_filter_fwhm_mm });
}

/// Waits for the next standard deviations.
fn received(session: &Session) -> DeviationUpdate {
    let begun = Instant::now();
    loop {
        let event = session.events().recv_timeout(PATIENCE.saturating_sub(begun.elapsed())).unwrap();
        if let EventKind::Deviation(update) = event.kind {
            assert_eq!(event.run, update.id.run);
            return update;
        }
    }
}

fn assert_same(remote: &DeviationUpdate, local: &DeviationUpdate) {
    assert_eq!((remote.id, remote.post_filter_fwhm_mm), (local.id, local.post_filter_fwhm_mm));
    assert_eq!(remote.volume, local.volume);
}

#[test]
fn standard_deviations_of_a_server_are_those_of_this_host_bit_by_bit() {
    let study = cylinder_study();
    let local = Session::with_setup(SessionOptions::default(), real(), || {});
    let server = RemoteSession::new(&study, real);
    let opened = server.open();
    run(&local, job(&study, Some(4)));
    run(&server.session, job(&opened, Some(4)));
    let sd: Vec<DeviationUpdate> = [None, Some(6.0)]
        .map(|filter_mm| {
            request(&local, filter_mm);
            request(&server.session, filter_mm);
            let (near, far) = (received(&local), received(&server.session));
            assert_same(&far, &near);
            far
        })
        .into();
    // A filter makes the replicates alike.
    let [plain, filtered] = [0, 1].map(|k| sd[k].volume.as_ref().unwrap().extremes().high);
    assert!(filtered > 0.0 && filtered < 0.7 * plain, "{filtered} {plain}");
    // A run without replicates has none, which arrives too.
    run(&server.session, job(&opened, None));
    request(&server.session, None);
    assert_eq!(received(&server.session).volume, None);
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
