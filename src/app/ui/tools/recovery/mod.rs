//! Tab of the recovery of the NEMA spheres: bands of a standard, verdict, and a map of iterations and post-filters; and the reports of
//! NEMA.

pub mod files;
mod map;
mod nema;
mod recovery_panel;
mod state;

use std::path::{Path, PathBuf};

use egui::Ui;

use self::files::{KEY, STANDARD};
use self::nema::write_report;
use self::recovery_panel::{RecoveryView, recovery_ui};
use self::state::RecoveryState;
use super::tool::Tool;
use crate::data::nema::SPHERE_DIAMETERS_MM;
use crate::data::{Notice, RecoveryStandard, RoiRole};
use crate::io::{self, IoError};
use crate::session::Query;
use crate::task::BackgroundTask;
use crate::ui::rois::measured::common_ratio;
use crate::ui::widgets::file_task::ToolFile;
use crate::ui::widgets::wake::waker;
use crate::ui::workspace::panes::pane::Pane;
use crate::ui::workspace::state::{Request, Workspace};

pub const PANE: Pane = Pane::table(KEY);

#[derive(Default)]
pub struct Recovery {
    state: RecoveryState,
    /// Standards that are being read.
    reading: Vec<BackgroundTask<Result<RecoveryStandard, IoError>>>,
}

impl Tool for Recovery {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["EARL", "Recovery of six hot spheres against the bands of a standard (EARL), for each iteration and post-filter"]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        let hot = work.rois.document.rois.iter().filter(|roi| roi.role == RoiRole::Hot).count();
        hot >= SPHERE_DIAMETERS_MM.len() && work.study.is_pet_scan()
    }

    /// Queries the recovery coefficients once the tab was drawn.
    fn update(&mut self, work: &mut Workspace, is_drawn: bool) {
        self.reading.retain(|reading| {
            match reading.poll_for(work.patience()) {
                None => return true,
                Some(Ok(Ok(standard))) => self.state.add(standard),
                Some(Ok(Err(error))) => work.notify(Notice::error(error.to_string())),
                Some(Err(failure)) => work.notify(Notice::error(failure.to_string())),
            }
            false
        });
        let rois = &work.rois.document.rois;
        let query = self.state.query(is_drawn, rois, common_ratio(rois));
        let query = Query::Recovery(query.filter(|query| query.activity_ratio.is_some()));
        work.runs.active_mut().measure(query, &work.session);
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let run = work.run();
        let view = RecoveryView {
            state: &self.state,
            live: &run.live,
            shown: run.shown.id().map(|id| (id.iteration, run.post_filter_mm)),
            activity_ratio: common_ratio(&work.rois.document.rois),
        };
        if let Some(index) = recovery_ui(&view, ui, requests) {
            self.state.select(index);
        }
    }

    fn take_file(&mut self, work: &mut Workspace, file: &'static ToolFile, path: &Path) -> Result<(), String> {
        if *file != STANDARD {
            return write_report(work, file, self.state.standards(), path);
        }
        let path: PathBuf = path.to_owned();
        let read = move |_: &_| io::recovery::read_file(&path);
        self.reading.push(BackgroundTask::start("standard", waker(&work.ctx), read));
        Ok(())
    }
}
