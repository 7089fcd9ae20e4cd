//! Two processes that write the same output: header, data and record are of one of them, and the other is refused.

use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use tomoscope::io::{OutputLock, read_projections, read_volume};

use super::{cache, done, failed};

fn words(arguments: &str) -> Vec<&str> {
    arguments.split_whitespace().collect()
}

fn begin(at: &Path, arguments: &str) -> Child {
    let mut program = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    program.current_dir(at).env("CUDA_VISIBLE_DEVICES", "").env("XDG_CACHE_HOME", cache(at)).args(words(arguments));
    program.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap()
}

/// Runs two commands at once; returns which succeeded. The others must be refused for the lock.
fn at_once(at: &Path, commands: [&str; 2]) -> [bool; 2] {
    let children = commands.map(|command| begin(at, command));
    children.map(|child| {
        let output = child.wait_with_output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => true,
            Some(1) => {
                assert!(text.contains("is being written by another process"), "{text}");
                false
            }
            code => panic!("{code:?}: {text}"),
        }
    })
}

fn sum(at: &Path, image: &str) -> f64 {
    read_volume(&at.join(image)).unwrap().0.sum()
}

#[test]
fn an_image_its_header_and_its_record_are_of_one_process() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate cylinder --scanner small --counts 1e5 --background 0.5 -o c.hs"));
    let reconstruct = |iterations: usize, output: &str| {
        format!("reconstruct c.hs -o {output} --algorithm mlem --image 31,31,15 --iterations {iterations} --threads 1")
    };
    let sums = [1, 2].map(|iterations| {
        done(at, &words(&reconstruct(iterations, "alone.hv")));
        sum(at, "alone.hv")
    });
    assert!((sums[0] / sums[1] - 1.0).abs() > 1e-4, "{sums:?}");
    for _ in 0..8 {
        let succeeded = at_once(at, [&reconstruct(1, "o.hv"), &reconstruct(2, "o.hv")]);
        assert!(succeeded.contains(&true), "{succeeded:?}");
        let found = sum(at, "o.hv");
        let record: Value = serde_json::from_str(&std::fs::read_to_string(at.join("o.hv.json")).unwrap()).unwrap();
        let text = record["progress"].to_string() + &record["algorithm"].to_string();
        let of = sums.iter().position(|sum| (found / sum - 1.0).abs() < 1e-9).expect("an image of neither");
        assert!(succeeded[of], "the image is that of the refused process");
        assert_eq!(text.contains("\"iterations\":1") || text.contains("\"iteration\":1"), of == 0, "{text}");
    }
    let names = std::fs::read_dir(at).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    assert!(names.into_iter().all(|name| !name.contains("unfinished")));
}

#[test]
fn scans_that_are_written_at_once_keep_their_pairs() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for _ in 0..8 {
        let simulate = "simulate cylinder --scanner small --counts 1e5";
        let commands =
            [format!("{simulate} --seed 1 --attenuation -o c.hs"), format!("{simulate} --seed 2 --attenuation -o c.hs")];
        let output: Vec<_> = commands.iter().map(|command| begin(at, command)).collect();
        for child in output {
            let output = child.wait_with_output().unwrap();
            assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        }
        read_projections(&at.join("c.hs")).unwrap();
        // (The factors name the scan that they were written with.)
        done(at, &words("reconstruct c.hs -o c.npy --iterations 1 --subsets 1"));
    }
}

#[test]
fn an_output_that_another_process_has_is_refused_at_once_and_then_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate cylinder --scanner small --counts 1e5 -o c.hs"));
    let reconstruct = "reconstruct c.hs -o o.nii.gz --iterations 1 --subsets 1";
    let lock = OutputLock::acquire(&at.join("o.nii.gz")).unwrap();
    let text = failed(at, "io.output-in-use", &words(reconstruct));
    assert!(text.contains("o.nii.gz") && text.contains(&format!("process {}", std::process::id())), "{text}");
    assert!(!at.join("o.nii.gz").exists());
    drop(lock);
    done(at, &words(reconstruct));
}
