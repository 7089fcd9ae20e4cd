//! What the system refuses, and files that never end or talk to the terminal.

use std::path::Path;
use std::process::{Command, Output};

use super::{done, refused};

/// Runs the program in a shell that first does `limit`.
#[cfg(target_os = "linux")]
fn under(folder: &Path, limit: &str, arguments: &str) -> Output {
    let script = format!("{limit} && exec {} {arguments}", env!("CARGO_BIN_EXE_tomoscope"));
    Command::new("sh").current_dir(folder).env("CUDA_VISIBLE_DEVICES", "").args(["-c", &script]).output().unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn threads_and_memory_that_are_refused_give_a_sentence_and_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "cylinder", "--scanner", "small", "--counts", "1e5", "-o", "scan.hs"]);
    done(folder, &["simulate", "ball", "--epri", "66", "-o", "ball.sweep"]);
    let inputs = std::fs::read_dir(folder).unwrap().count();
    let mut num_sentences = 0;
    // From where the program cannot even be loaded to where it has what it needs for a few threads, but not for all.
    for kib in (40_000..200_000).step_by(20_000) {
        for arguments in [
            "info scan.hs",
            "simulate ball --epri 66 -o out.sweep",
            "reconstruct scan.hs -o out.nii --device cpu --threads 64 --iterations 1",
            "reconstruct ball.sweep -o out.hv --device cpu --threads 64 --image 8,8,8",
            "backproject scan.hs --like scan.nii -o out.nii --device cpu --threads 64",
        ] {
            let output = under(folder, &format!("ulimit -v {kib}"), arguments);
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            // Where memory fails inside a thread that is just being made, the standard library aborts with words of its own.
            let is_aborted = output.status.code().is_none();
            assert!(
                is_aborted || !said.contains("panicked") && output.status.code() != Some(101),
                "{kib} KiB, {arguments}: {said}"
            );
            num_sentences += u32::from(output.status.code() == Some(1) && said.contains("could not be started"));
            for out in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
                let name = out.file_name().unwrap().to_str().unwrap().to_owned();
                if name.ends_with(".nii") || name.ends_with("out.sweep") || name.ends_with("out.hv") {
                    done(folder, &["info", &name]);
                }
                if name.starts_with("out") || name.starts_with("tomoscope-") {
                    std::fs::remove_file(out).unwrap();
                }
            }
        }
    }
    assert!(num_sentences > 0, "nothing was refused");
    assert_eq!(std::fs::read_dir(folder).unwrap().count(), inputs);
}

#[cfg(unix)]
#[test]
fn info_ends_on_files_that_never_end() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    for ending in ["hs", "hv", "nii", "nii.gz", "DSC", "npy", "sweep", "toml", "csv"] {
        let (pipe, endless) = (format!("pipe.{ending}"), format!("endless.{ending}"));
        assert!(Command::new("mkfifo").arg(folder.join(&pipe)).status().unwrap().success());
        std::os::unix::fs::symlink("/dev/zero", folder.join(&endless)).unwrap();
        for name in [pipe, endless] {
            let said = refused(folder, 1, &["info", &name]);
            assert!(said.contains(&name) || said.contains("NAME-proj.npy"), "{said}");
        }
    }
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let roi = "version = 1\n[[roi]]\nname = \"liver \\u001b]0;owned\\u0007 \\u009b2J \\r\\n end\"\nshape = \"sphere\"\ncentre_mm = [0, 0, 0]\nradius_mm = 10\n";
    std::fs::write(folder.join("a.toml"), roi).unwrap();
    let said = done(folder, &["info", "a.toml"]);
    assert!(said.contains("liver \u{fffd}]0;owned\u{fffd} \u{fffd}2J"), "{said:?}");
    assert!(said.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");
    // And of a file's name, on standard error.
    let said = refused(folder, 1, &["info", "none\u{1b}[31m.hs"]);
    assert!(said.contains("none\u{fffd}[31m.hs") && said.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");
}

#[test]
fn bins_without_expectation_have_their_cause_and_too_much_expectation_is_exit_code_3() {
    use super::tomoscope;
    use tomoscope::data::Michelogram;
    use tomoscope::io::{read_projections, write_projections};
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "cylinder", "--scanner", "small", "--counts", "1e6", "-o", "scan.hs"]);
    let (scan, _) = read_projections(&folder.join("scan.hs")).unwrap();
    let num = scan.counts.len();
    let write = |name: &str, values: Vec<f32>| {
        write_projections(&folder.join(name), &Michelogram::new(scan.geometry.clone(), values).unwrap()).unwrap();
    };
    // Views of a dead head: a twentieth of them.
    let num_dead = num / 20;
    write("dead.hs", (0..num).map(|bin| if bin < num_dead { 0.0 } else { 1.0 }).collect());
    let num_counted = scan.counts[..num_dead].iter().filter(|count| **count > 0.0).count();
    let run = |more: &str| {
        let arguments = format!("reconstruct scan.hs --algorithm mlem --iterations 2 --device cpu -o out.nii {more}");
        let output = tomoscope(folder, &arguments.split(' ').collect::<Vec<_>>());
        (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
    };
    let (_, said) = run("--multiplicative dead.hs");
    assert!(said.contains(&format!("left out {num_counted} bins with counts and a factor of 0")), "{said}");
    assert!(!said.contains("crosses no voxel") && !said.contains("subsets"), "{said}");
    // With a background something is expected there.
    write("background.hs", vec![0.1; num]);
    let (code, said) = run("--multiplicative dead.hs --additive background.hs");
    assert!(code == Some(0) && !said.contains("left out"), "{said}");
    let mean = scan.counts.iter().sum::<f32>() / num as f32;
    for (times, expected) in [(1.5, Some(0)), (4.0, Some(3))] {
        write("much.hs", vec![times * mean; num]);
        let (code, said) = run("--additive much.hs");
        assert!(code == expected && said.contains("explains "), "{times}: {code:?} {said}");
    }
}

#[test]
fn an_image_that_is_not_finite_is_written_and_the_exit_code_is_3() {
    use tomoscope::data::Michelogram;
    use tomoscope::io::{read_projections, read_volume, write_projections};
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "cylinder", "--scanner", "small", "--counts", "1e5", "-o", "scan.hs"]);
    let (scan, _) = read_projections(&folder.join("scan.hs")).unwrap();
    let tiny = Michelogram::new(scan.geometry.clone(), vec![1e-44; scan.counts.len()]).unwrap();
    write_projections(&folder.join("tiny.hs"), &tiny).unwrap();
    // Ratios beyond what f32 can hold are limited, and the image lacks what that costs.
    let arguments = "reconstruct scan.hs --multiplicative tiny.hs --algorithm mlem --iterations 1 --device cpu -o out.nii";
    let said = refused(folder, 3, &arguments.split(' ').collect::<Vec<_>>());
    assert!(said.contains("the ratio was limited") && said.contains("explains 0.0 %"), "{said}");
    assert!(read_volume(&folder.join("out.nii")).unwrap().0.not_finite().is_none());
    // One projection and one backprojection that are not finite.
    let huge = Michelogram::new(scan.geometry.clone(), vec![3e38; scan.counts.len()]).unwrap();
    write_projections(&folder.join("huge.hs"), &huge).unwrap();
    let run = |arguments: &str| refused(folder, 3, &arguments.split(' ').collect::<Vec<_>>());
    let said = run("backproject huge.hs --like out.nii --device cpu -o back.nii");
    assert!(said.contains("voxels do not hold a finite number"), "{said}");
    assert!(read_volume(&folder.join("back.nii")).unwrap().0.not_finite().is_some());
    // Numbers and copies of such an image.
    let roi = |centre: &str| {
        format!("version = 1\n[[roi]]\nname = \"r\"\nshape = \"sphere\"\ncentre_mm = [{centre}]\nradius_mm = 10\n")
    };
    std::fs::write(folder.join("middle.toml"), roi("0, 0, 0")).unwrap();
    std::fs::write(folder.join("outside.toml"), roi("0, 0, 900")).unwrap();
    assert!(run("measure back.nii --rois middle.toml").contains("not finite, as the image has voxels without a number: r"));
    run("measure back.nii --rois middle.toml --csv middle.csv");
    run("convert back.nii copy.npy");
    done(folder, &["measure", "out.nii", "--rois", "middle.toml"]);
    done(folder, &["measure", "back.nii", "--rois", "outside.toml"]);
    let said = run("project back.nii --like scan.hs --device cpu -o again.hs");
    assert!(said.contains("bins do not hold a finite number"), "{said}");
    assert!(read_projections(&folder.join("again.hs")).unwrap().0.counts.iter().any(|v| !v.is_finite()));
}
