//! Opening the window, and a friendly end where there is none to open.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;

use eframe::egui_wgpu::{SurfaceConfig, WgpuSetup, WgpuSetupCreateNew};

use super::app::{App, AppOptions};
use super::loader::{BUILT_IN, Source};
use crate::render::device_descriptor;
use crate::session::Trace;

/// What works without a window.
const HEADLESS: &str =
    "Without a window: tomoscope reconstruct INPUT.hs -o OUT.nii.gz (tomoscope --help lists the other commands)";

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No display, or its libraries are missing.
    #[error("no display to open the window on ({reason}). Log in to a desktop, or set DISPLAY. {HEADLESS}")]
    NoDisplay {
        /// What the system said.
        reason: String,
    },
    /// No graphics adapter that can draw.
    #[error(
        "no graphics adapter to draw the window with ({reason}). Install a driver; mesa-vulkan-drivers draws on the processor. {HEADLESS}"
    )]
    NoAdapter {
        /// What the system said.
        reason: String,
    },
    /// Anything else.
    #[error("the window could not be opened: {reason}. {HEADLESS}")]
    Other {
        /// What the system said.
        reason: String,
    },
}

/// Opens the window on a study, or on the built-in one, and returns when it is closed.
///
/// # Errors
/// No display, no graphics adapter; the sentence names the command that works without.
pub fn run(study: Option<PathBuf>, trace: Trace) -> Result<(), StartError> {
    let [built_in, ..] = BUILT_IN;
    let start = study.map_or(Source::BuiltIn(built_in), Source::File);
    let options = AppOptions { start, autostart: true, num_iterations: None, show_timings: true, trace };
    // Missing libraries of the display make the window's library panic: its message is the reason.
    let hook = std::panic::take_hook();
    let message = Arc::new(std::sync::Mutex::new(None::<String>));
    let seen = Arc::clone(&message);
    let is_main = std::thread::current().id();
    std::panic::set_hook(Box::new(move |info| {
        if std::thread::current().id() == is_main
            && let Ok(mut seen) = seen.lock()
        {
            *seen = Some(info.to_string());
        } else {
            eprintln!("{info}");
        }
    }));
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        eframe::run_native("tomoscope", native_options(), Box::new(move |creation| Ok(Box::new(App::new(creation, options)))))
    }));
    std::panic::set_hook(hook);
    match outcome {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(explained(error)),
        Err(_) => {
            let reason = message.lock().ok().and_then(|mut m| m.take()).unwrap_or_else(|| "no message".into());
            if reason.contains("could not be loaded") {
                Err(StartError::NoDisplay { reason })
            } else {
                Err(StartError::Other { reason })
            }
        }
    }
}

fn explained(error: eframe::Error) -> StartError {
    let reason = error.to_string();
    match error {
        eframe::Error::WinitEventLoop(_) | eframe::Error::Winit(_) => StartError::NoDisplay { reason },
        eframe::Error::Wgpu(_) => StartError::NoAdapter { reason },
        _ => StartError::Other { reason },
    }
}

fn native_options() -> eframe::NativeOptions {
    let mut options = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("tomoscope")
            .with_app_id("tomoscope")
            .with_inner_size([1400.0, 900.0])
            .with_min_inner_size([800.0, 560.0])
            .with_drag_and_drop(true),
        renderer: eframe::Renderer::Wgpu,
        ..Default::default()
    };
    options.wgpu_options.surface = SurfaceConfig::LOW_LATENCY;
    options.wgpu_options.wgpu_setup = wgpu_setup();
    options
}

/// How an adapter is asked for: with 3D textures as large as it can hold.
pub fn wgpu_setup() -> WgpuSetup {
    WgpuSetup::CreateNew(WgpuSetupCreateNew {
        device_descriptor: Arc::new(device_descriptor),
        ..WgpuSetupCreateNew::without_display_handle()
    })
}
