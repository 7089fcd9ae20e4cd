//! Corrections and calibrations of a scan: those of another scan, of another geometry and of attenuation twice are refused.

use std::fs;
use std::path::Path;

use tomoscope::io::{read_projections, read_volume, write_projections};

use super::{done, failed, refused, tomoscope};

const SIMULATE: &str = "simulate cylinder --scanner small --counts 1e5 --noise none";
const RUN: &str = "--iterations 2 --subsets 4 --image 31,31,15";

fn words(arguments: &str) -> Vec<&str> {
    arguments.split_whitespace().collect()
}

fn run(at: &Path, arguments: &str) -> String {
    done(at, &words(arguments))
}

fn sum(at: &Path, image: &str) -> f64 {
    read_volume(&at.join(image)).unwrap().0.sum()
}

/// Writes a header without the keys of the program's own, as other programs and earlier versions do.
fn strip(at: &Path, header: &str, key: &str) {
    let text = fs::read_to_string(at.join(header)).unwrap();
    let text: String = text.lines().filter(|line| !line.contains(key)).map(|line| format!("{line}\n")).collect();
    fs::write(at.join(header), text).unwrap();
}

#[test]
fn a_new_scan_removes_the_corrections_of_the_one_that_it_replaces() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, &format!("{SIMULATE} --attenuation --background 0.3 -o c.hs"));
    assert!(at.join("c_mult.hs").is_file() && at.join("c_add.s").is_file());
    let text = run(at, &format!("{SIMULATE} -o c.hs"));
    assert!(text.contains("removed: it belonged to the replaced scan"), "{text}");
    for file in ["c_mult.hs", "c_mult.s", "c_add.hs", "c_add.s"] {
        assert!(!at.join(file).exists(), "{file}");
    }
    run(at, &format!("{SIMULATE} -o fresh.hs"));
    for scan in ["c", "fresh"] {
        run(at, &format!("reconstruct {scan}.hs -o {scan}.npy {RUN}"));
    }
    assert_eq!(sum(at, "c.npy"), sum(at, "fresh.npy"));
    // Projections under the name of a scan do the same.
    run(at, &format!("{SIMULATE} --attenuation -o c.hs"));
    run(at, "project c.npy --like fresh.hs -o c.hs");
    assert!(!at.join("c_mult.hs").exists());
}

#[test]
fn a_histogram_removes_the_corrections_of_the_one_that_it_replaces() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --list-mode --counts 2e4 --background 0.2 -o p.petsird");
    run(at, "simulate cylinder --scanner small --list-mode --counts 2e4 -o c.Cdh");
    run(at, "histogram p.petsird -o h.hs");
    let had_background = at.join("h_add.hs").is_file();
    run(at, "histogram c.Cdh -o h.hs");
    assert!(!at.join("h_add.hs").exists(), "of the first list: {had_background}");
    run(at, &format!("reconstruct h.hs -o h.npy {RUN}"));
}

#[test]
fn a_scan_is_not_written_beside_companions_of_unknown_or_other_scans() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, &format!("{SIMULATE} --attenuation -o c.hs"));
    strip(at, "c_mult.hs", "tomoscope checksum of");
    let before = fs::read(at.join("c.s")).unwrap();
    let text = refused(at, 1, &words(&format!("{SIMULATE} -o c.hs")));
    assert!(text.contains("c_mult.hs exists") && text.contains("remove or rename it"), "{text}");
    assert_eq!(fs::read(at.join("c.s")).unwrap(), before);
    // Those that it writes itself are replaced.
    run(at, &format!("{SIMULATE} --attenuation -o c.hs"));
    fs::write(at.join("c.calibration.toml"), "version = 1\nbq_per_ml = 2.0\n").unwrap();
    let text = refused(at, 1, &words(&format!("{SIMULATE} -o c.hs")));
    assert!(text.contains("c.calibration.toml"), "{text}");
    // A list under the name of another, beside its map.
    let list = "simulate cylinder --scanner small --list-mode --counts 1e4";
    run(at, &format!("{list} --attenuation -o e.petsird"));
    let text = refused(at, 1, &words(&format!("{list} -o e.petsird")));
    assert!(text.contains("e_mu.nii.gz"), "{text}");
    run(at, &format!("{list} --attenuation -o e.petsird"));
}

#[test]
fn corrections_of_another_scan_are_refused_by_name_and_old_ones_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, &format!("{SIMULATE} --attenuation --background 0.3 -o a.hs"));
    run(at, "simulate cylinder --scanner small --counts 2e5 --seed 2 -o b.hs");
    for (option, file) in [("multiplicative", "a_mult.hs"), ("additive", "a_add.hs")] {
        let reconstruct = format!("reconstruct b.hs --{option} {file} -o b.npy {RUN}");
        let text = failed(at, "io.companion-of-another-scan", &words(&reconstruct));
        assert!(text.contains(file) && text.contains("b.hs"), "{text}");
        run(at, &format!("{reconstruct} --corrections-of-another-scan"));
    }
    // Taken along automatically: a scan that was copied over another.
    for file in ["hs", "s"] {
        let name = |stem: &str| at.join(format!("{stem}.{file}"));
        fs::copy(name("a"), name("c")).unwrap();
        fs::copy(at.join(format!("a_mult.{file}")), at.join(format!("c_mult.{file}"))).unwrap();
    }
    for header in ["c.hs", "c_mult.hs"] {
        let text = fs::read_to_string(at.join(header)).unwrap().replace("a.s", "c.s").replace("a_mult.s", "c_mult.s");
        fs::write(at.join(header), text).unwrap();
    }
    run(at, &format!("reconstruct c.hs -o c.npy {RUN}"));
    let text = fs::read_to_string(at.join("b.hs")).unwrap();
    fs::write(at.join("c.hs"), text).unwrap();
    let text = refused(at, 1, &words(&format!("reconstruct c.hs -o c.npy {RUN}")));
    assert!(
        text.contains("c_mult.hs") && text.contains("belongs to another scan") && text.contains("--no-corrections"),
        "{text}"
    );
    run(at, &format!("reconstruct c.hs -o c.npy {RUN} --no-corrections"));
    // Without the key, as earlier versions wrote it.
    strip(at, "c_mult.hs", "tomoscope checksum of");
    run(at, &format!("reconstruct c.hs -o c.npy {RUN}"));
    // Without a recorded checksum the data themselves count.
    strip(at, "a.hs", "data checksum");
    run(at, &format!("reconstruct a.hs -o a.npy {RUN}"));
}

#[test]
fn corrections_of_another_geometry_are_refused_with_the_fact_and_its_values() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, &format!("{SIMULATE} --attenuation --background 0.3 -o c.hs"));
    let (factors, _) = read_projections(&at.join("c_mult.hs")).unwrap();
    write_projections(&at.join("other.hs"), &factors).unwrap();
    let reconstruct = |option: &str| format!("reconstruct c.hs --no-corrections --{option} other.hs -o c.npy {RUN}");
    run(at, &reconstruct("multiplicative"));
    let original = fs::read_to_string(at.join("other.hs")).unwrap();
    let value = |key: &str| original.lines().find_map(|line| line.trim().strip_prefix(key)).unwrap().trim().to_owned();
    let number = |key: &str| value(key).trim_start_matches(":=").trim().parse::<f64>().unwrap();
    let changes = [
        ("Inner ring diameter (cm)", 4.0 / 3.0, 0.0, "ring diameter"),
        ("Distance between rings (cm)", 2.0, 0.0, "ring spacing"),
        ("View offset (degrees)", 1.0, 15.0, "view offset"),
    ];
    for (key, factor, shift, fact) in changes {
        let changed: String = original
            .lines()
            .map(|line| match line.trim().starts_with(key) {
                true => format!("{key} := {}\n", factor * number(key) + shift),
                false => format!("{line}\n"),
            })
            .collect();
        fs::write(at.join("other.hs"), changed).unwrap();
        for option in ["multiplicative", "additive"] {
            let text = failed(at, "corrections", &words(&reconstruct(option)));
            assert!(text.contains(fact) && text.contains(option), "{key}: {text}");
        }
    }
    // Arc correction.
    let is_corrected = original.contains("{arc correction}");
    let (from, to) = if is_corrected { ("{arc correction}", "{None}") } else { ("{None}", "{arc correction}") };
    fs::write(at.join("other.hs"), original.replace(from, to)).unwrap();
    let text = failed(at, "corrections", &words(&reconstruct("multiplicative")));
    assert!(text.contains("arc-corrected"), "{text}");
    // With corrections of the folder the named one is at fault.
    let text = failed(at, "corrections", &words(&format!("reconstruct c.hs --multiplicative other.hs -o c.npy {RUN}")));
    assert!(text.contains("multiplicative"), "{text}");
}

#[test]
fn attenuation_is_not_corrected_twice() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, &format!("{SIMULATE} --attenuation -o c.hs"));
    run(at, "simulate cylinder --scanner small --list-mode --counts 1e4 --attenuation -o e.petsird");
    // The file's content is known.
    let reconstruct = format!("reconstruct c.hs --attenuation e_mu.nii.gz -o c.npy {RUN}");
    let text = failed(at, "study", &words(&reconstruct));
    assert!(text.contains("c_mult.hs") && text.contains("e_mu.nii.gz") && text.contains("by its header"), "{text}");
    // It is not, but the factors follow the map.
    strip(at, "c_mult.hs", "correction contains");
    let text = failed(at, "study", &words(&reconstruct));
    assert!(text.contains("correlation of their logarithms"), "{text}");
    // One of both is right, and equal: the pair of ways.
    run(at, &format!("{reconstruct} --no-corrections"));
    run(at, "attenuation e_mu.nii.gz --like c.hs -o f.hs");
    run(at, &format!("reconstruct c.hs --multiplicative f.hs -o d.npy {RUN}"));
    let [by_map, by_factors] = ["c.npy", "d.npy"].map(|image| read_volume(&at.join(image)).unwrap().0.as_slice().to_vec());
    assert_eq!(by_map, by_factors);
    // Efficiencies and a map: no warning where the content is known, one where it is not.
    let (factors, _) = read_projections(&at.join("c_mult.hs")).unwrap();
    let mut efficiency = factors.clone();
    let values: Vec<f32> = (0..factors.counts.len()).map(|bin| 1.0 - 0.1 * ((bin % 7) as f32)).collect();
    efficiency.counts = std::sync::Arc::new(values);
    write_projections(&at.join("eff.hs"), &efficiency).unwrap();
    let warned = |text: &str| {
        let output = tomoscope(at, &words(text));
        assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stderr).contains("they must not include it")
    };
    let reconstruct = format!("reconstruct c.hs --multiplicative eff.hs --attenuation e_mu.nii.gz -o c.npy {RUN}");
    assert!(warned(&reconstruct));
    let text = fs::read_to_string(at.join("eff.hs")).unwrap();
    let known = text.replacen('\n', "\n; tomoscope correction contains := efficiency\n", 1);
    fs::write(at.join("eff.hs"), known).unwrap();
    assert!(!warned(&reconstruct));
}
