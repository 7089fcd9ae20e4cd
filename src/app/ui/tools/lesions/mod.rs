//! Lesions of the displayed image: measurement in the background, table, comparison with a baseline, files.

mod files;
mod lesion_panel;
mod saved;
mod state;

use std::path::Path;
use std::sync::Arc;

use egui::Ui;

use self::files::{KEY, REPORT, SEGMENTATION, TABLE, WrittenLesions};
use self::lesion_panel::{LesionEdit, LesionView, lesions_ui};
use self::saved::SavedLesions;
use self::state::{LesionInput, LesionState};
use super::tool::Tool;
use crate::data::Notice;
use crate::measure::lesions::LesionTable;
use crate::ui::study::open::open_study::OpenStudy;
use crate::ui::widgets::file_task::{FileTask, ToolFile};
use crate::ui::widgets::wake::waker;
use crate::ui::workspace::commands::Command;
use crate::ui::workspace::panes::pane::Pane;
use crate::ui::workspace::state::{Request, Workspace, request};

pub const PANE: Pane = Pane::table(KEY);

#[derive(Default)]
pub struct Lesions {
    state: LesionState,
}

/// Returns the displayed image with its regions; `None` without an image.
fn input(work: &Workspace) -> Option<LesionInput<'_>> {
    let run = work.run();
    Some(LesionInput {
        image: (run.live.run, run.shown.generation()),
        volume: run.shown.image()?,
        scale: work.scale(),
        rois: &work.rois.document.rois,
        second: work.drawn_layer().map(|image| (image, work.layer.generation)),
        placement: work.placement().copied(),
    })
}

/// Returns kind and unit of the second image.
fn second(work: &Workspace) -> Option<[&str; 2]> {
    work.drawn_layer().map(|image| [image.series.modality.name(), image.volume.unit.label()])
}

impl Lesions {
    /// Returns the numbers of the displayed image.
    ///
    /// # Errors
    /// The displayed image is not measured yet.
    fn current(&self, work: &Workspace) -> Result<Arc<LesionTable>, String> {
        let current = input(work).and_then(|input| self.state.current(&input).cloned());
        current.ok_or_else(|| "the lesions of the displayed image are not measured yet; open Lesions, and try again".to_owned())
    }

    fn apply(&mut self, edit: LesionEdit, work: &Workspace, requests: &mut Vec<Request>) {
        match edit {
            LesionEdit::Threshold(threshold) => self.state.threshold = threshold,
            LesionEdit::Liver(name) => self.state.liver = name,
            LesionEdit::SetBaseline => match self.current(work) {
                Ok(_) => {
                    let study = work.study.open.as_ref().map_or("no study", OpenStudy::title);
                    self.state.set_baseline(Some(format!("{study}, {}", work.run().shown_words())));
                }
                Err(text) => requests.push(request(|work| work.notify(Notice::warning(text)))),
            },
            LesionEdit::ClearBaseline => self.state.set_baseline(None),
        }
        // The session has another rule or baseline.
        requests.push(request(|_| {}));
    }
}

impl Tool for Lesions {
    fn title(&self, _work: &Workspace) -> [&'static str; 2] {
        ["Lesions", "Lesions of the image on the screen: peak, volume, total glycolysis, change since a baseline"]
    }

    fn is_for(&self, work: &Workspace) -> bool {
        !work.study.is_epri()
    }

    fn update(&mut self, work: &mut Workspace, is_drawn: bool) {
        if is_drawn {
            self.state.update(input(work), waker(&work.ctx));
        }
    }

    fn ui(&mut self, work: &Workspace, ui: &mut Ui, requests: &mut Vec<Request>) {
        let view = LesionView {
            state: &self.state,
            rois: &work.rois.document.rois,
            second: second(work),
            scale: work.scale(),
            is_anonymous: work.is_anonymous(),
        };
        let mut edits = Vec::new();
        lesions_ui(&view, ui, &mut edits, requests);
        edits.into_iter().for_each(|edit| self.apply(edit, work, requests));
    }

    fn commands(&self) -> Vec<Command> {
        [("Lesions as CSV", &TABLE), ("Lesions as a DICOM segmentation", &SEGMENTATION), ("Report on the lesions", &REPORT)]
            .map(|(text, file)| Command::named(text, move |work| _ = work.ask(FileTask::OfTool(file))))
            .into()
    }

    fn take_file(&mut self, work: &mut Workspace, file: &'static ToolFile, path: &Path) -> Result<(), String> {
        let table = self.current(work)?;
        let source = work.study.images().and_then(|open| open.path.clone()).zip(work.run().shown_number());
        let written = WrittenLesions {
            table,
            changes: self.state.changes().map(|(title, changes)| (work.baseline_to_write(title), changes.clone())),
            second: second(work).map(|texts| texts.map(str::to_owned)),
            volume: Arc::clone(work.run().shown.image().ok_or("there is no image yet")?),
            scale: work.scale(),
            placement: work.placement().copied(),
            title: work.title_to_write(),
            provenance: work.provenance().map(|record| work.record_to_write(record)),
            source,
            is_anonymous: work.is_anonymous(),
        };
        work.write_in_background(FileTask::OfTool(file), path, move |path| written.write(file, path));
        Ok(())
    }

    fn saved(&self) -> Option<toml::Value> {
        let saved = Some(self.state.saved()).filter(|saved| *saved != SavedLesions::default())?;
        toml::Value::try_from(saved).ok()
    }

    fn restore(&mut self, saved: Option<toml::Value>) -> Result<(), String> {
        let read = |saved: toml::Value| saved.try_into::<SavedLesions>().map_err(|error| error.to_string());
        // Without a readable part the rule is the default.
        let read = saved.map(read).transpose();
        let mut saved = read.clone().ok().flatten().unwrap_or_default();
        saved.sanitize();
        self.state.restore(saved).map_err(|error| error.to_string())?;
        read.map(|_| ())
    }
}
