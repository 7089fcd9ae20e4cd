//! Reading of list-mode data while they are written.

use std::path::Path;
use std::time::Duration;

use crossbeam_channel::{never, select, tick};
use indicatif::ProgressBar;

use crate::cli::shared::console::remark;
use crate::cli::shared::error::{CliError, CliResult, Failure};
use crate::cli::shared::{console, notices, signals};
use crate::data::{EventList, Study};
use crate::io::list_mode::{ListFollower, ListOptions};
use crate::io::open_list_mode;
use crate::plan::{EventAccumulator, ListAcquisition, ListSelection, study_of};
use crate::session::Feed;
use crate::text::counted;

/// Interval between reports of the number of events.
const REPORT_INTERVAL: Duration = Duration::from_millis(200);

/// Reads list-mode data until the file contains its end, or until a signal ends it.
///
/// # Errors
/// A file that does not open or lacks a header, a thread that the system refuses.
pub fn follow_list(path: &Path, options: &ListOptions, selection: ListSelection) -> CliResult<Study<EventList>> {
    let follower = ListFollower::new(open_list_mode(path, options)?);
    let (events, found) = EventAccumulator::begun(follower.facts(), options, selection)?;
    notices::print(&found);
    let acquisition = ListAcquisition::growing(events);
    let requests = signals::keep();
    let mut feed = Feed::follow_list(follower, acquisition.clone(), || {})?;
    let mut new_notices = feed.notices().clone();
    let bar = console::show(ProgressBar::new_spinner());
    let num_events = || counted(acquisition.look(|events| events.list().prompts.len()), "event");
    remark!("following {}: Ctrl-C stops and uses the events read so far", path.display());
    let ticks = tick(REPORT_INTERVAL);
    while !acquisition.is_over() {
        select! {
            recv(ticks) -> _ => {
                bar.set_message(num_events());
                bar.tick();
            }
            recv(requests) -> _ => feed.end(),
            recv(new_notices) -> notice => match notice {
                Ok(notice) => notices::print(&[notice]),
                Err(_) => new_notices = never(),
            },
        }
    }
    bar.finish_and_clear();
    remark!("the list is taken for whole: {}", num_events());
    let whole = feed.take_list();
    notices::print(&feed.stop());
    let list = whole.ok_or_else(|| CliError::failed(Failure::Input, "the list could not be read to its end"))?;
    Ok(study_of(path, list))
}
