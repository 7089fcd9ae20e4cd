//! Problems that the report finds, with the remedy of each.

use std::time::Duration;

use serde_json::{Value, json};

use super::private::Private;
use crate::ui::DRIVER_ADVICE;

/// Results that several sections share.
#[derive(Default)]
pub struct Findings {
    /// Problems in the order in which they were found.
    pub problems: Vec<Problem>,
    pub lacks_cuda_driver: bool,
}

/// A problem of this computer or of the program's build.
#[derive(Debug, thiserror::Error, strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Problem {
    /// A build without optimisation.
    #[error("The program is a debug build: reconstruction is many times slower.")]
    DebugBuild,
    /// A processor without wide vector instructions.
    #[error("The processor lacks AVX2 and FMA: reconstruction is slower.")]
    NoVectors,
    /// No display for the window.
    #[error("No display: the window does not open.")]
    NoDisplay,
    #[error("No graphics adapter: the window does not open.")]
    NoAdapter,
    /// Graphics adapters that do not suit the window.
    #[error("No graphics adapter suits the window.")]
    UnsuitableAdapter,
    /// An adapter that draws on the processor.
    #[error("The window is drawn on the processor ({0}): it is slower and takes time from the reconstruction.")]
    SoftwareRenderer(String),
    /// An NVIDIA driver without CUDA.
    #[error("NVIDIA GPUs are not usable for reconstruction: {0}.")]
    NoCuda(String),
    /// An NVIDIA GPU with the driver of another maker.
    #[error("{0} is not usable for reconstruction: its CUDA driver is missing.")]
    NoCudaDriver(String),
    /// A CUDA device that is out of use.
    #[error("CUDA device {0} is not usable: {1}.")]
    BrokenDevice(usize, String),
    /// No place for files that are stored.
    #[error("The {0} is unknown: nothing is stored there.")]
    NoFolder(&'static str),
    /// A folder that takes no files.
    #[error("The {0} is not writable: {1}.")]
    ReadOnlyFolder(&'static str, String),
    /// A probe without an answer.
    #[error("The {0} gave no answer in {1:.0?}.")]
    Hangs(&'static str, Duration),
    /// A probe that failed.
    #[error("The {0} failed while the program looked for devices: {1}.")]
    Fails(&'static str, String),
}

impl Problem {
    fn advice(&self) -> String {
        match self {
            Problem::DebugBuild => "Build it with --release.".into(),
            Problem::NoVectors => "Use a newer processor, or a GPU (--device cuda:0).".into(),
            Problem::NoDisplay => "Log in to a desktop, or use the commands (tomoscope --help).".into(),
            Problem::NoAdapter => format!("{DRIVER_ADVICE}."),
            Problem::UnsuitableAdapter => format!("Update the graphics driver. {DRIVER_ADVICE}."),
            Problem::SoftwareRenderer(_) => "If the computer has a GPU, install its graphics driver.".into(),
            Problem::NoCuda(_) | Problem::NoCudaDriver(_) => "Install or update the NVIDIA driver (525 or newer).".into(),
            Problem::BrokenDevice(..) => "Choose another device (--device), or reinstall the NVIDIA driver.".into(),
            Problem::NoFolder(_) => "Set HOME.".into(),
            Problem::ReadOnlyFolder(..) => "Change its permissions, or set XDG_CACHE_HOME and XDG_DATA_HOME.".into(),
            Problem::Hangs(..) | Problem::Fails(..) => {
                "Restart the computer; if that does not help, reinstall the driver.".into()
            }
        }
    }

    /// Returns code, text and remedy as JSON.
    pub fn json(&self, private: &Private) -> Value {
        let code: &str = self.into();
        json!({
            "code": code,
            "text": private.removed_from(&self.to_string()),
            "advice": private.removed_from(&self.advice()),
        })
    }
}

/// Returns the numbered problems as text, each with its remedy.
pub fn text(problems: &[Problem], private: &Private) -> String {
    if problems.is_empty() {
        return "Problems\n  none found".to_owned();
    }
    let line = |(index, problem): (usize, &Problem)| {
        private.removed_from(&format!("\n  {}. {problem}\n     {}", index + 1, problem.advice()))
    };
    let lines: String = problems.iter().enumerate().map(line).collect();
    format!("Problems{lines}")
}
