//! The same by every way: pairs of ways to one result, each of which is equal to 1e-6 or refused.
//!
//! A way is one or several commands in one folder; the last one writes the result, or is refused. The table is also in
//! `docs/validation.md`.

use std::path::Path;
use std::sync::Arc;

use serde_json::Value;
use tomoscope::data::{Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::{calibration_beside, read_projections, read_volume, store_calibration, write_projections, write_volume};

use super::{done, tomoscope};

/// Two ways to one result.
struct Pair {
    name: &'static str,
    /// Commands, and the file of the result.
    first: (&'static [&'static str], &'static str),
    second: Way,
}

enum Way {
    /// Commands, and the file of the equal result.
    Equal(&'static [&'static str], &'static str),
    /// Commands, the last of which is refused; and a part of the message.
    Refused(&'static [&'static str], &'static str),
}

const PAIRS: &[Pair] = &[
    Pair {
        name: "frame of a PETSIRD list: --frame, --frames",
        first: (&["reconstruct p.petsird $L --frame 20-30 --calibration 1000 -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct p.petsird $L --frames 20-30 --calibration 1000 -o b.npy"], "b_f001.npy"),
    },
    Pair {
        name: "frame of a CASToR list: --frame, --frames",
        first: (&["reconstruct c.Cdh $L --frame 20-30 --calibration 1000 -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct c.Cdh $L --frames 20-30 --calibration 1000 -o b.npy"], "b_f001.npy"),
    },
    Pair {
        name: "frame: all of the list",
        first: (&["reconstruct c.Cdh $L --frame 0-60 --calibration 1000 -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct c.Cdh $L --calibration 1000 -o b.npy"], "b.npy"),
    },
    Pair {
        name: "calibration of the sinogram of a frame: by its share, by hand",
        first: (&["reconstruct h_f001.hs $S --no-corrections --calibration 1000 -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct whole_time.hs $S --calibration 4000 -o b.npy"], "b.npy"),
    },
    Pair {
        name: "calibration: reconstruct, convert",
        first: (&["reconstruct s.hs $S --calibration 1000 -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct s.hs $S -o c.npy", "convert c.npy b.npy --calibration 1000"], "b.npy"),
    },
    Pair {
        name: "attenuation: map, factors of the map",
        first: (&["reconstruct s.hs $S --no-corrections --attenuation p_mu.nii.gz -o a.npy"], "a.npy"),
        second: Way::Equal(
            &[
                "attenuation p_mu.nii.gz --like s.hs -o f.hs",
                "reconstruct s.hs $S --no-corrections --multiplicative f.hs -o b.npy",
            ],
            "b.npy",
        ),
    },
    Pair {
        name: "attenuation: in the factors, and by a map again",
        first: (&["reconstruct s.hs $S -o a.npy"], "a.npy"),
        second: Way::Refused(&["reconstruct s.hs $S --attenuation p_mu.nii.gz -o b.npy"], "corrected twice"),
    },
    Pair {
        name: "corrections: of the folder, named",
        first: (&["reconstruct s.hs $S -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct s.hs $S --multiplicative s_mult.hs --additive s_add.hs -o b.npy"], "b.npy"),
    },
    Pair {
        name: "corrections: of their scan, of another",
        first: (&["reconstruct s.hs $S -o a.npy"], "a.npy"),
        second: Way::Refused(&["reconstruct bare.hs $S --multiplicative s_mult.hs -o b.npy"], "belongs to another scan"),
    },
    Pair {
        name: "corrections: of the geometry of the scan, of another",
        first: (&["reconstruct s.hs $S -o a.npy"], "a.npy"),
        second: Way::Refused(&["reconstruct s.hs $S --multiplicative wide.hs -o b.npy"], "ring diameter"),
    },
    Pair {
        name: "corrections: written anew, left by an earlier scan",
        first: (&["simulate $C -o fresh.hs", "reconstruct fresh.hs $S -o a.npy"], "a.npy"),
        second: Way::Equal(
            &["simulate $C --attenuation --background 0.3 -o old.hs", "simulate $C -o old.hs", "reconstruct old.hs $S -o b.npy"],
            "b.npy",
        ),
    },
    Pair {
        name: "background: added, added inside the factors",
        first: (&["reconstruct s.hs $S -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct s.hs $S --additive inside.hs --additive-inside -o b.npy"], "b.npy"),
    },
    Pair {
        name: "projection: grid on the axis, off the axis",
        first: (&["project on.nii --like bare.hs -o a.hs --projector per-lor"], "a.hs"),
        second: Way::Equal(&["project off.nii --like bare.hs -o b.hs --projector per-lor"], "b.hs"),
    },
    Pair {
        name: "reconstruction: grid off the axis, with the scanner's radius by hand",
        first: (&["reconstruct bare.hs $R --like off.nii -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct bare.hs $R --like off.nii --fov-radius-mm 70.5 -o b.npy"], "b.npy"),
    },
    Pair {
        name: "threads: one, two",
        first: (&["reconstruct s.hs $S --threads 1 -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct s.hs $S --threads 2 -o b.npy"], "b.npy"),
    },
    Pair {
        name: "formats of an image: NumPy, NIfTI",
        first: (&["reconstruct s.hs $S -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct s.hs $S -o b.nii.gz"], "b.nii.gz"),
    },
    Pair {
        name: "formats of an image: NumPy, Interfile",
        first: (&["reconstruct s.hs $S -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct s.hs $S -o b.hv"], "b.hv"),
    },
    Pair {
        name: "grid: by its numbers, like an image",
        first: (&["reconstruct s.hs $S -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct s.hs --iterations 2 --subsets 4 --like a.npy -o b.npy"], "b.npy"),
    },
    Pair {
        name: "inputs: alone, with others",
        first: (&["reconstruct s.hs $S -o a.npy"], "a.npy"),
        second: Way::Equal(&["reconstruct s.hs bare.hs $S -o many_{}.npy"], "many_s.npy"),
    },
];

/// Settings of lists, of sinograms, and of a simulation.
const SHORT: [(&str, &str); 4] = [
    ("$L", "--attenuation p_mu.nii.gz --iterations 2 --subsets 2 --image 31,31,15"),
    ("$S", "--iterations 2 --subsets 4 --image 31,31,15"),
    ("$R", "--iterations 1 --subsets 4"),
    ("$C", "cylinder --scanner small --counts 1e5 --noise none"),
];

fn expanded(command: &str) -> String {
    SHORT.iter().fold(command.to_owned(), |command, (name, text)| command.replace(name, text))
}

/// Runs a command; exit code 3 counts as success (few counts explain little on small grids). Returns the text of a refusal.
fn run(at: &Path, command: &str) -> Result<(), String> {
    let command = expanded(command);
    let output = tomoscope(at, &command.split_whitespace().collect::<Vec<_>>());
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    match output.status.code() {
        Some(0 | 3) => Ok(()),
        Some(1 | 2) => Err(text),
        code => panic!("{command}: {code:?}: {text}"),
    }
}

fn values(at: &Path, file: &str) -> Vec<f32> {
    let path = at.join(file);
    match path.extension().is_some_and(|ending| ending == "hs") {
        true => read_projections(&path).unwrap().0.counts.to_vec(),
        false => read_volume(&path).unwrap().0.as_slice().to_vec(),
    }
}

/// A disc on the axis, on a grid whose middle lies on it or 60 mm off it.
fn disc(shift_mm: f64) -> Volume {
    let mut grid = Grid::centred([31, 31, 15], [6.0, 6.0, 2.5]).unwrap();
    grid.origin_mm[0] += shift_mm;
    let mut volume = Volume::filled(grid, 0.0);
    for index in 0..volume.as_slice().len() {
        let [x, y] = [index % 31, index / 31 % 31].map(|voxel| voxel as f64);
        let [x, y, _] = volume.grid.mm_from_voxel([x, y, 0.0]);
        volume.as_mut_slice()[index] = if x.hypot(y) <= 24.0 { 1.0 } else { 0.0 };
    }
    volume
}

/// A folder with scans (`s.hs` with corrections, `bare.hs` without), lists, images and corrections of other kinds.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let done = |command: &str| _ = done(at, &expanded(command).split_whitespace().collect::<Vec<_>>());
    done("simulate $C --attenuation --background 0.3 -o s.hs");
    done("simulate $C -o bare.hs");
    for list in ["p.petsird", "c.Cdh"] {
        done(&format!("simulate cylinder --scanner small --list-mode --counts 2e4 --attenuation --duration-secs 60 -o {list}"));
    }
    done("histogram c.Cdh -o h.hs --frames 0-15");
    let (prompts, _) = read_projections(&at.join("h_f001.hs")).unwrap();
    write_projections(&at.join("whole_time.hs"), &prompts).unwrap();
    let (mut inside, _) = read_projections(&at.join("s_add.hs")).unwrap();
    let (factors, _) = read_projections(&at.join("s_mult.hs")).unwrap();
    inside.scale_bins(&factors.counts.iter().map(|factor| 1.0 / factor).collect::<Vec<_>>());
    write_projections(&at.join("inside.hs"), &inside).unwrap();
    let mut wide = factors;
    let geometry = Arc::make_mut(&mut wide.geometry);
    geometry.inner_radius_mm *= 1.1;
    write_projections(&at.join("wide.hs"), &wide).unwrap();
    for (file, shift_mm) in [("on.nii", 0.0), ("off.nii", 60.0)] {
        write_volume(&at.join(file), &disc(shift_mm)).unwrap();
    }
    folder
}

#[test]
fn two_ways_are_equal_or_one_is_refused() {
    let folder = folder();
    let at = folder.path();
    let mut failures = Vec::new();
    for Pair { name, first: (commands, file), second } in PAIRS {
        for command in *commands {
            if let Err(text) = run(at, command) {
                failures.push(format!("{name}: {command}: {text}"));
            }
        }
        match second {
            Way::Equal(commands, other) => {
                if let Some(text) = commands.iter().find_map(|command| run(at, command).err()) {
                    failures.push(format!("{name}: {text}"));
                    continue;
                }
                let [found, expected] = [other, file].map(|file| values(at, file));
                let max = expected.iter().fold(0f32, |max, value| max.max(value.abs()));
                let worst = found.iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
                println!("{name}: {:.1e}", worst / max);
                if found.len() != expected.len() || max <= 0.0 || f64::from(worst) > 1e-6 * f64::from(max) {
                    failures.push(format!("{name}: {worst} of {max}"));
                }
            }
            Way::Refused(commands, reason) => {
                let refusal = commands.iter().find_map(|command| run(at, command).err());
                if !refusal.as_ref().is_some_and(|text| text.contains(reason)) {
                    failures.push(format!("{name}: not refused with '{reason}': {refusal:?}"));
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// A sinogram and the list that it was counted from have other lines (the angle of a view in place of that of each pair), but one field
/// of view, one grid and one factor of calibration.
#[test]
fn a_list_and_its_sinogram_have_one_grid_one_field_of_view_and_one_calibration() {
    let folder = folder();
    let at = folder.path();
    for list in ["c.Cdh", "p.petsird"] {
        run(at, &format!("histogram {list} -o l.hs")).unwrap();
        let record = |input: &str, output: &str| -> Value {
            run(at, &format!("reconstruct {input} --iterations 1 --subsets 1 --calibration 1000 -o {output}")).unwrap();
            serde_json::from_str(&std::fs::read_to_string(at.join(format!("{output}.json"))).unwrap()).unwrap()
        };
        let [of_list, of_sinogram] = [record(list, "a.npy"), record("l.hs", "b.npy")];
        for key in ["/image/size", "/image/unit", "/calibration_bq_per_ml"] {
            assert!(of_list.pointer(key).is_some(), "{key}: {of_list}");
            assert_eq!(of_list.pointer(key), of_sinogram.pointer(key), "{list}: {key}");
        }
        // (Places of crystals are floats in lists.)
        for key in ["/image/voxel_mm/0", "/image/voxel_mm/2", "/image/origin_mm/0", "/projector/fov_radius_mm"] {
            let [a, b] = [&of_list, &of_sinogram].map(|record| record.pointer(key).unwrap().as_f64().unwrap());
            assert!((a / b - 1.0).abs() < 1e-6, "{list}: {key}: {a} is not {b}");
        }
        let (_, notices) = read_projections(&at.join("l.hs")).unwrap();
        assert!(!notices.iter().any(|notice| notice.text.contains("contradicts")), "{notices:?}");
    }
}

/// The survival of a bin is exp(−∫ µ), by `attenuation` and by `project` alike, wherever the grid of the map is.
#[test]
fn attenuation_is_the_projection_of_its_map() {
    let folder = folder();
    let at = folder.path();
    for map in ["on.nii", "off.nii"] {
        // 0.01 / mm where the disc is.
        let mut mu = read_volume(&at.join(map)).unwrap().0;
        mu.unit = Unit::Unknown;
        mu.as_mut_slice().iter_mut().for_each(|value| *value *= 0.01);
        write_volume(&at.join("mu.nii"), &mu).unwrap();
        run(at, "attenuation mu.nii --mu-unit per-mm --like bare.hs -o f.hs").unwrap();
        run(at, "project mu.nii --like bare.hs -o p.hs --projector per-lor").unwrap();
        let [factors, integrals] = ["f.hs", "p.hs"].map(|file| values(at, file));
        for (factor, integral) in factors.iter().zip(&integrals) {
            assert!((factor - (-integral).exp()).abs() <= 1e-6, "{map}: {factor} is not {}", (-integral).exp());
        }
    }
}

/// A calibration in the folder of a scan is that scan's.
#[test]
fn a_calibration_of_the_folder_is_of_its_scan() {
    let folder = folder();
    let at = folder.path();
    store_calibration(&at.join("s.hs"), Some(1000.0)).unwrap();
    assert_eq!(calibration_beside(&at.join("s.hs")).unwrap(), Some(1000.0));
    std::fs::copy(at.join("s.calibration.toml"), at.join("bare.calibration.toml")).unwrap();
    assert!(calibration_beside(&at.join("bare.hs")).is_err());
    // The new scan removes that of the old one.
    run(at, "simulate $C --background 0.1 -o s.hs").unwrap();
    assert!(!at.join("s.calibration.toml").exists());
}
