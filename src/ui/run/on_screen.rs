//! Which image of a run is on the screen, in numbers and words.

use super::live::LiveRun;
use super::run_view::RunView;
use crate::data::IterateId;
use crate::geometry::Grid;
use crate::plan::Provenance;
use crate::ui::widgets::format;

impl RunView {
    /// The grid of the newest image, also of one of which only slices have come.
    pub fn grid_shown(&self) -> Option<&Grid> {
        self.shown.ahead().map(|ahead| &ahead.grid).or_else(|| Some(&self.shown.chosen()?.1.grid))
    }

    /// The number by which an image is called.
    pub(super) fn number(&self, iteration: usize, subiteration: usize) -> usize {
        self.live.course().number(iteration, subiteration)
    }

    /// The number of the image of the past on the screen, if it is one.
    pub fn past_number(&self) -> Option<usize> {
        let (id, _) = self.shown.chosen().filter(|_| self.shown.is_past())?;
        Some(self.number(id.iteration, id.subiteration))
    }

    /// The number of the kept image nearest to a place of the curves' horizontal axis.
    pub fn nearest_kept(&self, place: f64) -> Option<usize> {
        let distance = |number: &usize| (*number as f64 - place).abs();
        self.kept.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// The number of the image on the screen, whichever run's it is.
    pub fn shown_number(&self) -> Option<usize> {
        let (id, live) = self.shown_of()?;
        Some(live.course().number(id.iteration, id.subiteration))
    }

    /// The image on the screen and the run that made it: the one that is watched, or still the one before.
    pub fn shown_of(&self) -> Option<(IterateId, &LiveRun)> {
        let id = self.shown.id()?;
        let live = [&self.live, &self.left].into_iter().find(|live| live.run == id.run);
        live.or_else(|| self.series.as_ref()?.run(id.run)).map(|live| (id, live))
    }

    /// What is on the screen, in words.
    pub fn shown_words(&self) -> String {
        let whole = self.whole_words();
        let Some(id) = self.shown.given_ahead() else { return whole };
        let slices = format!("slices of {}", self.live.course().iterate_text(id, self.live.num_subsets()));
        if whole.is_empty() { slices } else { format!("{whole}; {slices}") }
    }

    /// The whole image on the screen, in words.
    fn whole_words(&self) -> String {
        let Some((id, live)) = self.shown_of() else { return String::new() };
        let mut words = live.course().iterate_text(id, live.num_subsets());
        match self.shown_frame() {
            Some(frame) => words = format!("{frame}: {words}"),
            None if live.run != self.live.run => words += " of the run before",
            None => {}
        }
        if let Some(fwhm_mm) = self.shown.filter_mm() {
            words += &format!(", {}", format::filtered(fwhm_mm));
        }
        words
    }

    /// What made the image on the screen: the run that is watched or the one before, at the iterate and with the filter of
    /// this very image.
    pub fn provenance(&self) -> Option<Provenance> {
        let (id, run) = self.shown_of()?;
        run.provenance(id.subiteration, self.shown.filter_mm())
    }

    /// The same in words.
    pub fn provenance_words(&self) -> String {
        let (Some((_, run)), Some(provenance)) = (self.shown_of(), self.provenance()) else { return String::new() };
        let before = if run.run == self.live.run || self.shown_frame().is_some() { "" } else { "the run before: " };
        format!("{before}{}", provenance.line())
    }
}
