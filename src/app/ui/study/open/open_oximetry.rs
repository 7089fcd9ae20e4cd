//! Open acquisitions of pulse oximetry.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::open_kind::OpenKind;
use crate::data::{OxygenSeries, Sweep, SweepSpace};
use crate::ui::widgets::format;
use crate::ui::widgets::image_axes::ImageAxes;

pub struct OpenOximetry {
    pub series: Arc<OxygenSeries>,
    /// File of the study; `None` for a simulation.
    pub path: Option<PathBuf>,
}

impl OpenOximetry {
    pub fn space(&self) -> SweepSpace {
        self.series.sweeps.first().map_or(SweepSpace::Volume, |sweep| sweep.space)
    }
}

impl OpenKind for OpenOximetry {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let OxygenSeries { times_us, sweeps, calibration } = &*self.series;
        let times: Vec<String> = times_us.iter().map(f64::to_string).collect();
        let name = if self.series.time_name() == "delay" { "Delays" } else { "Echo times" };
        let mut facts = vec![
            ("Data", format!("EPRI, pulse oximetry by {}", calibration.rate.label())),
            (name, format!("{} µs", times.join(", "))),
            ("Calibration", calibration.text()),
        ];
        if let Some(sweep) = sweeps.first() {
            let Sweep { space, num_points, step_mm, .. } = sweep;
            facts.extend([
                ("Image", space.to_string()),
                ("Projections", format!("{} × {}", sweeps.len(), sweep.num_complete())),
                ("Samples", format!("{num_points} of {} mm, ±{:.1} mm", format::value(*step_mm), sweep.half_extent_mm())),
            ]);
        }
        facts
    }

    fn measured_file(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    fn axes(&self) -> ImageAxes {
        ImageAxes::of(self.space())
    }

    fn num_fitted(&self) -> usize {
        self.axes().shown().len()
    }
}
