//! What the next start would do and need.

use super::app::App;
use crate::ui::run::forecast::{Asked, NextStart};
use crate::ui::study::open_study::OpenStudy;

impl App {
    /// Keeps the forecast of the next start up to date.
    pub(super) fn look_ahead(&mut self) {
        let Some((asked, job)) = self.asked().zip(self.job()) else { return };
        self.forecaster.update(asked, job, self.live.info.as_ref());
    }

    /// Why the next start will be refused, where that is known of just these settings.
    pub(super) fn refusal(&self) -> Option<String> {
        let (asked, forecast) = self.forecaster.known()?;
        forecast.as_ref().err().filter(|_| self.asked().as_ref() == Some(asked)).cloned()
    }

    fn asked(&self) -> Option<Asked> {
        let (form, num_projections) = match self.study.as_ref()? {
            OpenStudy::Counts(_) => (NextStart::Counts(self.form.clone()), 0),
            OpenStudy::Sweep(open) => (NextStart::Sweep(self.fbp_form.clone()), open.acquisition.num_complete()),
        };
        Some(Asked { form, study: (self.study_number, num_projections), running: self.live.info.as_ref().map(|_| self.live.run) })
    }
}
