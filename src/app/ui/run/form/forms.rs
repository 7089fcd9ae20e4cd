//! Settings of the next run.

use super::settings::SettingsForm;
use super::stop_form::StopForm;
use crate::plan::{DeviceChoice, Job, filter_settings};
use crate::recon::FilterSettings;
use crate::ui::study::open::open_study::OpenStudy;

/// Settings of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forms {
    pub settings: SettingsForm,
    /// When it stops automatically, where it iterates.
    pub stop: StopForm,
}

impl Forms {
    /// Resets the settings for a new study, with this device.
    ///
    /// # Errors
    /// Making the default grid failed.
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

    /// Returns the job of the next run.
    ///
    /// # Errors
    /// The form is invalid; the error is the reason as a sentence.
    pub fn job(&self, open: &OpenStudy) -> Result<Job, String> {
        let mut settings = self.settings.run_settings()?;
        settings.inputs.tubes = open.counts().and_then(|open| Some(open.tubes.as_ref()?.set.clone()));
        settings.inputs.radicals = self.settings.read_radicals()?;
        settings.inputs.matrix = open.pairs().and_then(|open| open.matrix.clone());
        if open.list().is_some() {
            self.settings.frames()?;
        }
        Ok(Job::new(open.to_reconstruct(), settings))
    }
}
