//! Program, operating system, processor, display and locale.

use std::env;

use serde_json::Value;
use sysinfo::System;

use super::private::Private;
use super::problem::{Findings, Problem};
use super::section::{Field, Section};
use crate::algebra::Simd;
use crate::cli::inspect::devices::{Processor, vector_instructions};
use crate::plan::FreeMemory;
#[cfg(feature = "window")]
use crate::ui::has_display;

/// Variables that choose drivers and devices; their values stay private.
#[cfg(feature = "window")]
const OVERRIDES: [&str; 12] = [
    "CUDA_VISIBLE_DEVICES",
    "DRI_PRIME",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LIBGL_ALWAYS_SOFTWARE",
    "RAYON_NUM_THREADS",
    "VK_DRIVER_FILES",
    "VK_ICD_FILENAMES",
    "VK_LOADER_DRIVERS_SELECT",
    "WGPU_BACKEND",
    "WGPU_POWER_PREF",
    "WINIT_X11_SCALE_FACTOR",
];

/// Reports version and build of the program.
pub fn program(_: &Private, findings: &mut Findings) -> Section {
    let is_debug = cfg!(debug_assertions);
    if is_debug {
        findings.problems.push(Problem::DebugBuild);
    }
    Section::new(
        "Program",
        vec![
            Field::text("Version", env!("CARGO_PKG_VERSION")),
            Field::text("Target", target()),
            Field::text("Profile", if is_debug { "debug" } else { "release" }),
            Field::text("Rust", concat!(env!("CARGO_PKG_RUST_VERSION"), " or newer")),
            Field::choice("Window", cfg!(feature = "window"), ["built in", "not built in (feature window)"]),
            Field::choice("PDF", cfg!(feature = "pdf"), ["built in", "not built in (feature pdf)"]),
            Field::choice("CUDA", cfg!(feature = "cuda"), ["built in", "not built in (feature cuda)"]),
            Field::choice("MPI", cfg!(feature = "mpi"), ["built in", "not built in (feature mpi)"]),
        ],
    )
}

/// Returns the target of the build: `x86_64-linux-gnu`.
fn target() -> String {
    let environment = if cfg!(target_env = "gnu") {
        "-gnu"
    } else if cfg!(target_env = "musl") {
        "-musl"
    } else if cfg!(target_env = "msvc") {
        "-msvc"
    } else {
        ""
    };
    format!("{}-{}{environment}", env::consts::ARCH, env::consts::OS)
}

/// Reports operating system and memory.
pub fn system(_: &Private, _: &mut Findings) -> Section {
    let system = System::long_os_version().ok().or_else(|| System::name().ok());
    Section::new(
        "System",
        vec![
            Field::maybe("Operating system", system),
            Field::maybe("Kernel", System::kernel_version().ok()),
            Field::bytes("Memory", Processor::find().memory_bytes),
            Field::bytes("Free memory", FreeMemory::of_the_computer().bytes),
        ],
    )
}

/// Reports processor and threads.
pub fn processor(_: &Private, findings: &mut Findings) -> Section {
    let Processor { name, num_cores, num_threads, .. } = Processor::find();
    if cfg!(target_arch = "x86_64") && Simd::detect() == Simd::Portable {
        findings.problems.push(Problem::NoVectors);
    }
    Section::new(
        "Processor",
        vec![
            Field::maybe("Name", name),
            Field::number("Cores", num_cores),
            Field::number("Hardware threads", Some(num_threads)),
            Field::number("Worker threads", Some(rayon::current_num_threads())),
            Field::text("Vector units", vector_instructions()),
            Field::text("Vectors used", Simd::fastest().name()),
        ],
    )
}

/// Reports the display server, and whether variables that change the choice of devices are set.
#[cfg(feature = "window")]
pub fn display(_: &Private, findings: &mut Findings) -> Section {
    let is_set = |name: &str| env::var_os(name).is_some_and(|value| !value.is_empty());
    let variable = |name: &'static str| Field::choice(name, is_set(name), ["set", "not set"]);
    if !has_display() {
        findings.problems.push(Problem::NoDisplay);
    }
    let kinds = ["x11", "wayland", "tty", "mir", "unspecified"];
    let session = env::var("XDG_SESSION_TYPE").ok().filter(|kind| kinds.contains(&kind.as_str()));
    let overrides: Vec<&str> = OVERRIDES.into_iter().filter(|name| is_set(name)).collect();
    Section::new(
        "Display",
        vec![
            variable("DISPLAY"),
            variable("WAYLAND_DISPLAY"),
            Field::maybe("Session type", session),
            Field::with_json(
                "Overrides set",
                if overrides.is_empty() { "none".to_owned() } else { overrides.join(" ") },
                overrides.into(),
            ),
        ],
    )
}

/// Reports language and number format. (The program's texts and files do not depend on them.)
pub fn locale(_: &Private, _: &mut Findings) -> Section {
    Section::new("Locale", ["LANG", "LC_ALL", "LC_NUMERIC"].map(locale_field).into())
}

fn locale_field(name: &'static str) -> Field {
    match env::var_os(name).filter(|value| !value.is_empty()) {
        None => Field::with_json(name, "not set".to_owned(), Value::Null),
        Some(value) => match value.to_str().filter(|value| is_locale(value)) {
            Some(value) => Field::text(name, value),
            None => Field::text(name, "not a locale"),
        },
    }
}

/// Returns true if the text has the form of a locale: `de_DE.UTF-8`, `C`.
fn is_locale(text: &str) -> bool {
    let language = text.split(['_', '.', '@']).next().unwrap_or_default();
    let is_language = matches!(language, "C" | "POSIX") || (2..=3).contains(&language.len());
    is_language && text.len() <= 32 && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.@-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locales_differ_from_other_texts() {
        assert!(["C", "C.UTF-8", "POSIX", "de_DE.UTF-8", "ca_ES@valencia", "fil_PH"].iter().all(|text| is_locale(text)));
        assert!(!["", "annabel", "/home/ann", "de DE", "e"].iter().any(|text| is_locale(text)));
    }
}
