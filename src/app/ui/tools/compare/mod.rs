//! Comparison of the runs.

mod compare_panel;
mod convergence_plot;

use egui::Ui;

use self::compare_panel::{Row, all, compare_panel_ui, settings};
use super::curves::plots_view::plots_view;
use super::tool::Tool;
use crate::session::RunId;
use crate::ui::run::run_view::RunView;
use crate::ui::workspace::state::{Request, Workspace};

/// Run; set-up (0 or 1), full iterations, their target, marks.
type RunKey = (RunId, [usize; 4]);

#[derive(Default)]
pub struct Compare {
    /// Settings in which the runs differ, which change by a mark.
    settings: Option<(Vec<RunKey>, Vec<Row>)>,
}

impl Tool for Compare {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Compare", "Similarity of the images to those of a reference run"]
    }

    fn update(&mut self, work: &mut Workspace, is_drawn: bool) {
        let key = |view: &&RunView| {
            let live = &view.live;
            let iterations = live.progress().0 / live.num_subsets();
            (live.run, [usize::from(live.info.is_some()), iterations, live.target, live.marks.len()])
        };
        let keys: Vec<RunKey> = if is_drawn { all(&work.runs).iter().map(key).collect() } else { Vec::new() };
        if is_drawn && self.settings.as_ref().is_none_or(|(before, _)| *before != keys) {
            self.settings = Some((keys, settings(&work.runs)));
        }
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let settings = self.settings.as_ref().map_or(&[][..], |(_, settings)| settings);
        compare_panel_ui(&work.runs, settings, &plots_view(work), ui, requests);
    }
}
