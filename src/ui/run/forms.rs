//! The settings of a start.

use std::sync::Arc;

use super::fbp_form::FbpForm;
use super::settings::SettingsForm;
use super::stop_form::StopForm;
use crate::plan::{DeviceChoice, Job};
use crate::ui::study::open_study::OpenStudy;

/// The settings of a start, for each kind of study.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Forms {
    /// Of counts, along lines or of pairs of crystals.
    pub counts: SettingsForm,
    /// Of a sweep.
    pub fbp: FbpForm,
    /// When an iterative one is to stop by itself.
    pub stop: StopForm,
}

impl Forms {
    /// Takes the settings for a new study, with this device.
    ///
    /// # Errors
    /// Its default grid cannot be made.
    pub fn reset(&mut self, open: &OpenStudy, device: DeviceChoice) -> Result<(), String> {
        match open {
            OpenStudy::Counts(open) => {
                self.counts = SettingsForm { device, ..SettingsForm::for_counts(&open.study.measured, open.size)? };
                // Of counts elsewhere the study here has none.
                self.counts.follow(open.subset_rule);
            }
            OpenStudy::Pairs(open) => self.counts = SettingsForm { device, ..SettingsForm::for_pairs(&open.study.measured)? },
            OpenStudy::Events(open) => self.counts = SettingsForm { device, ..SettingsForm::for_list(&open.study.measured)? },
            OpenStudy::Sweep(open) => self.fbp = FbpForm { device, ..open.whole().look(FbpForm::for_sweep)? },
        }
        Ok(())
    }

    /// What a start would do now.
    ///
    /// # Errors
    /// The form makes no sense; the sentence says why.
    pub fn job(&self, open: &OpenStudy) -> Result<Job, String> {
        match open {
            OpenStudy::Counts(open) => {
                let mut settings = Box::new(self.counts.run_settings()?);
                settings.tubes = open.tubes.as_ref().map(|tubes| Arc::clone(&tubes.set));
                Ok(Job::Counts { study: Arc::clone(&open.study), settings })
            }
            OpenStudy::Pairs(open) => {
                let settings = Box::new(self.counts.pair_settings(open.matrix.clone())?);
                Ok(Job::Pairs { study: Arc::clone(&open.study), settings })
            }
            OpenStudy::Events(open) => {
                self.counts.frames()?;
                let settings = Box::new(self.counts.run_settings()?);
                let growing = open.following.as_ref().map(|following| following.acquisition.clone());
                Ok(Job::Events { study: Arc::clone(&open.study), settings, growing })
            }
            OpenStudy::Sweep(open) => {
                let settings = Box::new(self.fbp.sweep_settings()?);
                Ok(Job::Sweep { study: open.to_reconstruct(), settings })
            }
        }
    }
}
