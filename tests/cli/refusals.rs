//! Wrong arguments end with 2, everything else that cannot be done with 1 and a sentence; nothing panics.

use super::{done, failed, refused};

/// A folder with a small simulated scan `scan.hs`.
fn folder_with_scan() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    done(folder.path(), &["simulate", "cylinder", "--scanner", "small", "--counts", "1e5", "-o", "scan.hs"]);
    folder
}

#[test]
fn help_and_version_are_no_errors() {
    let folder = tempfile::tempdir().unwrap();
    for arguments in [&["--version"][..], &["--help"], &["reconstruct", "--help"], &["project", "-h"], &["backproject", "-h"]] {
        assert!(!done(folder.path(), arguments).is_empty());
    }
}

#[test]
fn wrong_arguments_end_with_two() {
    let folder = tempfile::tempdir().unwrap();
    let reconstruct = ["reconstruct", "scan.hs", "-o", "out.hv"];
    let wrong: &[&[&str]] = &[
        &["--algorithm", "map"],
        &["--iterations", "0"],
        &["--iterations", "-3"],
        &["--iterations", "99999999999999999999"],
        &["--subsets", "0"],
        &["--subset-order", "random"],
        &["--image", "1"],
        &["--image", "1,2,x"],
        &["--image", "10,10,10", "--like", "other.hv"],
        &["--voxel-mm", "1,1,1,1"],
        &["--rays", "0,1"],
        &["--rays", "1000000000000,1000000000000"],
        &["--device", "graphics"],
        &["--device", "cuda:x"],
        &["--device", "cuda:0,0"],
        &["--device", "cuda:1,"],
        &["--device", "cuda:0,64"],
        &["--projector", "joseph"],
        &["--accumulation", "safe"],
        &["--threads", "0"],
        &["--threads", "100000000"],
        &["--rois", "rois.toml"],
        &["--additive-inside"],
        &["--save-every", "0"],
        &["--post-filter-mm", "-4"],
        &["--post-filter-mm", "NaN"],
        &["--unknown"],
        &["--jobs", "0"],
        &["--part", "2/1"],
    ];
    for more in wrong {
        let arguments: Vec<&str> = reconstruct.iter().chain(more.iter()).copied().collect();
        refused(folder.path(), 2, &arguments);
    }
    for arguments in [
        &["reconstruct"][..],
        &["reconstruct", "scan.hs"],
        &["reconstruct", "scan.hs", "-o", "out.png"],
        &["reconstruct", "scan.hs", "-o", "out.hs"],
        &["project", "image.hv", "--like", "scan.hs", "-o", "out.hv"],
        &["project", "image.hv", "-o", "out.hs"],
        &["backproject", "scan.hs", "--like", "image.hv", "-o", "out.hs"],
        &["backproject", "scan.hs", "-o", "out.hv"],
    ] {
        refused(folder.path(), 2, arguments);
    }
}

#[test]
fn wrong_values_are_told_as_what_they_are() {
    let folder = folder_with_scan();
    let cases: &[(&[&str], &str)] = &[
        (&["--iterations", "-1"], "a whole number of at least 1"),
        (&["--iterations", "2.5"], "a whole number of at least 1"),
        (&["--voxel-mm", "-1,1,1"], "above 0, in mm"),
        (&["--voxel-mm", "0,1,1"], "above 0, in mm"),
        (&["--voxel-mm", "NaN,1,1"], "above 0, in mm"),
        (&["--image", "0,10,10"], "of at least 1"),
        (&["--image", "10,10"], "add one for z"),
        (&["--fov-radius-mm", "-5"], "a number above 0"),
        (&["--fov-radius-mm", "0"], "a number above 0"),
        (&["--post-filter-mm", "-3"], "a number above 0"),
        (&["--subsets", "49"], "--subsets 49: scan.hs has 48 views; use 1 to 48"),
        (&["--algorithm", "mlem", "--subsets", "4"], "--algorithm osem"),
        (&["--algorithm", "fbp"], "projection data are reconstructed by osem, mlem, svrg or bsrem"),
        (&["--frame", "0-1"], "--frame is for list-mode data; scan.hs is projection data"),
        (&["--racy-sensitivity"], "only with --accumulation non-atomic"),
        (&["--threads-per-block", "64", "--device", "cpu"], "no effect on the CPU"),
        (&["--calibration", "-1"], "a number above 0"),
    ];
    for (more, words) in cases {
        let arguments: Vec<&str> = ["reconstruct", "scan.hs", "-o", "out.hv"].iter().chain(more.iter()).copied().collect();
        let text = refused(folder.path(), 2, &arguments);
        assert!(text.contains(words) && !text.contains("unexpected argument"), "{more:?}: '{words}' is not in: {text}");
    }
    assert!(refused(folder.path(), 2, &["nema", "a.nii", "--ratio", "-1"]).contains("--ratio"));
    assert!(
        refused(folder.path(), 2, &["recontruct", "scan.hs", "-o", "a.nii"]).contains("unrecognized subcommand 'recontruct'")
    );
    assert!(refused(folder.path(), 2, &["bogus"]).contains("unrecognized subcommand 'bogus'"));
}

#[test]
fn counts_are_plain_or_have_an_exponent() {
    let folder = folder_with_scan();
    for iterations in ["1", "1e0", "1.0e0"] {
        done(folder.path(), &["reconstruct", "scan.hs", "-o", "out.hv", "--iterations", iterations, "--subsets", "4e0"]);
    }
    for command in ["tubes --scanner small --events 2e7 -o a.tubes", "tubes --scanner small --events 20000000 -o a.tubes"] {
        // (That scanner has no heads; the number is understood.)
        let text = refused(folder.path(), 1, &command.split(' ').collect::<Vec<_>>());
        assert!(text.contains("no rotating heads"), "{text}");
    }
    let text = refused(folder.path(), 2, &["tubes", "--scanner", "vrpet", "--events", "1.5", "-o", "a.tubes"]);
    assert!(text.contains("a whole number of at least 1"), "{text}");
}

#[test]
fn a_file_that_is_missing_or_none_is_told_so() {
    let folder = folder_with_scan();
    let at = folder.path();
    std::fs::create_dir(at.join("adir")).unwrap();
    std::fs::write(at.join("x.other"), "").unwrap();
    for (arguments, code) in [
        (&["info", "nofile"][..], "io.not-found"),
        (&["info", "adir"], "io.unsupported.dicom"),
        (&["reconstruct", "adir", "-o", "a.nii"], "io.not-a-file"),
        (&["reconstruct", "nofile", "-o", "a.nii"], "io.not-found"),
    ] {
        failed(at, code, arguments);
    }
    assert!(failed(at, "command.input", &["reconstruct", "x.other", "-o", "a.nii"]).contains("list-mode data (.petsird"));
    // (The window has no --json.)
    assert!(refused(at, 1, &["nofile.hs"]).contains("nofile.hs"));
}

#[test]
fn files_of_other_programs_are_refused_with_the_way_to_export_them() {
    let folder = tempfile::tempdir().unwrap();
    for (name, content, part) in [
        ("a-proj.pkl", "1", "Python pickle"),
        ("a.MAT", "1", "MATLAB"),
        ("a.d01", "1", "SpecMan4EPR"),
        ("a.exp", "[general]\n", "NumPy set"),
        ("a.spc", "1", "BES3T"),
        ("winepr.par", "DOS  Format\n", "BES3T"),
        ("stir.par", "OSMAPOSLParameters :=\n", "STIR with parameters"),
        ("a.h5", "1", "HDF5"),
    ] {
        std::fs::write(folder.path().join(name), content).unwrap();
        for words in [&["info", name][..], &["reconstruct", name, "-o", "out.nii"]] {
            let said = failed(folder.path(), "io.unsupported.foreign", words);
            assert!(said.contains(part) && said.contains("is not read"), "{words:?}: {said}");
        }
    }
}

#[test]
fn what_cannot_be_done_ends_with_one() {
    let folder = folder_with_scan();
    let reconstruct = ["reconstruct", "scan.hs", "-o", "out.hv"];
    let cases: &[(&[&str], &str, &str)] = &[
        (&["--device", "cuda"], "setup.device", "--device cpu"),
        (&["--device", "cuda:7"], "setup.device", "--device cpu"),
        (&["--image", "18446744073709551615,2,2"], "grid", ""),
        (&["--image", "100000,100000,1"], "grid", ""),
        (&["--image", "4096,4096,128"], "setup.memory", "GiB"),
        (&["--voxel-mm", "1e-9,1e-9,1e-9"], "grid", ""),
        (&["--fov-radius-mm", "0.001", "--image", "10,10,5"], "setup.image", ""),
        (&["--init", "missing.hv"], "io.not-found", "missing.hv"),
        (&["--like", "missing.nii"], "io.not-found", "missing.nii"),
        (&["--multiplicative", "missing.hs"], "io.not-found", "missing.hs"),
        (&["--csv", "no/such/folder/table.csv"], "command.output", "table.csv"),
        (&["--csv", "table.csv", "--rois", "missing.toml"], "io.not-found", "missing.toml"),
        (&["--trace", "no/such/folder/trace.jsonl"], "command.output", "trace.jsonl"),
    ];
    for (more, code, part) in cases {
        let text = failed(folder.path(), code, &[&reconstruct[..], more].concat());
        assert!(text.contains(part), "{more:?}: '{part}' is not in: {text}");
        assert!(!folder.path().join("out.hv").exists(), "{more:?} wrote something");
    }
    failed(folder.path(), "io.not-found", &["reconstruct", "missing.hs", "-o", "out.hv"]);
    assert!(failed(folder.path(), "command.input", &["reconstruct", "scan.s", "-o", "out.hv"]).contains("scan.s"));
    let said = failed(folder.path(), "command.output", &["reconstruct", "scan.hs", "-o", "no/such/folder/out.hv"]);
    assert!(said.contains("there is no folder no/such/folder"), "{said}");
    // Of commands without --json.
    let others: &[(&[&str], &str)] = &[
        (&["project", "missing.hv", "--like", "scan.hs", "-o", "out.hs"], "missing.hv"),
        (&["backproject", "scan.hs", "--like", "missing.hv", "-o", "out.hv"], "missing.hv"),
        (&["missing.hs"], "missing.hs"),
    ];
    for (arguments, words) in others {
        let text = refused(folder.path(), 1, arguments);
        assert!(text.contains(words), "{arguments:?}: {text}");
    }
}

#[test]
fn hostile_headers_are_refused() {
    let folder = folder_with_scan();
    let header = std::fs::read_to_string(folder.path().join("scan.hs")).unwrap();
    let reconstruct = ["reconstruct", "bad.hs", "-o", "out.hv"];
    let bad = |text: &str| {
        std::fs::write(folder.path().join("bad.hs"), text).unwrap();
        refused(folder.path(), 1, &reconstruct)
    };
    bad("");
    bad("\u{0}\u{1}\u{2}");
    // A header that breaks off in its first half; what is missing at the end can come from the catalogue.
    for cut in (0..header.len() / 2).step_by(header.len() / 20 + 1) {
        if let Some(text) = header.get(..cut) {
            bad(text);
        }
    }
    let huge: String =
        header
            .lines()
            .map(|line| {
                if line.contains("matrix size [1]") { "!matrix size [1] := 4000000000\n".to_owned() } else { format!("{line}\n") }
            })
            .collect();
    assert_ne!(huge, header);
    bad(&huge);
    // The data is shorter than the header says.
    std::fs::write(folder.path().join("scan.s"), [0u8; 100]).unwrap();
    failed(folder.path(), "io.truncated", &["reconstruct", "scan.hs", "-o", "out.hv"]);
}

#[test]
fn options_of_the_other_modality_are_refused() {
    let folder = folder_with_scan();
    let at = folder.path();
    done(at, &["simulate", "ball", "--epri", "66", "-o", "ball.sweep"]);
    for option in [
        "--filter hamming",
        "--cutoff 0.5",
        "--baseline 1",
        "--phase auto",
        "--interpolation linear",
        "--reference scan.hs",
        "--kernel fast",
        "--order spaced",
        "--follow",
    ] {
        let arguments: Vec<&str> = "reconstruct scan.hs -o out.hv".split(' ').chain(option.split(' ')).collect();
        let said = refused(at, 2, &arguments);
        assert!(
            said.contains("EPRI acquisitions; scan.hs is projection data") && said.contains(arguments[4]),
            "{option}: {said}"
        );
    }
    for option in [
        "--rays 1,1",
        "--projector per-lor",
        "--subset-order spaced",
        "--threads-per-block 64",
        "--subsets 3",
        "--matrix r.matrix",
        "--tubes t.tubes",
        "--no-corrections",
    ] {
        let arguments: Vec<&str> = "reconstruct ball.sweep -o out.nii".split(' ').chain(option.split(' ')).collect();
        let said = refused(at, 2, &arguments);
        assert!(said.contains("; ball.sweep is an EPRI acquisition") && said.contains(arguments[4]), "{option}: {said}");
    }
}

#[test]
fn absurd_voxels_are_told_as_what_they_are() {
    let folder = folder_with_scan();
    let at = folder.path();
    done(at, &["simulate", "ball", "--epri", "66", "-o", "ball.sweep"]);
    for input in ["scan.hs", "ball.sweep"] {
        for (voxels, code) in [("1e-300,1,1", "grid"), ("1e-6,1,1", "grid")] {
            let said = failed(at, code, &["reconstruct", input, "-o", "out.nii", "--voxel-mm", voxels]);
            assert!(!said.contains("18446744073709551615"), "{input}, {voxels}: {said}");
        }
    }
    // Fewer subsets are no way out for a sweep, which has none.
    let large = ["reconstruct", "ball.sweep", "-o", "out.nii", "--image", "4096,4096,128", "--device", "cpu"];
    let said = failed(at, "setup.memory", &large);
    assert!(said.contains("choose fewer or larger voxels") && !said.contains("subsets"), "{said}");
}

#[test]
fn a_single_thing_is_not_told_in_the_plural() {
    let folder = folder_with_scan();
    let arguments = "reconstruct scan.hs -o out.hv --algorithm mlem --iterations 1 --device cpu --threads 1";
    let said = done(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    for words in ["MLEM, 1 iteration\n", "1 step in", "CPU, 1 thread"] {
        assert!(said.contains(words), "'{words}' is not in: {said}");
    }
}

#[cfg(target_os = "linux")] // `ulimit -f`
#[test]
fn an_image_for_which_there_is_no_room_is_a_sentence() {
    let folder = folder_with_scan();
    let program = env!("CARGO_BIN_EXE_tomoscope");
    for name in ["out.nii", "out.hv"] {
        // No file of more than 4 KiB (8 blocks of 512 bytes), which is told and does not end the program.
        let line = format!("trap '' XFSZ; ulimit -f 8; exec {program} reconstruct scan.hs -o {name} --iterations 1 --device cpu");
        let output = std::process::Command::new("sh").args(["-c", &line]).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains("out.") && said.contains("writing the file failed: File too large"), "{said}");
        assert!(!said.contains("Os {") && !said.contains("panicked"), "{said}");
    }
}
