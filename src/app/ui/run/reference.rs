//! Reference that the images of the active run are compared with: another run or one iterate.

use super::displayed_image::DisplayedImage;
use super::post_filter::PostFilter;
use crate::data::{IterateId, Unit, Volume};
use crate::geometry::Grid;
use crate::plan::IterationScheme;
use crate::session::{CompareWith, ReferenceId, RunId, Session, StoredIterate};
use crate::ui::widgets::format;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ReferenceChoice {
    pub run: RunId,
    /// Number of the iterate; `None` = each image is compared with that of the same number.
    pub number: Option<usize>,
}

impl ReferenceChoice {
    /// Returns the choice of a whole run.
    pub fn run(run: RunId) -> Self {
        Self { run, number: None }
    }

    /// Choice of an image of a file.
    pub const FILE: Self = Self { run: IterateId::FILE.run, number: Some(0) };

    /// Returns the name of the choice, for the displayed number of its run.
    pub fn text(&self, run_number: RunId, course: &IterationScheme) -> String {
        let words =
            |number| if course.by_iteration { format!(", iteration {number}") } else { format!(", {}", course.text(number)) };
        format!("run {run_number}{}", self.number.map_or_else(String::new, words))
    }
}

/// Reference of the active run. The session stores its images.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    pub choice: ReferenceChoice,
    /// Displayed number of the run.
    pub run_number: RunId,
    /// Number of complete steps, if the reference is one iterate.
    pub subiteration: Option<usize>,
    /// Number and settings of the run as text.
    pub title: String,
    pub grid: Grid,
    pub course: IterationScheme,
    pub unit: Unit,
    /// True if some step lost additions.
    pub has_race: bool,
}

impl Reference {
    /// Returns the reference of an image of a file of this name.
    pub fn of_file(name: String, volume: &Volume) -> Self {
        Self {
            choice: ReferenceChoice::FILE,
            run_number: IterateId::FILE.run,
            subiteration: Some(IterateId::FILE.subiteration),
            title: name,
            grid: volume.grid.clone(),
            course: IterationScheme::ITERATIONS,
            unit: volume.unit,
            has_race: false,
        }
    }

    /// True for an image of a file, which belongs to no run.
    pub fn is_file(&self) -> bool {
        self.choice == ReferenceChoice::FILE
    }

    pub fn run(&self) -> RunId {
        self.choice.run
    }

    pub fn text(&self) -> String {
        if self.is_file() {
            return self.title.clone();
        }
        self.choice.text(self.run_number, &self.course)
    }

    /// Returns its numbers in the session.
    pub fn id(&self) -> ReferenceId {
        ReferenceId { run: self.choice.run, subiteration: self.subiteration }
    }

    /// True if images of this run are compared with it. A run is not compared with itself.
    pub fn is_for(&self, run: RunId) -> bool {
        self.subiteration.is_some() || self.choice.run != run
    }

    /// Returns the image that is compared with that of this number: of the same number, or the last one before.
    fn image_at(&self, number: usize, session: &Session) -> Option<StoredIterate> {
        session.last_stored(self.choice.run, |id| self.course.number(id.iteration, id.subiteration) <= number)
    }
}

/// Reference image that is compared with the displayed one.
#[derive(Default)]
pub struct ReferenceImage {
    pub shown: DisplayedImage,
    /// Image of a reference that is one iterate.
    fixed: Option<StoredIterate>,
    post_filter: PostFilter,
}

impl ReferenceImage {
    /// Sets the image of a reference that is one iterate. Returns the counterpart of all comparisons.
    pub fn fix(&mut self, reference: &Reference, image: Option<StoredIterate>) -> CompareWith {
        self.fixed = image.clone();
        image.map_or(CompareWith::Run(reference.run()), CompareWith::Image)
    }

    /// Shows the image that is compared with that of a number, with the same filter; none without a reference. Calls `wake` when
    /// the image is filtered.
    pub fn show(
        &mut self,
        wanted: Option<(&Reference, usize)>,
        filter_mm: f64,
        session: &Session,
        wake: impl FnOnce() + Send + 'static,
    ) {
        let image = wanted.and_then(|(reference, number)| self.fixed.clone().or_else(|| reference.image_at(number, session)));
        let run = image.as_ref().map(|image| image.id.run);
        if self.shown.id().is_some_and(|id| Some(id.run) != run) {
            self.shown.set_filtered(None);
            self.post_filter.forget();
        }
        self.shown.set_past(image);
        self.post_filter.update(&mut self.shown, filter_mm, wake);
    }

    /// Returns the name of the image of a reference.
    pub fn text(&self, reference: &Reference) -> String {
        let Some(id) = self.shown.id() else { return String::new() };
        let filtered = self.shown.filter_mm().map_or_else(String::new, |mm| format!(", {}", format::filtered(mm)));
        if reference.is_file() {
            return format!("{}{filtered}", reference.title);
        }
        let number = Some(reference.course.number(id.iteration, id.subiteration));
        format!("{}{filtered}", ReferenceChoice { run: id.run, number }.text(reference.run_number, &reference.course))
    }
}
