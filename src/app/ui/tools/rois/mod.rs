//! Table of the regions.

mod roi_fields;
mod roi_panel;
mod roi_table;
mod roi_view;

use egui::Ui;

use self::roi_panel::roi_ui;
use self::roi_view::RoiView;
use super::recovery::files::{BODY_REPORT, SMALL_ANIMAL_REPORT};
use super::tool::Tool;
use crate::ui::widgets::file_task::FileTask;
use crate::ui::workspace::commands::Command;
use crate::ui::workspace::state::{Request, Workspace};

pub struct Rois;

impl Tool for Rois {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Regions", "Numbers of the regions of interest on the image on the screen"]
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let run = work.run();
        let view = RoiView {
            state: &work.rois,
            table: &run.table,
            deviations: run.roi_deviations(work.rois.measure_unfiltered, &work.rois.document.rois),
            scale: work.scale(),
            voxel_mm: run.shown.volume().map(|volume| volume.grid.voxel_mm),
            image: run.live.radical_names().into_iter().next(),
            has_study_rois: work.study.open.as_ref().is_some_and(|open| !open.study.rois.is_empty()),
            is_measured: run.live.is_measured(),
            filter_mm: run.shown.filter_mm(),
            axes: work.study.axes(),
            second: work.layer.numbers.as_ref(),
            is_anonymous: work.is_anonymous(),
        };
        roi_ui(&view, ui, requests);
    }

    fn commands(&self) -> Vec<Command> {
        [("NEMA NU 2 report", &BODY_REPORT), ("NEMA NU 4 report", &SMALL_ANIMAL_REPORT)]
            .map(|(text, file)| Command::named(text, move |work| _ = work.ask(FileTask::OfTool(file))))
            .into()
    }
}
