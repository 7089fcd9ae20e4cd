//! A list of events that is still being written is read until it is whole.

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

/// How often it is told how many events there are.
const TELL_EVERY: Duration = Duration::from_millis(200);

/// Reads a list until its file tells its end, or a signal asks to take what there is for the whole.
///
/// # Errors
/// The file cannot be opened or has no header yet, no thread can be started.
pub fn follow_list(path: &Path, options: &ListOptions, selection: ListSelection) -> CliResult<Study<EventList>> {
    let follower = ListFollower::new(open_list_mode(path, options)?);
    let (events, found) = EventAccumulator::begun(follower.facts(), options, selection)?;
    notices::print(&found);
    let acquisition = ListAcquisition::growing(events);
    let requests = signals::keep();
    let mut feed = Feed::follow_list(follower, acquisition.clone(), || {})?;
    let mut news = feed.notices().clone();
    let bar = console::show(ProgressBar::new_spinner());
    let num_events = || counted(acquisition.look(|events| events.list().prompts.len()), "event");
    remark!("following {}: Ctrl-C stops and uses the events read so far", path.display());
    let ticks = tick(TELL_EVERY);
    while !acquisition.is_over() {
        select! {
            recv(ticks) -> _ => {
                bar.set_message(num_events());
                bar.tick();
            }
            recv(requests) -> _ => feed.end(),
            recv(news) -> notice => match notice {
                Ok(notice) => notices::print(&[notice]),
                Err(_) => news = never(),
            },
        }
    }
    bar.finish_and_clear();
    remark!("the list is taken for whole: {}", num_events());
    let whole = feed.take_whole();
    notices::print(&feed.stop());
    let list = whole.ok_or_else(|| CliError::failed(Failure::Input, "the list could not be read to its end"))?;
    Ok(study_of(path, list))
}
