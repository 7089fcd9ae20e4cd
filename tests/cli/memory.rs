//! A limit on the address space (`ulimit -v`) is noticed before memory runs out.

use std::path::Path;
use std::process::{Command, Output};

use super::done;

/// The limit: enough for the program and a small image, not for a large one.
const LIMIT_KIB: u64 = 1 << 20;

/// Runs the program in two threads within the limit.
fn limited(folder: &Path, arguments: &[&str]) -> Output {
    let mut program = Command::new("sh");
    program.args(["-c", "ulimit -v \"$0\" && exec \"$@\"", &LIMIT_KIB.to_string(), env!("CARGO_BIN_EXE_tomoscope")]);
    program.args(arguments).args(["--threads", "2"]);
    program.current_dir(folder).env("CUDA_VISIBLE_DEVICES", "").output().unwrap()
}

#[test]
fn an_image_that_does_not_fit_is_refused_with_both_figures() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "cylinder", "--scanner", "small", "--counts", "1e5", "-o", "scan.hs"]);
    done(folder, &["simulate", "ball", "--epri", "66", "-o", "ball.sweep"]);
    let pet = ["reconstruct", "scan.hs", "--iterations", "1", "-o", "image.nii"];
    let epri = ["reconstruct", "ball.sweep", "-o", "image.nii"];
    for (arguments, large) in [(&pet[..], "400,400,200"), (&epri, "600,600,600")] {
        let refusal = limited(folder, &[arguments, &["--image", large]].concat());
        let text = String::from_utf8_lossy(&refusal.stderr);
        assert_eq!(refusal.status.code(), Some(1), "{arguments:?}: {text}");
        assert!(text.contains("of memory are needed") && text.contains("are free"), "{arguments:?}: {text}");
        assert!(!folder.join("image.nii").exists());
        let within = limited(folder, arguments);
        assert_eq!(within.status.code(), Some(0), "{}", String::from_utf8_lossy(&within.stderr));
        std::fs::remove_file(folder.join("image.nii")).unwrap();
    }
}
