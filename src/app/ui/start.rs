//! Opening the window, and a friendly end where there is none to open.

use std::io::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use eframe::egui_wgpu::{SurfaceConfig, WgpuError};

use crate::coded::coded;
use crate::plan::{Cache, DeviceChoice, StudyFiles};
use crate::remote::{self, Dialer};
use crate::session::{SessionOptions, Trace};
use crate::ui::graphics::{DRIVER_ADVICE, wgpu_setup};
use crate::ui::study::source::{BUILT_IN, Source};
use crate::ui::widgets::wake::waker;
use crate::ui::window::app::App;
use crate::ui::workspace::state::AppOptions;

/// Name under which desktops and the settings folder know the window.
const APP_ID: &str = "tomoscope";

/// Next steps without a window.
const HEADLESS: &str = "Without a window: tomoscope reconstruct INPUT.hs -o OUT.nii.gz (tomoscope --help lists the other commands). \
                        tomoscope doctor reports the details";

/// Advice where a library of the display is missing.
const LIBRARY_ADVICE: &str = if cfg!(target_os = "linux") {
    "If a library is missing, install it (Debian, Ubuntu: packages libxkbcommon-x11-0, libx11-xcb1, libxcursor1, libxi6, libwayland-client0)"
} else {
    "Update the operating system and the graphics driver"
};

/// Advice where there is no display.
const DISPLAY_ADVICE: &str =
    if cfg!(target_os = "linux") { "Log in to a desktop, or set DISPLAY or WAYLAND_DISPLAY" } else { "Log in to a desktop" };

/// Cause of a missing window.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// No display, or no connection to it.
    #[error("no display to open the window on ({reason}). {DISPLAY_ADVICE}. {HEADLESS}")]
    NoDisplay {
        /// The system's message.
        reason: String,
    },
    /// A panic of a library before the window opened, as a missing shared library causes it.
    #[error("a library failed before the window opened ({reason}). {LIBRARY_ADVICE}. {HEADLESS}")]
    Library {
        /// The library's message.
        reason: String,
    },
    /// No graphics adapter that can draw on the display.
    #[error("no graphics adapter to draw the window with ({reason}). {DRIVER_ADVICE}. {HEADLESS}")]
    NoAdapter {
        /// The graphics library's message.
        reason: String,
    },
    /// An adapter without the limits or formats that the window requires.
    #[error("the graphics adapter does not support the window ({reason}). Update its driver. {DRIVER_ADVICE}. {HEADLESS}")]
    UnsuitableAdapter {
        /// The graphics library's message.
        reason: String,
    },
    /// The end of an open window whose display ended or which failed.
    #[error("the window was lost: {reason}. Saved files are complete; start tomoscope again")]
    Lost {
        /// The system's message.
        reason: String,
    },
    #[error("the window failed to open: {reason}. {HEADLESS}")]
    Other {
        /// The system's message.
        reason: String,
    },
}

coded!(StartError = "window");

/// Returns whether the environment names a display. (Windows and macOS always have one.)
pub fn has_display() -> bool {
    let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    !cfg!(target_os = "linux") || ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"].into_iter().any(is_set)
}

/// Returns the folder of the window's settings, which is made when they are first saved; `None` without a home folder.
pub fn settings_folder() -> Option<PathBuf> {
    eframe::storage_dir(APP_ID)
}

/// Shows the error in a native message box and returns when the user closes it. Does nothing without a display or without a
/// program that draws the box (Linux: zenity).
pub fn show_error(error: &StartError) {
    if !has_display() || matches!(error, StartError::NoDisplay { .. }) {
        return;
    }
    let dialog = rfd::MessageDialog::new().set_level(rfd::MessageLevel::Error).set_title("tomoscope");
    let _ = dialog.set_description(error.to_string()).set_buttons(rfd::MessageButtons::Ok).show();
}

/// Opens the window on a study, or on the built-in one, and returns when it is closed.
///
/// # Errors
/// No display, no graphics adapter; the sentence names the command that works without.
pub fn run(study: Option<Source>, trace: Trace) -> Result<(), StartError> {
    let [built_in, ..] = BUILT_IN;
    open(study.unwrap_or(Source::BuiltIn(built_in)), None, trace)
}

/// Opens the window on a scan of a remote host, by its path there. The session is at the end of the connections that `dial`
/// begins, on the host that is called `host` until it has sent its name.
///
/// # Errors
/// No display, no graphics adapter; the sentence names the command that works without.
pub fn run_remote(host: String, dialer: Dialer, path: String, trace: Trace) -> Result<(), StartError> {
    open(Source::Elsewhere(StudyFiles::File(path.into())), Some((host, dialer)), trace)
}

/// Opens the window, with a remote session if there is a connection to one.
fn open(start: Source, server: Option<(String, Dialer)>, trace: Trace) -> Result<(), StartError> {
    let device = DeviceChoice::Auto;
    let options = AppOptions {
        start,
        autostart: true,
        device,
        num_iterations: None,
        for_pictures: false,
        desktop_dialogs: true,
        cache: Cache::of_the_user(),
        trace,
    };
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
            // Without standard error there is no other output.
            let _ = writeln!(std::io::stderr(), "{info}");
        }
    }));
    let opened = Arc::new(AtomicBool::new(false));
    let was_opened = Arc::clone(&opened);
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let create = move |creation: &eframe::CreationContext<'_>| {
            opened.store(true, Ordering::Relaxed);
            let app = match server {
                Some((host, dialer)) => {
                    let session_options = SessionOptions { trace: options.trace.clone(), ..SessionOptions::default() };
                    let (session, remote) = remote::connect(&host, dialer, &session_options, waker(&creation.egui_ctx));
                    App::with_session(creation, options, session, Some(remote))
                }
                None => App::new(creation, options),
            };
            Ok::<Box<dyn eframe::App>, _>(Box::new(app))
        };
        eframe::run_native("tomoscope", native_options(), Box::new(create))
    }));
    std::panic::set_hook(hook);
    match outcome {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) if was_opened.load(Ordering::Relaxed) => {
            Err(StartError::Lost { reason: without_place(&error.to_string()) })
        }
        Ok(Err(error)) => Err(explained(error)),
        Err(_) => {
            let seen = message.lock().ok().and_then(|mut seen| seen.take());
            let reason = seen.map_or_else(|| "no message".into(), |text| without_place(&text));
            let is_lost = was_opened.load(Ordering::Relaxed);
            Err(if is_lost { StartError::Lost { reason } } else { StartError::Library { reason } })
        }
    }
}

fn explained(error: eframe::Error) -> StartError {
    let reason = without_place(&error.to_string());
    match error {
        eframe::Error::WinitEventLoop(_) | eframe::Error::Winit(_) => StartError::NoDisplay { reason },
        // Without any driver the surface fails before an adapter is requested.
        eframe::Error::Wgpu(
            WgpuError::RequestAdapterError(_)
            | WgpuError::CustomNativeAdapterSelectionError(_)
            | WgpuError::CreateSurfaceError(_),
        ) => StartError::NoAdapter { reason },
        eframe::Error::Wgpu(WgpuError::RequestDeviceError(_) | WgpuError::NoSurfaceFormatsAvailable) => {
            StartError::UnsuitableAdapter { reason }
        }
        _ => StartError::Other { reason },
    }
}

/// A message without the place in some source file that libraries put before it, and without its full stop.
fn without_place(message: &str) -> String {
    let is_place_end = |rest: &str| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':').starts_with([' ', '\n']);
    let after = message.rmatch_indices(".rs:").find(|(at, dots)| is_place_end(&message[at + dots.len()..]));
    let text = after.map_or(message, |(at, dots)| &message[at + dots.len()..]);
    text.trim_start_matches(|c: char| c.is_ascii_digit() || c == ':' || c.is_whitespace()).trim_end_matches('.').to_owned()
}

fn native_options() -> eframe::NativeOptions {
    let mut options = eframe::NativeOptions {
        viewport: egui::ViewportBuilder::default()
            .with_title("tomoscope")
            .with_app_id(APP_ID)
            .with_inner_size([1400.0, 900.0])
            .with_min_inner_size([800.0, 560.0])
            .with_drag_and_drop(true),
        renderer: eframe::Renderer::Wgpu,
        dithering: false,
        ..Default::default()
    };
    options.wgpu_options.surface = SurfaceConfig::LOW_LATENCY;
    options.wgpu_options.wgpu_setup = wgpu_setup();
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_lose_the_place_in_a_library() {
        let message = "winit EventLoopError: os error at /a/b-0.3/src/mod.rs:765: DISPLAY is not set.";
        assert_eq!(without_place(message), "DISPLAY is not set");
        let panic = "panicked at /a/lib.rs:59:5:\nLibrary libxkbcommon-x11.so could not be loaded.";
        assert_eq!(without_place(panic), "Library libxkbcommon-x11.so could not be loaded");
        assert_eq!(without_place("WGPU error: none"), "WGPU error: none");
    }

    #[test]
    fn a_window_without_a_driver_names_the_package() {
        let none = WgpuError::RequestAdapterError(wgpu::RequestAdapterError::EnvNotSet);
        let error = explained(eframe::Error::Wgpu(none));
        assert!(matches!(error, StartError::NoAdapter { .. }), "{error:?}");
        assert!(error.to_string().contains(DRIVER_ADVICE) && error.to_string().contains("tomoscope doctor"));
        let no_format = explained(eframe::Error::Wgpu(WgpuError::NoSurfaceFormatsAvailable));
        assert!(matches!(no_format, StartError::UnsuitableAdapter { .. }), "{no_format:?}");
    }
}
