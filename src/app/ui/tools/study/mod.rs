//! Study panel: the open study, and buttons that open another one.

mod calibration;
mod counts;
mod image;
mod list;
pub mod list_form_panel;
mod pair;
pub mod study_panel;
mod sweep;
pub mod tube_form_panel;
mod tubes;

use crate::ui::study::state::StudyState;
use crate::ui::workspace::state::{Request, request};

/// Requests a change of the study.
pub fn edit(change: impl FnOnce(&mut StudyState) + 'static) -> Request {
    request(move |work| change(&mut work.study))
}
