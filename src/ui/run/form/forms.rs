//! The settings of a start.

use super::settings::SettingsForm;
use super::stop_form::StopForm;
use crate::plan::{DeviceChoice, Job, filter_settings};
use crate::recon::FilterSettings;
use crate::ui::study::open::open_study::OpenStudy;

/// The settings of a start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forms {
    /// Of the reconstruction.
    pub settings: SettingsForm,
    /// When it stops automatically, where it iterates.
    pub stop: StopForm,
}

impl Forms {
    /// Takes the settings for a new study, with this device.
    ///
    /// # Errors
    /// Its default grid cannot be made.
    pub fn reset(&mut self, open: &OpenStudy, device: DeviceChoice) -> Result<(), String> {
        self.settings = SettingsForm { device, ..SettingsForm::for_study(open)? };
        if let Some(open) = open.counts() {
            // Of counts on a server the study here has none.
            self.settings.follow(open.subset_rule);
        }
        Ok(())
    }

    /// Returns how the projections of a sweep are filtered.
    pub fn filter(&self) -> FilterSettings {
        filter_settings(&self.settings.parameters)
    }

    /// Returns what a start would do now.
    ///
    /// # Errors
    /// The form makes no sense; the sentence says why.
    pub fn job(&self, open: &OpenStudy) -> Result<Job, String> {
        let mut settings = self.settings.run_settings()?;
        settings.tubes = open.counts().and_then(|open| Some(open.tubes.as_ref()?.set.clone()));
        settings.matrix = open.pairs().and_then(|open| open.matrix.clone());
        if open.list().is_some() {
            self.settings.frames()?;
        }
        Ok(Job::new(open.to_reconstruct(), settings))
    }
}
