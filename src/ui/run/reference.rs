//! The run whose images those of the active one are compared with, and its image that is seen beside the one on the screen.

use super::post_filter::PostFilter;
use super::shown::{IterateId, Past, Shown};
use crate::data::Volume;
use crate::geometry::Grid;
use crate::plan::Course;
use crate::session::{Kept, RunId, Session};
use crate::ui::widgets::format;

/// The run whose images those of the active one are compared with. Only its images need still be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Its number.
    pub run: RunId,
    /// Its number and what it did, in words.
    pub title: String,
    /// The grid of its images.
    pub grid: Grid,
    /// What its images are counted by.
    pub course: Course,
    /// Whether additions were lost in some of its steps.
    pub has_race: bool,
}

impl Reference {
    /// What it is called.
    pub fn words(&self) -> String {
        format!("run {}", self.run)
    }

    /// The image that is seen beside the one of this number: that of the same number, or the last before it.
    fn beside(&self, number: usize, session: &Session) -> Option<Kept> {
        let is_later = |kept: &Kept| self.course.number(kept.iteration, kept.subiteration) > number;
        let mut past = session.history(self.run);
        let at = past.iter().position(is_later).unwrap_or(past.len()).saturating_sub(1);
        (at < past.len()).then(|| past.swap_remove(at))
    }
}

/// The image of the reference beside the one on the screen.
pub struct ReferenceImage {
    shown: Shown,
    /// What is counted in the runs.
    course: Course,
    post_filter: PostFilter,
}

impl ReferenceImage {
    /// None yet; `wake` is called when it was filtered.
    pub fn new(wake: impl Fn() + Send + 'static) -> Self {
        Self { shown: Shown::default(), course: Course::ITERATIONS, post_filter: PostFilter::start(wake) }
    }

    /// Shows the reference's image that belongs beside the one of this number, with the same filter; without a reference none.
    pub fn show(&mut self, wanted: Option<(&Reference, usize)>, filter_mm: f64, session: &Session) {
        let kept = wanted.and_then(|(reference, number)| reference.beside(number, session));
        if let Some((reference, _)) = wanted {
            self.course = reference.course;
        }
        let past = kept.map(|Kept { run, iteration, subiteration, volume, extremes }| {
            let id = IterateId { run, iteration, subiteration };
            Past { id, volume, extremes }
        });
        let run = past.as_ref().map(|past| past.id.run);
        if self.shown.id().is_some_and(|id| Some(id.run) != run) {
            self.shown.set_filtered(None);
            self.post_filter.forget();
        }
        self.shown.set_past(past);
        self.post_filter.keep_up(&mut self.shown, filter_mm);
    }

    /// The image.
    pub fn volume(&self) -> Option<&Volume> {
        self.shown.volume()
    }

    /// Grows with each change of the image.
    pub fn generation(&self) -> u64 {
        self.shown.generation()
    }

    /// What it is called.
    pub fn words(&self) -> String {
        let Some(id) = self.shown.id() else { return String::new() };
        let filtered = self.shown.filter_mm().map_or_else(String::new, |mm| format!(", {}", format::filtered(mm)));
        format!("run {}, {}{filtered}", id.run, id.words(&self.course, 1))
    }
}
