//! The report of `tomoscope doctor`, and the end of a window that has no display.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use super::refused;

/// Titles of the sections in their order.
const SECTIONS: [&str; 9] = ["Program", "System", "Processor", "Folders", "Display", "Locale", "CUDA", "Graphics", "Problems"];

/// A user whose name must appear nowhere.
const USER: &str = "zaphod-b42";

/// Secrets of the environment.
const SECRET: &str = "hunter2-in-the-environment";

/// Runs `doctor` as a user with a home folder of an unusual name inside `folder`.
fn doctor(folder: &Path, arguments: &[&str], more: &[(&str, &str)]) -> Output {
    let home = folder.join(USER);
    std::fs::create_dir_all(&home).unwrap();
    let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    program.arg("doctor").args(arguments).current_dir(&home).env("HOME", &home);
    program.env("USER", USER).env("LOGNAME", USER).env("CUDA_VISIBLE_DEVICES", "-1").env("API_TOKEN", SECRET);
    for name in ["XDG_CACHE_HOME", "XDG_DATA_HOME", "DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"] {
        program.env_remove(name);
    }
    program.envs(more.iter().copied()).output().unwrap()
}

/// What it printed, with exit code 0.
fn report(folder: &Path, arguments: &[&str], more: &[(&str, &str)]) -> String {
    let output = doctor(folder, arguments, more);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    String::from_utf8(output.stdout).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// The key of a title or label in JSON.
fn key(label: &str) -> String {
    label.to_lowercase().replace([' ', '-'], "_")
}

/// All keys of a value and of those inside it.
fn keys(value: &Value) -> Vec<String> {
    match value {
        Value::Object(map) => map.iter().flat_map(|(key, value)| [vec![key.clone()], keys(value)].concat()).collect(),
        Value::Array(values) => values.iter().flat_map(keys).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn the_report_has_its_sections_and_json_has_the_same_fields() {
    let folder = tempfile::tempdir().unwrap();
    let text = report(folder.path(), &[], &[]);
    let titles: Vec<&str> = text.lines().filter(|line| !line.is_empty() && !line.starts_with(' ')).collect();
    assert_eq!(titles, SECTIONS, "{text}");
    let report = json(&report(folder.path(), &["--json"], &[]));
    let sections: Vec<&String> = report.as_object().unwrap().keys().collect();
    assert_eq!(sections, SECTIONS.iter().map(|title| key(title)).collect::<Vec<_>>().iter().collect::<Vec<_>>());
    let known = keys(&report);
    let facts = text.split_once("\nProblems").unwrap().0;
    for line in facts.lines().filter(|line| line.starts_with("  ")) {
        let label = line.trim_start().split("  ").next().unwrap();
        assert!(known.contains(&key(label)) || known.contains(&format!("{}_bytes", key(label))), "{line}");
    }
    assert_eq!(report["program"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(report["processor"]["worker_threads"].as_u64().unwrap() >= 1);
    assert!(report["system"]["memory_bytes"].as_u64().unwrap() > 1 << 28);
    for adapter in report["graphics"]["adapters"].as_array().unwrap() {
        assert!(adapter["max_3d_texture"].as_u64().unwrap() >= 256, "{adapter}");
    }
}

#[test]
fn the_report_contains_nothing_private() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let elsewhere = at.join("scratch").join(USER);
    for arguments in [&[][..], &["--json"]] {
        let text = report(at, arguments, &[("DISPLAY", ":0.secret"), ("LANG", SECRET), ("LC_ALL", "ca_ES@valencia")]);
        assert!(text.contains("~/.cache/tomoscope") && text.contains("~/.local/share/tomoscope"), "{text}");
        assert!(text.contains("ca_ES@valencia"), "{text}");
        let moved = report(at, arguments, &[("XDG_CACHE_HOME", elsewhere.to_str().unwrap()), ("USER", USER)]);
        assert!(moved.contains("scratch/USER/tomoscope"), "{moved}");
        for text in [text, moved] {
            for private in [USER, SECRET, ":0.secret"] {
                assert!(!text.contains(private), "{private}: {text}");
            }
        }
    }
}

#[test]
fn problems_have_codes_and_remedies() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("file"), "").unwrap();
    let in_file = folder.path().join("file/cache");
    // No graphics driver either.
    let hidden = [("XDG_CACHE_HOME", in_file.to_str().unwrap()), ("WGPU_BACKEND", "dx12")];
    let report = json(&report(folder.path(), &["--json"], &hidden));
    let problems = report["problems"].as_array().unwrap();
    let found = |code: &str| problems.iter().find(|problem| problem["code"] == code);
    assert_eq!(report["folders"]["cache_writable"], false);
    assert_eq!(report["display"]["display"], false);
    assert!(found("read-only-folder").is_some() && found("no-display").is_some(), "{report:#}");
    if cfg!(target_os = "linux") {
        let advice = found("no-adapter").unwrap()["advice"].as_str().unwrap();
        assert!(advice.contains("mesa-vulkan-drivers"), "{advice}");
        assert_eq!(report["graphics"]["adapters"], Value::Array(Vec::new()));
        assert_eq!(report["graphics"]["available"], false);
        // Names without their values; cargo sets more of them.
        let overrides = report["display"]["overrides_set"].as_array().unwrap();
        assert!(["CUDA_VISIBLE_DEVICES", "WGPU_BACKEND"].iter().all(|name| overrides.contains(&(*name).into())), "{overrides:?}");
    }
    assert!(problems.iter().all(|problem| !problem["text"].as_str().unwrap().is_empty()), "{report:#}");
}

#[test]
fn the_cache_is_measured() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("cache/tomoscope");
    std::fs::create_dir_all(&cache).unwrap();
    std::fs::write(cache.join("made.tubes"), [0; 3000]).unwrap();
    let report = json(&report(folder.path(), &["--json"], &[("XDG_CACHE_HOME", folder.path().join("cache").to_str().unwrap())]));
    assert_eq!((&report["folders"]["cache_files"], &report["folders"]["cache_size_bytes"]), (&1.into(), &3000.into()));
    assert_eq!(report["folders"]["cache_writable"], true);
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_display_the_window_ends_with_one_and_names_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let text = refused(folder.path(), 1, &[]);
    for words in ["no display", "DISPLAY", "tomoscope reconstruct", "tomoscope doctor"] {
        assert!(text.contains(words), "{text}");
    }
    // A display that does not answer.
    let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    program.env("DISPLAY", ":987").env_remove("WAYLAND_DISPLAY").env_remove("WAYLAND_SOCKET");
    let output = program.output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(!text.contains("panicked") && text.contains("tomoscope doctor"), "{text}");
}

#[cfg(target_os = "linux")]
#[test]
fn without_a_graphics_driver_a_message_box_names_the_package() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    // The program that draws the box writes its text into a file instead.
    let box_program = folder.path().join("zenity");
    std::fs::write(&box_program, "#!/bin/sh\nprintf '%s\\n' \"$@\" > \"$SHOWN\"\n").unwrap();
    std::fs::set_permissions(&box_program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let mut program = Command::new("xvfb-run");
    program.args(["-a", env!("CARGO_BIN_EXE_tomoscope")]).env("PATH", path).env("HOME", folder.path());
    program.env("SHOWN", folder.path().join("shown")).env_remove("WAYLAND_DISPLAY").env_remove("WAYLAND_SOCKET");
    // Linux has no driver of this kind.
    let Ok(output) = program.env("WGPU_BACKEND", "dx12").output() else {
        println!("skipped: no xvfb-run");
        return;
    };
    let said = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("mesa-vulkan-drivers") && !said.contains("panicked"), "{said}");
    let shown = std::fs::read_to_string(folder.path().join("shown")).unwrap_or_else(|error| panic!("{error}: {said}"));
    assert!(shown.contains("--error") && shown.contains("mesa-vulkan-drivers"), "{shown}");
}
