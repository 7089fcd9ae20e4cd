//! Many inputs in one process, parts of a work, and what is there already.

use std::fs;
use std::path::Path;
use std::process::Output;
use std::time::SystemTime;

#[cfg(unix)]
use super::ends::{ended, start, wait_for_rows};
use super::{cache, done, refused, tomoscope};

const SETTINGS: &str = "--iterations 2 --subsets 2 --image 24,24,15 --voxel-mm 4,4,4";

fn run(folder: &Path, arguments: &str) -> Output {
    tomoscope(folder, &arguments.split(' ').collect::<Vec<_>>())
}

fn well(folder: &Path, arguments: &str) -> String {
    done(folder, &arguments.split(' ').collect::<Vec<_>>())
}

fn no(folder: &Path, code: i32, arguments: &str) -> String {
    refused(folder, code, &arguments.split(' ').collect::<Vec<_>>())
}

/// `a.hs`, `b.petsird` and `c.sweep`, and a folder `out`.
fn three_inputs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    well(at, "simulate cylinder --scanner small --counts 1e5 -o a.hs");
    well(at, "simulate cylinder --scanner small --list-mode --counts 2e4 --duration-secs 8 -o b.petsird");
    well(at, "simulate ball --epri 66 -o c.sweep");
    fs::create_dir(at.join("out")).unwrap();
    folder
}

fn bytes(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).unwrap()
}

fn written_at(folder: &Path, name: &str) -> SystemTime {
    fs::metadata(folder.join(name)).unwrap().modified().unwrap()
}

/// The rows of the summary: input, output, outcome.
fn outcomes(said: &str) -> Vec<[String; 3]> {
    let rows = said.lines().skip_while(|line| !line.trim_start().starts_with("---")).skip(1);
    let cells = |line: &str| -> Option<[String; 3]> {
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).take(3).collect();
        cells.try_into().ok().map(|cells: [&str; 3]| cells.map(str::to_owned))
    };
    rows.map_while(cells).collect()
}

#[test]
fn each_of_many_is_as_if_it_were_alone() {
    let folder = three_inputs();
    let at = folder.path();
    let alike = "--image 24,24,15 --voxel-mm 4,4,4";
    for name in ["a.hs", "b.petsird", "c.sweep"] {
        well(at, &format!("reconstruct {name} {alike} -o alone_{}.npy", &name[..1]));
    }
    for jobs in [1, 2, 5] {
        let said =
            well(at, &format!("reconstruct a.hs b.petsird c.sweep {alike} -o out/{{}}.npy --csv out/{{}}.csv --jobs {jobs}"));
        let expected =
            ["a.hs", "b.petsird", "c.sweep"].map(|name| [name.into(), format!("out/{}.npy", &name[..1]), "done".into()]);
        assert_eq!(outcomes(&said), expected, "{said}");
        for name in ["a", "b", "c"] {
            assert!(bytes(at, &format!("out/{name}.npy")) == bytes(at, &format!("alone_{name}.npy")), "{name}, {jobs} jobs");
            assert!(at.join(format!("out/{name}.csv")).exists());
        }
        // Lines of those who speak at once tell who speaks.
        let of_a = said.lines().any(|line| line.starts_with("a.hs: device"));
        assert_eq!(of_a, jobs > 1, "{said}");
    }
}

#[test]
fn one_that_fails_leaves_the_others_alone() {
    let folder = three_inputs();
    let at = folder.path();
    fs::write(at.join("broken.hs"), "!INTERFILE :=\n").unwrap();
    for jobs in [1, 3] {
        // The list and the sweep have no subsets of views, or no such option at all.
        let output = run(at, &format!("reconstruct broken.hs missing.hs a.hs c.sweep {SETTINGS} -o out/{{}}.nii --jobs {jobs}"));
        let (said, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert_eq!(output.status.code(), Some(3), "{said}{err}");
        let found: Vec<String> = outcomes(&said).into_iter().map(|[_, _, outcome]| outcome).collect();
        assert_eq!(found, ["failed", "failed", "done", "failed"], "{said}");
        assert!(err.contains("missing.hs: opening the file failed") && err.contains("; c.sweep is an EPRI acquisition"), "{err}");
        assert!(at.join("out/a.nii").exists() && !at.join("out/c.nii").exists());
    }
}

/// The documents of `--json`, a line each.
fn json_lines(output: &Output) -> Vec<serde_json::Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn each_of_several_inputs_has_a_line_of_json() {
    let folder = three_inputs();
    let at = folder.path();
    let arguments = format!("reconstruct a.hs missing.hs b.petsird {SETTINGS} -o out/{{}}.nii --json --quiet --skip-done");
    for round in ["made", "skipped"] {
        let output = run(at, &arguments);
        assert_eq!(output.status.code(), Some(3));
        let lines = json_lines(&output);
        let text = |line: &serde_json::Value, key: &str| line[key].as_str().unwrap().to_owned();
        let inputs: Vec<String> = lines.iter().map(|line| text(line, "input")).collect();
        assert_eq!(inputs, ["a.hs", "missing.hs", "b.petsird"], "{round}");
        assert_eq!([&lines[0], &lines[2]].map(|line| text(&line["data"], "file")), ["a.hs", "b.petsird"]);
        assert_eq!([0, 2].map(|k| text(&lines[k], "output")), ["out/a.nii", "out/b.nii"]);
        assert_eq!(lines[1]["error"]["code"], "io.not-found", "{}", lines[1]);
    }
    // Frames are several images of one input; a single image has one document.
    let output = run(at, &format!("reconstruct b.petsird {SETTINGS} -o out/f.nii --frames 2x4 --json --quiet"));
    let outputs: Vec<String> = json_lines(&output).iter().map(|line| line["output"].as_str().unwrap().to_owned()).collect();
    assert_eq!(outputs, ["out/f_f001.nii", "out/f_f002.nii"]);
    let output = run(at, &format!("reconstruct a.hs {SETTINGS} -o out/one.nii --json --quiet"));
    let record: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(record["data"]["file"] == "a.hs" && record.get("input").is_none());
}

#[test]
fn what_several_inputs_cannot_have_is_refused_before_the_work() {
    let folder = three_inputs();
    let at = folder.path();
    fs::create_dir(at.join("more")).unwrap();
    fs::copy(at.join("b.petsird"), at.join("more/a.petsird")).unwrap();
    for (arguments, words) in [
        ("reconstruct a.hs b.petsird -o out.nii", "'-o out_{}.nii'"),
        ("reconstruct a.hs b.petsird -o {}.nii --csv t.csv", "--csv names one file for 2 inputs"),
        ("reconstruct a.hs b.petsird -o {}.nii --trace t.jsonl", "'--trace t_{}.jsonl'"),
        ("reconstruct a.hs more/a.petsird -o {}.nii", "would both write a.nii"),
        ("reconstruct a.hs a.hs -o {}.nii", "would both write a.nii"),
        ("reconstruct a.hs b.petsird -o {}.npy --follow", "--follow is for one input"),
        ("reconstruct a.hs b.petsird -o no/{}.nii", "there is no folder no"),
    ] {
        let said = no(at, if arguments.contains("no/") { 1 } else { 2 }, arguments);
        assert!(said.contains(words), "{arguments}: {said}");
    }
    for name in ["out.nii", "a.nii", "b.nii", "t.csv"] {
        assert!(!at.join(name).exists(), "{name}");
    }
    assert!(no(at, 2, "reconstruct a.hs b.petsird -o {}.nii --part 3/2").contains("is not a part"));
    assert!(no(at, 2, "reconstruct -o a.nii").contains("INPUT"));
    // Of one input too it stands for the name.
    well(at, &format!("reconstruct a.hs {SETTINGS} -o out/{{}}.nii"));
    assert!(at.join("out/a.nii").exists());
}

#[cfg(unix)]
#[test]
fn a_signal_keeps_what_is_done_and_says_what_is_not() {
    let folder = three_inputs();
    let at = folder.path();
    fs::copy(at.join("a.hs"), at.join("d.hs")).unwrap();
    for jobs in [1, 2] {
        let program = start(
            at,
            &format!(
                "reconstruct a.hs d.hs b.petsird --iterations 4000000 -o out/{{}}.nii --csv out/{{}}.csv --device cpu --jobs {jobs}"
            ),
        );
        wait_for_rows(&at.join("out/a.csv"), 21);
        if jobs > 1 {
            wait_for_rows(&at.join("out/d.csv"), 21);
        }
        let line = format!("kill -TERM {}", program.id());
        assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
        let (code, out, err) = ended(program);
        assert_eq!(code, Some(3), "{out}{err}");
        let found: Vec<String> = outcomes(&out).into_iter().map(|[_, _, outcome]| outcome).collect();
        let of_d = if jobs > 1 { "stopped" } else { "not begun" };
        assert_eq!(found, ["stopped", of_d, "not begun"], "{out}{err}");
        assert_eq!([at.join("out/a.nii").exists(), at.join("out/d.nii").exists()], [true, jobs > 1]);
        fs::remove_dir_all(at.join("out")).unwrap();
        fs::create_dir(at.join("out")).unwrap();
    }
}

#[test]
fn what_is_there_is_not_made_again_unless_something_has_changed() {
    let folder = three_inputs();
    let at = folder.path();
    let all = |more: &str| format!("reconstruct a.hs b.petsird {SETTINGS} -o out/{{}}.nii --skip-done{more}");
    let found = |more: &str| -> Vec<String> {
        let said = well(at, &all(more));
        outcomes(&said).into_iter().map(|[_, _, outcome]| outcome).collect()
    };
    assert_eq!(found(""), ["done", "done"]);
    let (image, before) = (bytes(at, "out/a.nii"), written_at(at, "out/a.nii"));
    assert_eq!(found(""), ["skipped", "skipped"]);
    assert_eq!(found(" --threads 1 --quiet --jobs 2"), Vec::<String>::new());
    assert_eq!(written_at(at, "out/a.nii"), before);
    // Another setting; other data; an image that is not as it was written; one that is gone; without the option.
    assert_eq!(found(" --post-filter-mm 5"), ["done", "done"]);
    assert_eq!(found(""), ["done", "done"]);
    assert!(bytes(at, "out/a.nii") == image);
    well(at, "simulate cylinder --scanner small --counts 2e5 -o a.hs");
    assert_eq!(found(""), ["done", "skipped"]);
    let mut changed = bytes(at, "out/b.nii");
    *changed.last_mut().unwrap() ^= 1;
    fs::write(at.join("out/b.nii"), changed).unwrap();
    assert_eq!(found(""), ["skipped", "done"]);
    fs::remove_file(at.join("out/a.nii")).unwrap();
    assert_eq!(found(""), ["done", "skipped"]);
    let said = well(at, &all("").replace(" --skip-done", ""));
    assert!(said.contains("2 of 2 inputs done") && !said.contains("skipped"), "{said}");
    // An image that was stopped on its way, or that is of another's making, is not it.
    assert_eq!(found(""), ["done", "done"]);
    // Images of iterations belong to it.
    let every = " --save-every 1";
    assert_eq!([found(every), found(every)], [["done", "done"], ["skipped", "skipped"]]);
    fs::remove_file(at.join("out/b_it001.nii")).unwrap();
    assert_eq!(found(every), ["skipped", "done"]);
    assert!(at.join("out/b_it001.nii").exists());
}

#[test]
fn parts_make_every_image_once() {
    let folder = three_inputs();
    let at = folder.path();
    for name in ["d", "e"] {
        for ending in ["hs", "s"] {
            fs::copy(at.join(format!("a.{ending}")), at.join(format!("{name}.{ending}"))).unwrap();
        }
    }
    let part = |k: usize| format!("reconstruct a.hs b.petsird d.hs e.hs {SETTINGS} -o out/{{}}.nii --part {k}/3");
    let found: Vec<Vec<String>> =
        (1..=3).map(|k| outcomes(&well(at, &part(k))).into_iter().map(|[input, ..]| input).collect()).collect();
    assert_eq!(found, [vec!["a.hs", "e.hs"], vec!["b.petsird"], vec!["d.hs"]]);
    // As a task of Slurm's array, from its environment; a single input is never divided.
    let task = |arguments: &str| {
        let mut program = std::process::Command::new(env!("CARGO_BIN_EXE_tomoscope"));
        program.current_dir(at).env("CUDA_VISIBLE_DEVICES", "").env("XDG_CACHE_HOME", cache(at)).args(arguments.split(' '));
        for (name, value) in [("ID", "5"), ("MIN", "3"), ("MAX", "7"), ("COUNT", "3"), ("STEP", "2")] {
            program.env(format!("SLURM_ARRAY_TASK_{name}"), value);
        }
        let output = program.output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap())
    };
    let (said, err) = task(&format!("reconstruct a.hs b.petsird d.hs {SETTINGS} -o out/{{}}.nii"));
    assert_eq!(outcomes(&said).len(), 1, "{said}");
    assert!(said.contains("b.petsird") && err.contains("part 2 of 3 of 3 inputs, as this is a task of Slurm's array"), "{err}");
    let (said, _) = task(&format!("reconstruct a.hs b.petsird d.hs {SETTINGS} -o out/{{}}.nii --part 1/1"));
    assert_eq!(outcomes(&said).len(), 3, "{said}");
    fs::remove_file(at.join("out/a.nii")).unwrap();
    let (_, err) = task(&format!("reconstruct a.hs {SETTINGS} -o out/{{}}.nii"));
    assert!(at.join("out/a.nii").exists() && !err.contains("Slurm"), "{err}");
}

#[test]
fn parts_of_frames_give_the_series_of_one_process() {
    let folder = three_inputs();
    let at = folder.path();
    let frames = |out: &str, more: &str| format!("reconstruct b.petsird {SETTINGS} --frames 4x2 -o {out}.nii{more}");
    well(at, &frames("whole", ""));
    for part in ["2/3", "1/3"] {
        well(at, &frames("out/parts", &format!(" --part {part} --skip-done")));
        assert!(!at.join("out/parts.nii").exists(), "{part}");
    }
    let before = written_at(at, "out/parts_f001.nii");
    let said = well(at, &frames("out/parts", " --part 3/3 --skip-done"));
    assert!(said.contains("all 4 frames"), "{said}");
    for name in ["", "_f001", "_f002", "_f003", "_f004"] {
        assert!(bytes(at, &format!("out/parts{name}.nii")) == bytes(at, &format!("whole{name}.nii")), "{name}");
    }
    // Started again, whatever part, nothing is made; one that was lost is, and the series with it.
    assert!(well(at, &frames("out/parts", " --skip-done")).contains("all frames up to date"));
    fs::remove_file(at.join("out/parts_f003.nii")).unwrap();
    fs::remove_file(at.join("out/parts.nii")).unwrap();
    assert!(well(at, &frames("out/parts", " --skip-done")).contains("frame 3 of 4"));
    assert!(bytes(at, "out/parts.nii") == bytes(at, "whole.nii"));
    assert_eq!(written_at(at, "out/parts_f001.nii"), before);
}

#[test]
fn two_processes_that_make_the_same_image_leave_a_whole_one() {
    let folder = three_inputs();
    let at = folder.path();
    let arguments = format!("reconstruct a.hs b.petsird {SETTINGS} -o out/{{}}.nii --skip-done");
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                // One that finds another process at an image leaves it alone.
                let output = tomoscope(at, &arguments.split(' ').collect::<Vec<_>>());
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                let is_refused = output.status.code() == Some(3) && text.contains("is being written by another process");
                assert!(output.status.code() == Some(0) || is_refused, "{text}");
            });
        }
    });
    let names: Vec<String> =
        fs::read_dir(at.join("out")).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.iter().all(|name| !name.contains("unfinished")), "{names:?}");
    let said = well(at, &arguments);
    assert!(outcomes(&said).iter().all(|[_, _, outcome]| outcome == "skipped"), "{said}");
}
