//! Edits of the ROIs of a run: the last ones that were sent, and a drag under way.

use super::live::LiveRun;
use crate::data::MaskedRois;
use crate::session::{Control, Query, RoiSet, Session};

/// The edits of the regions as they were sent for one run.
#[derive(Clone, Debug, Default)]
pub struct RoiEdits {
    /// Number of the edit sent last.
    branch: u64,
    /// Its regions.
    sent: MaskedRois,
    /// While a region is held: the number of the first of its edits.
    held: Option<u64>,
}

impl RoiEdits {
    /// Returns the ROIs with which a run begins.
    pub fn begin(&mut self, rois: &MaskedRois) -> RoiSet {
        (self.branch, self.held) = (self.branch + 1, None);
        self.sent = rois.clone();
        RoiSet { branch: self.branch, rois: rois.clone() }
    }

    /// Requests the measurement of edited ROIs: by the solver if it computes the run (`is_active`), else on the stored iterates
    /// alone. Names and roles are not measured. During a drag the ROIs are measured on the stored iterates; the solver receives
    /// them at the end of the drag. Returns true after an edit.
    pub fn send(&mut self, live: &mut LiveRun, rois: &MaskedRois, is_active: bool, is_held: bool, session: &Session) -> bool {
        let was_held = self.held.is_some();
        let is_edited = self.sent != *rois;
        if is_edited {
            self.send_edit(live, rois, is_active, is_held, session);
        }
        if was_held && !is_held {
            self.held = None;
            if is_active {
                session.send(Control::SetRois(RoiSet { branch: self.branch, rois: self.sent.clone() }));
            }
        }
        is_edited
    }

    fn send_edit(&mut self, live: &mut LiveRun, rois: &MaskedRois, is_active: bool, is_held: bool, session: &Session) {
        let none_moved = self.sent.len() == rois.len() && rois.iter().zip(&*self.sent).all(|(a, b)| a.covers_same(b));
        self.sent = rois.clone();
        if none_moved {
            live.rois.rename(self.branch, rois);
            if is_active {
                session.send(Control::RenameRois(RoiSet { branch: self.branch, rois: rois.clone() }));
            }
            return;
        }
        self.branch += 1;
        let set = RoiSet { branch: self.branch, rois: rois.clone() };
        if is_held || self.held.is_some() {
            let edit = *self.held.get_or_insert(self.branch);
            live.rois.draft(self.branch, edit, rois);
            session.send(Control::Measure(live.run, Query::Regions(set)));
        } else {
            live.begin_branch(self.branch, rois);
            session.send(if is_active { Control::SetRois(set) } else { Control::Measure(live.run, Query::Regions(set)) });
        }
    }
}
