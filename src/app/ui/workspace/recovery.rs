//! Recovery of the NEMA spheres: query, view and actions.

use egui::Context;

use super::app::App;
use super::files::nema::common_ratio;
use super::panes::pane::Pane;
use crate::session::Query;
use crate::ui::plots::BottomTab;
use crate::ui::plots::recovery::action::RecoveryAction;
use crate::ui::plots::recovery::recovery_panel::RecoveryView;
use crate::ui::rois::action::RoiEdit;
use crate::ui::run::action::RunAction;

impl App {
    /// Sends the query for the recovery coefficients to the session once their tab was drawn.
    pub(super) fn send_recovery(&mut self) {
        let is_drawn = self.panes.is_drawn(Pane::Table(BottomTab::Recovery));
        let rois = &self.rois.document.rois;
        let query = self.recovery.query(is_drawn, rois, common_ratio(rois));
        let query = Query::Recovery(query.filter(|query| query.activity_ratio.is_some()));
        self.runs.active_mut().measure(query, &self.session);
    }

    pub(super) fn recovery_view(&self) -> RecoveryView<'_> {
        let run = self.run();
        RecoveryView {
            state: &self.recovery,
            live: &run.live,
            shown: run.shown.id().map(|id| (id.iteration, run.post_filter_mm)),
            activity_ratio: common_ratio(&self.rois.document.rois),
        }
    }

    pub(super) fn apply_recovery(&mut self, ctx: &Context, action: RecoveryAction) {
        match action {
            RecoveryAction::Select(index) => self.recovery.select(index),
            RecoveryAction::SetRatio(typed) => {
                let notice = self.rois.apply(RoiEdit::HotRatio(typed));
                self.notify_all(ctx, notice);
            }
            RecoveryAction::Ask(task) => _ = self.ask(ctx, task),
            RecoveryAction::Show(iteration, filter_mm) => {
                self.apply_run(ctx, RunAction::SetPostFilter(filter_mm));
                self.apply_run(ctx, RunAction::ShowIterate(Some(iteration)));
            }
        }
    }
}
