//! Numbers and names of the displayed image of a run.

use super::live::LiveRun;
use super::run_view::RunView;
use crate::data::IterateId;
use crate::geometry::Grid;
use crate::plan::Provenance;
use crate::ui::widgets::format;

impl RunView {
    /// Returns the grid of the displayed image, also of a partly received one.
    pub fn grid_shown(&self) -> Option<&Grid> {
        self.shown.ahead().or_else(|| self.shown.volume()).map(|image| &image.grid)
    }

    /// Returns the displayed number of an iterate.
    pub(super) fn number(&self, iteration: usize, subiteration: usize) -> usize {
        self.live.iteration_scheme().number(iteration, subiteration)
    }

    /// Returns the number of the displayed iterate, unless it is the newest one.
    pub fn past_number(&self) -> Option<usize> {
        let (id, _) = self.shown.chosen().filter(|_| self.shown.is_past())?;
        Some(self.number(id.iteration, id.subiteration))
    }

    /// Returns the number of the stored iterate nearest to a value of the curves' horizontal axis.
    pub fn nearest_stored(&self, axis_value: f64) -> Option<usize> {
        let distance = |number: &usize| (*number as f64 - axis_value).abs();
        self.stored.iter().copied().min_by(|a, b| distance(a).total_cmp(&distance(b)))
    }

    /// Returns the stored iterate before or after the displayed one; `None`: the newest.
    pub fn neighbour(&self, forward: bool) -> Option<usize> {
        neighbour(&self.stored, self.past_number(), forward)
    }

    /// Returns the number of the displayed iterate of any run.
    pub fn shown_number(&self) -> Option<usize> {
        let (id, live) = self.shown_of()?;
        Some(live.iteration_scheme().number(id.iteration, id.subiteration))
    }

    /// Returns the displayed iterate and its run: the live one, the run before, or a frame.
    pub fn shown_of(&self) -> Option<(IterateId, &LiveRun)> {
        let id = self.shown.id()?;
        let live = [&self.live, &self.previous].into_iter().find(|live| live.run == id.run);
        live.or_else(|| self.series.as_ref()?.run(id.run)).map(|live| (id, live))
    }

    /// Describes the displayed image.
    pub fn shown_words(&self) -> String {
        let whole = self.whole_words();
        let Some(id) = self.shown.given_ahead() else { return whole };
        let slices = format!("slices of {}", self.live.iteration_scheme().iterate_text(id, self.live.num_subsets()));
        if whole.is_empty() { slices } else { format!("{whole}; {slices}") }
    }

    /// Describes the displayed whole image.
    fn whole_words(&self) -> String {
        let Some((id, live)) = self.shown_of() else { return String::new() };
        let mut words = live.iteration_scheme().iterate_text(id, live.num_subsets());
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

    /// Returns the provenance of the displayed image.
    pub fn provenance(&self) -> Option<Provenance> {
        let (id, run) = self.shown_of()?;
        run.provenance(id.subiteration, self.shown.filter_mm())
    }

    /// Returns the provenance as text, of the image of another radical if one hides the displayed image.
    pub fn provenance_words(&self, hiding_radical: Option<usize>) -> String {
        let (Some((_, run)), Some(provenance)) = (self.shown_of(), self.provenance()) else { return String::new() };
        let radical = provenance.radical.clone().map(|radical| radical.numbered(hiding_radical.unwrap_or(0)));
        let provenance = Provenance { radical, ..provenance };
        let before = if run.run == self.live.run || self.shown_frame().is_some() { "" } else { "the run before: " };
        format!("{before}{}", provenance.line())
    }
}

/// Returns the stored iterate before or after the displayed one; `None` = live.
fn neighbour(iterations: &[usize], past: Option<usize>, forward: bool) -> Option<usize> {
    let at = past.map_or(iterations.len().saturating_sub(1), |past| iterations.partition_point(|i| *i < past));
    if forward { past.and_then(|_| iterations.get(at + 1).copied()) } else { iterations.get(at.saturating_sub(1)).copied() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrows_walk_over_the_kept_iterates() {
        let kept = [2, 4, 6];
        assert_eq!(neighbour(&kept, None, false), Some(4));
        assert_eq!(neighbour(&kept, Some(4), false), Some(2));
        assert_eq!(neighbour(&kept, Some(2), false), Some(2));
        assert_eq!(neighbour(&kept, Some(4), true), Some(6));
        assert_eq!(neighbour(&kept, Some(6), true), None);
        assert_eq!(neighbour(&[], None, false), None);
    }
}
