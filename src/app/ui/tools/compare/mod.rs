//! Comparison of the runs.

mod compare_panel;
mod convergence_plot;

use egui::Ui;

use self::compare_panel::compare_panel_ui;
use super::curves::plots_view::plots_view;
use super::tool::Tool;
use crate::ui::workspace::state::{Request, Workspace};

pub struct Compare;

impl Tool for Compare {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Compare", "Similarity of the images to those of a reference run"]
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        compare_panel_ui(&work.runs, &plots_view(work), ui, requests);
    }
}
