//! What would be lost when the window is closed or another study is opened, and the one question about it.
//!
//! Asked about are regions of interest that were edited since they were loaded, saved or taken from the study, tubes of response
//! whose simulation the end of the window would break off, and an image that no file holds: none was saved since the newest iterate on the screen was made. Left out is a run that nobody asked for, whose
//! image opening the study again makes again: it started by itself, was then left alone (no start, step or further iteration by hand, no
//! switch of the accumulation), and is of a built-in study or took less than a minute.

use std::collections::VecDeque;

use egui::{Context, ViewportCommand};

use crate::data::{Notice, Roi};
use crate::session::RunId;
use crate::ui::study::loader::{Loaded, Loading, Source};
use crate::ui::widgets::modal::modal_ui;
use crate::ui::workspace::actions::Action;
use crate::ui::workspace::app::App;
use crate::ui::workspace::files::dialogs::FileTask;

/// Time in which a run that nobody asked for is made again without a question, s.
const QUICK_SECS: f64 = 60.0;

/// What the user is about to do.
pub enum Leave {
    /// Closes the window.
    Quit,
    /// Opens another study.
    Open(Source),
    /// Shows another study, which was asked for before there was anything to lose.
    Show(Box<Loaded>, Source),
}

/// What becomes of work that is not saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveAction {
    /// It is saved first.
    Save,
    /// It is lost.
    Discard,
    /// Everything stays as it is.
    Stay,
}

/// The question, or what follows from its answer.
pub struct Leaving {
    leave: Leave,
    unsaved: Unsaved,
    /// What is still to be saved; empty while the question is open.
    tasks: VecDeque<FileTask>,
}

/// Work that is in no file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Unsaved {
    /// The regions of interest.
    rois: bool,
    /// The image.
    image: bool,
    /// Tubes of response that are being simulated.
    tubes: bool,
}

/// What need not be asked about.
#[derive(Default)]
pub struct SavedWork {
    /// The regions as they were loaded, saved or taken from the study.
    rois: Vec<Roi>,
    /// Newest image, as run and steps, when one was saved.
    pub(in crate::ui) image: Option<(RunId, usize)>,
    /// Regions and run that were decided upon while the study that takes their place is on its way.
    decided: Option<(Vec<Roi>, RunId)>,
}

impl SavedWork {
    /// No study is on its way any more.
    pub fn forget_decision(&mut self) {
        self.decided = None;
    }
}

impl Leaving {
    /// Whether the question is open, not what follows from it.
    pub fn is_asking(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Whether there is something that can be saved.
    fn can_save(&self) -> bool {
        self.unsaved.rois || self.unsaved.image
    }

    /// What would be lost by what.
    fn text(&self) -> (&'static str, String) {
        let (title, way) = match self.leave {
            Leave::Quit => ("Close tomoscope?", "Closing the window"),
            Leave::Open(_) | Leave::Show(..) => ("Open another study?", "Opening another study"),
        };
        let (what, them) = match (self.unsaved.rois, self.unsaved.image) {
            (true, true) => ("The regions of interest and the image are not saved. ", "loses them"),
            (true, false) => ("The regions of interest are not saved. ", "loses them"),
            (false, true) => ("The image is not saved. ", "loses it"),
            (false, false) => ("", ""),
        };
        let tubes = match (self.unsaved.tubes, them) {
            (false, _) => "",
            (true, "") => "gives up the tubes of response that are being made",
            (true, _) => " and gives up the tubes of response that are being made",
        };
        (title, format!("{what}{way} {them}{tubes}."))
    }
}

impl App {
    /// Closes the window or opens a study, after a question where work would be lost.
    pub(in crate::ui) fn leave(&mut self, ctx: &Context, leave: Leave) {
        if self.leaving.is_some() {
            return;
        }
        let unsaved = self.unsaved(&leave);
        if unsaved == Unsaved::default() {
            return self.go(ctx, leave);
        }
        self.leaving = Some(Leaving { leave, unsaved, tasks: VecDeque::new() });
        ctx.request_repaint();
    }

    /// Asks before the window closes.
    pub(in crate::ui) fn look_for_close(&mut self, ctx: &Context) {
        if !ctx.input(|input| input.viewport().close_requested()) || self.may_close {
            return;
        }
        self.leave(ctx, Leave::Quit);
        if !self.may_close {
            ctx.send_viewport_cmd(ViewportCommand::CancelClose);
        }
    }

    /// What is lost by it.
    fn unsaved(&self, leave: &Leave) -> Unsaved {
        let source = match leave {
            Leave::Quit => None,
            Leave::Open(source) | Leave::Show(_, source) => Some(source),
        };
        let keeps_rois = source.is_some_and(|source| self.study.is_open(source)) && self.restoring.is_none();
        let (rois, saved) = (&self.rois.document.rois, &self.saved);
        let is_decided =
            saved.decided.as_ref().map(|(decided, run)| (decided == rois, *run == self.run().live.run)).unwrap_or_default();
        let image = self.run().shown.newest_id().filter(|id| id.subiteration > 0).map(|id| (id.run, id.subiteration));
        Unsaved {
            rois: !keeps_rois && !rois.is_empty() && self.rois_are_edited() && !is_decided.0,
            tubes: matches!(leave, Leave::Quit) && self.study.tube_maker.is_some(),
            image: image.is_some_and(|image| saved.image != Some(image) && !self.is_made_again(image.0)) && !is_decided.1,
        }
    }

    /// Whether opening the study again makes the image of this run again, without long waiting.
    fn is_made_again(&self, run: RunId) -> bool {
        let live = &self.run().live;
        let elapsed_secs = || live.provenance(live.progress().0, None).map_or(0.0, |record| record.times.elapsed_secs);
        let is_built_in = matches!(self.study.source, Some(Source::BuiltIn(_)));
        self.run().is_automatic(run) && (is_built_in || elapsed_secs() < QUICK_SECS)
    }

    fn go(&mut self, ctx: &Context, leave: Leave) {
        match leave {
            Leave::Quit => {
                self.finish_files();
                self.may_close = true;
                ctx.send_viewport_cmd(ViewportCommand::Close);
            }
            Leave::Open(source) => {
                let wake = ctx.clone();
                self.study.loading = Some(Loading::start(source, self.session.remote().cloned(), move || wake.request_repaint()));
            }
            Leave::Show(loaded, source) => self.show_study(ctx, *loaded, source),
        }
    }

    /// Everything that can be lost is decided upon.
    fn decided(&mut self, ctx: &Context) {
        let Some(leaving) = self.leaving.take() else { return };
        if matches!(leaving.leave, Leave::Open(_)) {
            self.saved.decided = Some((self.rois.document.rois.clone(), self.run().live.run));
        }
        self.go(ctx, leaving.leave);
    }

    pub(in crate::ui) fn apply_leave(&mut self, ctx: &Context, action: LeaveAction) {
        match action {
            LeaveAction::Save => {
                if let Some(Leaving { unsaved, tasks, .. }) = &mut self.leaving {
                    tasks.extend(unsaved.rois.then_some(FileTask::SaveRois));
                    tasks.extend(unsaved.image.then_some(FileTask::SaveImage));
                }
                self.save_next(ctx);
            }
            LeaveAction::Discard => self.decided(ctx),
            LeaveAction::Stay => {
                self.stay();
                self.restoring = None;
            }
        }
    }

    /// Everything stays as it is. A study that has come from the server is closed there.
    fn stay(&mut self) {
        if let Some(Leaving { leave: Leave::Show(loaded, _), .. }) = self.leaving.take()
            && let Loaded::Remote(head) = *loaded
            && let Some(remote) = self.session.remote()
        {
            remote.close(head.id());
        }
    }

    /// A file was not written after all: what it was to be saved for is given up.
    pub(in crate::ui) fn was_not_saved(&mut self, task: FileTask) {
        if self.leaving.as_ref().is_some_and(|leaving| leaving.tasks.front() == Some(&task)) {
            self.stay();
        }
    }

    /// Asks where to save what is next, or leaves when all is saved.
    fn save_next(&mut self, ctx: &Context) {
        match self.leaving.as_ref().map(|leaving| leaving.tasks.front().copied()) {
            None => {}
            Some(None) => self.decided(ctx),
            Some(Some(task)) if self.ask(ctx, task) => {}
            Some(Some(_)) => {
                self.stay();
                self.notify(ctx, Notice::info("A file dialog is still open: close it first, then try again"));
            }
        }
    }

    /// A file was written: what it holds is no longer to be lost.
    pub(in crate::ui) fn was_saved(&mut self, ctx: &Context, task: FileTask) {
        match task {
            FileTask::SaveRois | FileTask::SaveSession => self.rois_are_kept(),
            _ => {}
        }
        if let Some(leaving) = &mut self.leaving
            && leaving.tasks.front() == Some(&task)
        {
            leaving.tasks.pop_front();
            self.save_next(ctx);
        }
    }

    /// Whether the regions are not as they are in a file or in the study.
    pub(in crate::ui) fn rois_are_edited(&self) -> bool {
        self.rois.document.rois != self.saved.rois
    }

    /// The regions are as they are in a file or in the study.
    pub(in crate::ui) fn rois_are_kept(&mut self) {
        self.saved.rois.clone_from(&self.rois.document.rois);
    }
}

/// The question, if it is open.
pub fn leaving_ui(leaving: &Leaving, ctx: &Context, actions: &mut Vec<Action>) {
    let (title, words) = leaving.text();
    let mut answer = None;
    let is_escaped = modal_ui(ctx, "leaving", title, |ui| {
        ui.add(egui::Label::new(words).wrap());
        ui.add_space(4.0);
        ui.horizontal(|ui| {
            let mut button = |name: &str, help: &str, wish: LeaveAction| {
                let button = ui.button(name).on_hover_text(help);
                if button.clicked() {
                    answer = Some(wish);
                }
                button
            };
            let save = leaving.can_save().then(|| button("Save…", "Save it first", LeaveAction::Save));
            let discard = button("Don't save", "Continues without saving", LeaveAction::Discard);
            button("Cancel", "Keeps the study open (Esc)", LeaveAction::Stay);
            save.unwrap_or(discard)
        })
        .inner
    });
    actions.extend(answer.or(is_escaped.then_some(LeaveAction::Stay)).map(Action::Leave));
}
