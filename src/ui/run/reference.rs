//! What the images of the active run are compared with, those of another run or one iterate, and the one of them that is seen beside
//! the image on the screen.

use super::displayed_image::DisplayedImage;
use super::post_filter::PostFilter;
use crate::data::Volume;
use crate::geometry::Grid;
use crate::plan::IterationScheme;
use crate::session::{CompareWith, ReferenceId, RunId, Session, StoredIterate};
use crate::ui::widgets::format;

/// What can be chosen to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReferenceChoice {
    /// The run.
    pub run: RunId,
    /// The number of one of its iterates; `None` = each image is compared with the one of the same number.
    pub number: Option<usize>,
}

impl ReferenceChoice {
    /// A run as a whole.
    pub fn run(run: RunId) -> Self {
        Self { run, number: None }
    }

    /// What it is called, of the run of this number.
    pub fn text(&self, run_number: RunId, course: &IterationScheme) -> String {
        let words =
            |number| if course.by_iteration { format!(", iteration {number}") } else { format!(", {}", course.text(number)) };
        format!("run {run_number}{}", self.number.map_or_else(String::new, words))
    }
}

/// What the images of the active run are compared with. Only its images need still be there.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Which.
    pub choice: ReferenceChoice,
    /// The number by which its run is called.
    pub run_number: RunId,
    /// Steps done of its iterate, where it is one.
    pub subiteration: Option<usize>,
    /// The run's number and what it did, in words.
    pub title: String,
    /// The grid of its images.
    pub grid: Grid,
    /// What its images are counted by.
    pub course: IterationScheme,
    /// Whether additions were lost in some of its steps.
    pub has_race: bool,
}

impl Reference {
    /// The run.
    pub fn run(&self) -> RunId {
        self.choice.run
    }

    /// What it is called.
    pub fn text(&self) -> String {
        self.choice.text(self.run_number, &self.course)
    }

    /// By which the session knows it.
    pub fn id(&self) -> ReferenceId {
        ReferenceId { run: self.choice.run, subiteration: self.subiteration }
    }

    /// Whether images of this run are compared with it: not those of a run with themselves.
    pub fn is_for(&self, run: RunId) -> bool {
        self.subiteration.is_some() || self.choice.run != run
    }

    /// The image that is seen beside the one of this number: that of the same number, or the last before it.
    fn beside(&self, number: usize, session: &Session) -> Option<StoredIterate> {
        let is_later = |kept: &StoredIterate| self.course.number(kept.id.iteration, kept.id.subiteration) > number;
        let mut past = session.history(self.choice.run);
        let at = past.iter().position(is_later).unwrap_or(past.len()).saturating_sub(1);
        (at < past.len()).then(|| past.swap_remove(at))
    }
}

/// The image of the reference beside the one on the screen.
pub struct ReferenceImage {
    shown: DisplayedImage,
    /// The one that it always is, where the reference is one iterate.
    fixed: Option<StoredIterate>,
    /// The number by which its run is called.
    run_number: RunId,
    /// What is counted in the runs.
    course: IterationScheme,
    post_filter: PostFilter,
}

impl ReferenceImage {
    /// None yet; `wake` is called when it was filtered.
    pub fn new(wake: impl Fn() + Send + 'static) -> Self {
        Self {
            shown: DisplayedImage::default(),
            fixed: None,
            run_number: 0,
            course: IterationScheme::ITERATIONS,
            post_filter: PostFilter::start(wake),
        }
    }

    /// From now on it is always this one, or no longer; what others are compared with.
    pub fn fix(&mut self, reference: &Reference, image: Option<StoredIterate>) -> CompareWith {
        self.fixed = image.clone();
        image.map_or(CompareWith::Run(reference.run()), CompareWith::Image)
    }

    /// Shows the reference's image that belongs beside the one of this number, with the same filter; without a reference none.
    pub fn show(&mut self, wanted: Option<(&Reference, usize)>, filter_mm: f64, session: &Session) {
        let of_number =
            |(reference, number): (&Reference, usize)| self.fixed.clone().or_else(|| reference.beside(number, session));
        let kept = wanted.and_then(of_number);
        if let Some((reference, _)) = wanted {
            (self.run_number, self.course) = (reference.run_number, reference.course);
        }
        let run = kept.as_ref().map(|past| past.id.run);
        if self.shown.id().is_some_and(|id| Some(id.run) != run) {
            self.shown.set_filtered(None);
            self.post_filter.forget();
        }
        self.shown.set_past(kept);
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
    pub fn text(&self) -> String {
        let Some(id) = self.shown.id() else { return String::new() };
        let filtered = self.shown.filter_mm().map_or_else(String::new, |mm| format!(", {}", format::filtered(mm)));
        let number = Some(self.course.number(id.iteration, id.subiteration));
        format!("{}{filtered}", ReferenceChoice { run: id.run, number }.text(self.run_number, &self.course))
    }
}
