//! Lists of events in time: blocks, frames, durations; and the randoms of simulated lists.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::{done, failed, refused, tomoscope};

fn words(arguments: &str) -> Vec<&str> {
    arguments.split(' ').collect()
}

/// Runs the program with a line of arguments; what it printed on both channels.
fn said(folder: &Path, arguments: &str) -> String {
    let output = tomoscope(folder, &words(arguments));
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert_eq!(output.status.code(), Some(0), "{arguments}\n{text}");
    text
}

/// A file of the synthetic scan of a ring.
fn ring(name: &str) -> Option<String> {
    Some(super::data::data_file(&format!("listmode/{name}"))?.to_str()?.to_owned())
}

fn record(folder: &Path, image: &str) -> Value {
    let beside = [format!("{image}.json"), image.replace(".npy", ".json").replace(".nii", ".json")];
    let text = beside.iter().find_map(|name| fs::read_to_string(folder.join(name)).ok()).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// The values of an image of 32-bit numbers.
fn values(folder: &Path, name: &str) -> Vec<f64> {
    let bytes = fs::read(folder.join(name)).unwrap();
    let header = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    bytes[header..].as_chunks::<4>().0.iter().map(|four| f64::from(f32::from_le_bytes(*four))).collect()
}

fn sum(folder: &Path, name: &str) -> f64 {
    values(folder, name).iter().sum()
}

const COARSE: &str = "--image 20,20,12 --voxel-mm 8,8,8 --algorithm mlem --iterations 5 --no-tof";

#[test]
fn frames_of_time_blocks_have_their_true_limits() {
    let Some(list) = ring("ring.petsird") else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let text = said(at, &format!("reconstruct {list} -o a.npy --frames 5x1 {COARSE}"));
    assert!(text.contains("2–3 s becomes 2–2.5 s, 3–4 s becomes 2.5–4 s"), "{text}");
    assert!(
        text.contains("frame 3 of 5, 2–2.5 s: 3947 events") && text.contains("frame 4 of 5, 2.5–4 s: 11999 events"),
        "{text}"
    );
    let limits = [[0.0, 1.0], [1.0, 2.0], [2.0, 2.5], [2.5, 4.0], [4.0, 5.0]];
    let mut activities = Vec::new();
    for (k, [start, end]) in limits.into_iter().enumerate() {
        let image = format!("a_f{:03}.npy", k + 1);
        let frame = json!({
            "start_secs": start, "duration_secs": end - start, "end_secs": end, "requested_secs": [k as f64, k as f64 + 1.0],
        });
        assert_eq!(record(at, &image)["data"]["frame"], frame, "{image}");
        activities.push(sum(at, &image) / (end - start));
    }
    let mean = activities.iter().sum::<f64>() / 5.0;
    assert!(activities.iter().all(|activity| (activity / mean - 1.0).abs() < 0.03), "{activities:?}");
    // One frame alone; a limit inside a block moves to the nearest edge, and a frame that is left empty is named.
    let text = said(at, &format!("reconstruct {list} -o b.npy --frame 0.4-3 {COARSE}"));
    assert!(text.contains("0.4–3 s becomes 0–2.5 s"), "{text}");
    assert_eq!(record(at, "b.npy")["data"]["frame"]["duration_secs"], 2.5);
    let text = refused(at, 1, &words(&format!("reconstruct {list} -o c.npy --frame 2.6-2.9 {COARSE}")));
    assert!(text.contains("2.6–2.9 s, which holds no time block"), "{text}");
    let text = refused(at, 3, &words(&format!("reconstruct {list} -o d.npy --frames 0-1,2.6-2.9,4-5 {COARSE}")));
    assert!(text.contains("2.6–2.9 s becomes empty") && text.contains("frame 2 of 3, 2.6–2.9 s, has no event"), "{text}");
    // The bins of a histogram are of the same events.
    let text = said(at, &format!("histogram {list} -o h.hs --frames 2-3,3-4"));
    assert!(text.contains("2–3 s becomes 2–2.5 s") && text.contains("Frame 2.5–4 s: 1.5 s were measured"), "{text}");
    let total = |name: &str| -> f64 {
        let bytes = fs::read(at.join(name)).unwrap();
        bytes.as_chunks::<4>().0.iter().map(|four| f64::from(f32::from_le_bytes(*four))).sum()
    };
    let text = said(at, &format!("histogram {list} -o whole.hs --frames 0-5"));
    let whole = total("whole_f001.s");
    assert!(whole > 30_000.0, "{whole} {text}");
    let parts = total("h_f001.s") + total("h_f002.s");
    assert!((parts / whole / ((3947.0 + 11_999.0) / 40_000.0) - 1.0).abs() < 0.03, "{parts} of {whole}");
}

#[test]
fn split_blocks_give_frames_their_share_of_events() {
    let Some(list) = ring("ring.petsird") else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let frames = |seed: &str, output: &str| {
        let text = said(at, &format!("reconstruct {list} -o {output}.npy --frames 5x1 --split-blocks{seed} {COARSE}"));
        let counts = text.lines().filter_map(|line| line.strip_suffix(" events")?.rsplit(' ').next()?.parse().ok());
        (counts.collect::<Vec<usize>>(), text)
    };
    let (counts, text) = frames("", "a");
    assert!(!text.contains('→') && text.contains("frame 3 of 5, 2–3 s"), "{text}");
    assert_eq!(counts.iter().sum::<usize>(), 40_000, "{text}");
    assert!(counts[2] > 7700 && counts[2] < 8200 && counts[..2] == [8017, 8036] && counts[4] == 8001, "{counts:?}");
    assert_eq!(frames("=1", "b").0, counts);
    assert_ne!(frames("=2", "c").0, counts);
    let expected = json!({
        "start_secs": 2.0, "duration_secs": 1.0, "end_secs": 3.0, "requested_secs": [2.0, 3.0], "split_seed": 1,
    });
    assert_eq!(record(at, "a_f003.npy")["data"]["frame"], expected);
    // One frame that is read alone has the same events.
    said(at, &format!("reconstruct {list} -o alone.npy --frame 2-3 --split-blocks {COARSE}"));
    assert!(fs::read(at.join("alone.npy")).unwrap() == fs::read(at.join("a_f003.npy")).unwrap());
    let text = said(at, &format!("histogram {list} -o h.hs --frames 2-3 --split-blocks"));
    assert!(text.contains("Frame 2–3 s: 1 s were measured"), "{text}");
    // What it has no effect on.
    assert!(refused(at, 2, &words(&format!("reconstruct {list} -o d.npy --split-blocks"))).contains("--split-blocks needs"));
    let castor = ring("ring_list.Cdh").unwrap();
    let text = said(at, &format!("reconstruct {castor} -o e.npy --frame 2-3 --split-blocks {COARSE}"));
    assert!(text.contains("--split-blocks has no effect"), "{text}");
}

#[test]
fn info_describes_the_time_of_a_scan() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words("simulate cylinder --scanner small --list-mode --counts 3e3 --duration-secs 60 -o a.petsird"));
    let text = done(at, &words("info a.petsird"));
    assert!(text.contains("600 from 0 to 60 s") && text.contains(" over 60 s"), "{text}");
    let about: Value = serde_json::from_str(&done(at, &words("info --json a.petsird"))).unwrap();
    assert_eq!((&about["measured_ms"], &about["times_ms"]), (&json!(60_000), &json!([0, 60_000])), "{about}");
    done(at, &words("simulate cylinder --scanner small --list-mode --counts 3e3 --duration-secs 60 -o a.Cdh"));
    assert!(done(at, &words("info a.Cdh")).contains(" over 60 s"));
    // A header with another duration than the events.
    let header = fs::read_to_string(at.join("a.Cdh")).unwrap();
    fs::write(at.join("a.Cdh"), header.replace("Duration (s): 60", "Duration (s): 30")).unwrap();
    let text = said(at, "info a.Cdh");
    assert!(text.contains("after the start of the scan, whose header has 30 s"), "{text}");
    assert!(header.contains("Maximum axial difference mm: 27.5"), "{header}");
    fs::write(at.join("a.Cdh"), header.replace("difference mm: 27.5", "difference mm: 2.75")).unwrap();
    assert!(said(at, "info a.Cdh").contains("farther apart along the axis than"));
    fs::write(at.join("a.Cdh"), format!("{header}\nCalibration factors: 7\n")).unwrap();
    assert!(refused(at, 1, &words("info a.Cdh")).contains("one line with this key"));
    // An empty list.
    fs::write(at.join("empty.lmDat"), "").unwrap();
    assert!(failed(at, "io.unsupported.yrt-pet", &words("info empty.lmDat")).contains("does not name its scanner"));
    let lut =
        fs::read_dir(at).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.extension().is_some_and(|it| it == "lut"));
    fs::rename(lut.unwrap(), at.join("small.lut")).unwrap();
    let text = said(at, "info empty.lmDat --crystals small.lut");
    assert!(text.contains("the list has no event"), "{text}");
    let Some(list) = ring("ring.petsird") else { return };
    let text = done(at, &words(&format!("info {list}")));
    assert!(text.contains("5 from 0 to 5 s") && text.contains("8000.0 over 5 s"), "{text}");
}

#[test]
fn a_simulated_list_keeps_its_randoms_in_both_formats() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for tof in ["", " --tof-ps 400"] {
        let simulate = format!("simulate cylinder --scanner small --list-mode --counts 3e5 --background 0.3 --seed 9{tof}");
        let text = said(at, &format!("{simulate} -o cy.petsird"));
        assert!(text.contains(" delayed"), "{text}");
        let text = said(at, &format!("{simulate} -o cy.Cdh"));
        assert!(text.contains("each with its random rate") && !text.contains("delayed"), "{text}");
        let header = fs::read_to_string(at.join("cy.Cdh")).unwrap();
        assert!(header.contains("Random correction flag: 1") && header.contains("Maximum axial difference mm: 27.5"), "{header}");
        // Those of all pairs together over the scan, 49 tangential positions × 48 views × 58 pairs of rings, are those that were simulated.
        let data = fs::read(at.join("cy.Cdf")).unwrap();
        let rates =
            data.chunks(if tof.is_empty() { 16 } else { 20 }).map(|event| f32::from_le_bytes(event[4..8].try_into().unwrap()));
        for rate in rates {
            let randoms = f64::from(rate) * 60.0 * (49 * 48 * 58) as f64;
            assert!((randoms / (3e5 * 0.3 / 0.7) - 1.0).abs() < 1e-5, "{randoms}");
        }
        let settings = "--algorithm mlem --iterations 8 --image 24,24,15 --voxel-mm 4,4,4 --device cpu";
        let images = ["petsird", "Cdh"].map(|ending| {
            said(at, &format!("reconstruct cy.{ending} -o {ending}.npy {settings}"));
            values(at, &format!("{ending}.npy"))
        });
        let [petsird, castor] = images.each_ref().map(|image| image.iter().sum::<f64>());
        println!("activity of {simulate}: {petsird} (PETSIRD), {castor} (CASToR)");
        assert!((castor / petsird - 1.0).abs() < 0.01, "{petsird} {castor}");
        // The middle of the cylinder, where the randoms would show most.
        let middle = |image: &[f64]| -> f64 {
            let inside =
                |i: usize| [(i % 24, 12), (i / 24 % 24, 12), (i / 576, 7)].iter().all(|&(at, mid)| at.abs_diff(mid) <= 4);
            (0..image.len()).filter(|&i| inside(i)).map(|i| image[i]).sum()
        };
        let [a, b] = images.each_ref().map(|image| middle(image));
        println!("  its middle: {a} and {b}");
        assert!((b / a - 1.0).abs() < 0.03, "{a} {b}");
    }
}
