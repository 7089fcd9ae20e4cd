//! Lists of events: frame by frame.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::ends::{ended, kill, start};
use super::{done, failed, refused};

/// Runs the program with a line of arguments.
fn run(folder: &Path, arguments: &str) -> String {
    done(folder, &arguments.split(' ').collect::<Vec<_>>())
}

/// Bytes of the header of NIfTI files, after which their values begin.
const HEADER: usize = 352;

fn values(folder: &Path, name: &str) -> Vec<u8> {
    fs::read(folder.join(name)).unwrap().split_off(HEADER)
}

/// The number before a word of what was said.
fn number_before(said: &str, word: &str) -> Vec<usize> {
    said.lines().filter_map(|line| line.split_once(word)?.0.split([' ', ':']).next_back()?.parse().ok()).collect()
}

/// The record of a frame whose limits are those that were asked for.
fn limits(start_secs: f64, duration_secs: f64) -> Value {
    let end_secs = start_secs + duration_secs;
    json!({
        "start_secs": start_secs, "duration_secs": duration_secs, "end_secs": end_secs, "requested_secs": [start_secs, end_secs],
    })
}

const SETTINGS: &str = "--image 24,24,15 --voxel-mm 4,4,4 --subsets 2 --iterations 2";

#[test]
fn frames_are_those_that_are_reconstructed_one_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let said = run(
        at,
        "simulate cylinder --scanner small --list-mode --duration-secs 9 --counts 3e4 --background 0.2 -o events.petsird",
    );
    let num_prompts = number_before(&said, " prompts and");
    let said = run(at, &format!("reconstruct events.petsird -o dynamic.nii --frames 3x3 {SETTINGS}"));
    let counts = number_before(&said, " events");
    assert_eq!((counts.len(), vec![counts.iter().sum::<usize>()]), (3, num_prompts), "{said}");
    let mut series = Vec::new();
    for (number, frame) in ["0-3", "3-6", "6-9"].into_iter().enumerate() {
        run(at, &format!("reconstruct events.petsird -o alone.nii --frame {frame} {SETTINGS}"));
        let name = format!("dynamic_f{:03}", number + 1);
        let image = values(at, &format!("{name}.nii"));
        assert!(image == values(at, "alone.nii"), "{frame}");
        series.extend(image);
        for record in [format!("{name}.nii.json"), "alone.nii.json".to_owned()] {
            let record: Value = serde_json::from_str(&fs::read_to_string(at.join(record)).unwrap()).unwrap();
            assert_eq!(record["data"]["frame"], limits(3.0 * number as f64, 3.0));
        }
    }
    // Three images, and the same as one of four dimensions that knows its times.
    assert!(series.chunks(series.len() / 3).all(|image| image != &series[..image.len()] || image.as_ptr() == series.as_ptr()));
    let whole = fs::read(at.join("dynamic.nii")).unwrap();
    assert!(whole[HEADER..] == series);
    let i16_at = |at: usize| i16::from_le_bytes([whole[at], whole[at + 1]]);
    let f32_at = |at: usize| f32::from_le_bytes(whole[at..at + 4].try_into().unwrap());
    assert_eq!([40, 42, 44, 46, 48].map(i16_at), [4, 24, 24, 15, 3], "dim");
    assert_eq!((f32_at(76 + 16), f32_at(136), whole[123]), (3.0, 0.0, 2 | 8), "pixdim[4], toffset, xyzt_units");
    let record: Value = serde_json::from_str(&fs::read_to_string(at.join("dynamic.nii.json")).unwrap()).unwrap();
    assert_eq!(record["data"]["frame"], limits(0.0, 9.0));
    // Each is read out of the whole.
    assert!(run(at, "info dynamic.nii").contains("3, the first from 0 to 3 s"));
    run(at, "convert dynamic.nii second.nii --frame 2");
    assert!(values(at, "second.nii") == values(at, "dynamic_f002.nii"));
    let record: Value = serde_json::from_str(&fs::read_to_string(at.join("second.nii.json")).unwrap()).unwrap();
    assert_eq!(record["data"]["frame"], json!({ "start_secs": 3.0, "duration_secs": 3.0 }));
    assert!(refused(at, 1, &["convert", "dynamic.nii", "no.nii"]).contains("--frame"));
    assert!(refused(at, 2, &["convert", "second.nii", "no.npy", "--frame", "0"]).contains("--frame"));
}

#[test]
fn a_frame_without_events_is_told_and_the_others_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --list-mode --duration-secs 4 --counts 1e4 -o events.petsird");
    let reconstruct = |frames: &str| -> Vec<String> {
        format!("reconstruct events.petsird -o out.nii.gz --frames {frames} {SETTINGS}").split(' ').map(str::to_owned).collect()
    };
    let frames = reconstruct("0-1,50-60,2-4");
    let said = refused(at, 3, &frames.iter().map(String::as_str).collect::<Vec<_>>());
    assert!(said.contains("frame 2 of 3, 50–60 s, has no event"), "{said}");
    assert!(["out_f001.nii.gz", "out_f003.nii.gz"].iter().all(|name| at.join(name).exists()));
    assert!(["out_f002.nii.gz", "out.nii.gz"].iter().all(|name| !at.join(name).exists()));
    let said = failed(at, "command.input", &reconstruct("50-60,60-70").iter().map(String::as_str).collect::<Vec<_>>());
    assert!(said.contains("whose events are from 0 to 4 s"), "{said}");
    let one = format!("reconstruct events.petsird -o out.nii.gz --frame 50-60 {SETTINGS}");
    let said = refused(at, 1, &one.split(' ').collect::<Vec<_>>());
    assert!(said.contains("its events are from 0 to 4 s"), "{said}");
    for frames in ["3-1", "0x10"] {
        let said = refused(at, 2, &reconstruct(frames).iter().map(String::as_str).collect::<Vec<_>>());
        assert!(said.contains(&format!("'{frames}'")), "{said}");
    }
    let both = "reconstruct events.petsird -o a.nii --frames 0-1 --frame 0-1";
    assert!(refused(at, 2, &both.split(' ').collect::<Vec<_>>()).contains("cannot be used with"));
    // A frame's image is not to take the place of a file that is read.
    run(at, "convert out_f001.nii.gz start_f001.nii");
    let replacing = "reconstruct events.petsird -o start.nii --init start_f001.nii --frames 0-1,1-2";
    let said = failed(at, "command.output", &replacing.split(' ').collect::<Vec<_>>());
    assert!(said.contains("start_f001.nii"), "{said}");
    run(at, "simulate cylinder --scanner small --counts 1e4 -o scan.hs");
    let counts = "reconstruct scan.hs -o a.nii --frames 0-1";
    assert!(refused(at, 2, &counts.split(' ').collect::<Vec<_>>()).contains("--frames is for list-mode data"));
}

#[cfg(unix)]
#[test]
fn a_list_is_followed_to_its_end_or_to_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let simulate = "simulate cylinder --scanner small --list-mode --counts 20000 -o whole.petsird";
    done(folder, &simulate.split(' ').collect::<Vec<_>>());
    let bytes = std::fs::read(folder.join("whole.petsird")).unwrap();
    let settings = "--algorithm mlem --iterations 2 --device cpu --quiet";
    let whole = format!("reconstruct whole.petsird -o whole.npy {settings}");
    done(folder, &whole.split(' ').collect::<Vec<_>>());
    let list = folder.join("a.petsird");
    std::fs::write(&list, &bytes[..bytes.len() - 45_000]).unwrap();
    let follow = format!("reconstruct a.petsird -o out.npy --follow {settings}");
    let program = start(folder, &follow);
    std::thread::sleep(std::time::Duration::from_millis(500));
    let mut file = std::fs::OpenOptions::new().append(true).open(&list).unwrap();
    std::io::Write::write_all(&mut file, &bytes[bytes.len() - 45_000..]).unwrap();
    let (code, said, err) = ended(program);
    assert_eq!(code, Some(0), "{said}{err}");
    let image = |name: &str| std::fs::read(folder.join(name)).unwrap();
    assert!(image("out.npy") == image("whole.npy"));
    // Without its end: what there is at Ctrl-C is the whole.
    std::fs::write(&list, &bytes[..bytes.len() - 45_000]).unwrap();
    let mut program = start(folder, &follow.replace("out", "half"));
    std::thread::sleep(std::time::Duration::from_millis(1500));
    assert!(program.try_wait().unwrap().is_none(), "it waits for more");
    kill(program.id(), "INT");
    let (code, said, err) = ended(program);
    assert_eq!(code, Some(0), "{said}{err}");
    assert!(image("half.npy") != image("whole.npy"));
    std::fs::write(folder.join("scan.hs"), "").unwrap();
    let refusal = refused(folder, 2, &["reconstruct", "scan.hs", "-o", "a.npy", "--follow"]);
    assert!(refusal.contains("--follow is for list-mode data and EPRI acquisitions"), "{refusal}");
}

#[test]
fn the_data_of_another_list_are_not_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let simulate = "simulate cylinder --scanner small --list-mode --counts 1e3 -o a.Cdh";
    run(at, simulate);
    // Another header with the same data.
    fs::rename(at.join("a.Cdh"), at.join("other.Cdh")).unwrap();
    let said = refused(at, 1, &simulate.split(' ').collect::<Vec<_>>());
    assert!(said.contains("other.Cdh"), "{said}");
}
