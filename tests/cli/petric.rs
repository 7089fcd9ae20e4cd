//! PETRIC's folders: a simulated twin, what a run takes from it, and the thresholds.

use std::fs;

use serde_json::Value;
use tomoscope::io::{CorrectionFiles, PetricFolder, read_study, read_volume};

use super::{done, refused};

const TWIN: [&str; 7] = ["simulate", "--petric", "twin", "--counts", "3e5", "--seed", "3"];

#[test]
fn a_twin_has_the_files_of_petric_in_the_units_of_stir() {
    let temporary = tempfile::tempdir().unwrap();
    let text = done(temporary.path(), &TWIN);
    for content in ["attenuation factors", "start image: 2 iterations of OSEM", "in the units of STIR; --beta "] {
        assert!(text.contains(content), "{text}");
    }
    let folder = temporary.path().join("twin");
    // The background is inside the factors: the same scan by the usual names has m times as much.
    let inside = |inside: bool| {
        let [prompts, factors, additive] = ["prompts.hs", "mult_factors.hs", "additive_term.hs"].map(|name| folder.join(name));
        read_study(
            &prompts,
            CorrectionFiles {
                multiplicative: Some(&factors),
                additive: Some(&additive),
                additive_inside: inside,
                ..CorrectionFiles::default()
            },
        )
        .unwrap()
        .measured
    };
    let (counts, outside) = (inside(true), inside(false));
    let background = counts.additive.as_ref().unwrap().total();
    assert!((background / counts.prompts.total() - 0.3).abs() < 0.01, "{background}");
    assert!(outside.additive.unwrap().total() > 1.1 * background);
    let (preset, rois, notices) = PetricFolder::of(&folder).unwrap().read_preset().unwrap();
    let (written, _) = read_volume(&folder.join("OSEM_image.hv")).unwrap();
    let start = preset.start.unwrap();
    let voxel_mm = written.grid.voxel_mm[0];
    assert!((written.sum() / start.sum() / voxel_mm - 1.0).abs() < 1e-6);
    assert_eq!(rois.len(), 9, "{rois:?}");
    let texts: Vec<&str> = notices.iter().map(|notice| notice.text.as_str()).collect();
    assert!(matches!(texts[..], [only] if only.contains("reference_image.hv")), "{texts:?}");
    // Penalty and data term have curvatures of 1 : 10 in the background.
    let background = rois.iter().find(|roi| roi.name == "background").unwrap().mask(&start.grid).sums(start.as_slice());
    let strength: f64 = fs::read_to_string(folder.join("penalisation_factor.txt")).unwrap().trim().parse().unwrap();
    assert!((strength - preset.strength.unwrap() * voxel_mm).abs() < 1e-9);
    // (Voxels of 3 × 3 × 2.5 mm: the weights of the 26 neighbours add up to about 20.)
    let share = preset.strength.unwrap() * 20.0 / (background.sum / background.weight);
    assert!((share - 0.1).abs() < 0.02, "{share}");
}

#[test]
fn a_folder_opens_as_a_study_with_its_start_and_its_penalty_and_names_missing_files() {
    let temporary = tempfile::tempdir().unwrap();
    done(temporary.path(), &TWIN);
    let record = |name: &str| -> Value { serde_json::from_slice(&fs::read(temporary.path().join(name)).unwrap()).unwrap() };
    let text = done(temporary.path(), &["reconstruct", "twin", "-o", "a.hv", "--iterations", "1"]);
    assert!(text.contains("SVRG with 24 subsets"), "{text}");
    let of_folder = record("a.hv.json");
    assert_eq!(of_folder["algorithm"]["start_image"], "given", "{of_folder}");
    assert!(of_folder["algorithm"]["beta"].as_f64().is_some_and(|beta| beta > 0.0), "{of_folder}");
    // The weights are those of the folder, which are also those of the data at its start image.
    assert_eq!(of_folder["algorithm"]["kappa"], "file", "{of_folder}");
    done(
        temporary.path(),
        &["reconstruct", "twin", "-o", "auto.hv", "--iterations", "1", "--algorithm", "svrg", "--kappa", "auto"],
    );
    let [of_file, auto] = ["a.hv", "auto.hv"].map(|name| read_volume(&temporary.path().join(name)).unwrap().0);
    let largest = auto.range().1;
    let differences = of_file.as_slice().iter().zip(auto.as_slice()).map(|(a, b)| (a - b).abs());
    let difference = differences.fold(0.0, f32::max);
    assert!(difference < 1e-4 * largest, "{difference} {largest}");
    let arguments = ["reconstruct", "twin", "-o", "e.hv", "--iterations", "1", "--image", "20,20,7"];
    let message = refused(temporary.path(), 1, &arguments);
    assert!(message.contains("κ of the file has"), "{message}");
    // The prompts are the folder.
    done(temporary.path(), &["reconstruct", "twin/prompts.hs", "-o", "b.hv", "--iterations", "1"]);
    let [a, b] = ["a.v", "b.v"].map(|name| fs::read(temporary.path().join(name)).unwrap());
    assert_eq!(a, b);
    done(temporary.path(), &["reconstruct", "twin", "-o", "c.hv", "--iterations", "1", "--algorithm", "osem"]);
    assert_eq!(record("c.hv.json")["algorithm"]["start_image"], "uniform");
    for name in ["penalisation_factor.txt", "additive_term.hs"] {
        fs::remove_file(temporary.path().join("twin").join(name)).unwrap();
    }
    let arguments = ["reconstruct", "twin", "-o", "d.hv", "--iterations", "1"];
    let output = super::tomoscope(temporary.path(), &arguments);
    let message = String::from_utf8(output.stderr).unwrap();
    for name in ["no penalisation_factor.txt", "no additive_term.hs"] {
        assert!(output.status.success() && message.contains(name), "{message}");
    }
    fs::write(temporary.path().join("twin/penalisation_factor.txt"), "strong").unwrap();
    let message = refused(temporary.path(), 1, &arguments);
    assert!(message.contains("penalisation_factor.txt") && message.contains("'strong'"), "{message}");
    let message = refused(temporary.path(), 2, &TWIN);
    assert!(message.contains("contains a data set already"), "{message}");
}

#[test]
fn svrg_reaches_the_thresholds_of_a_twin_within_ten_epochs() {
    let temporary = tempfile::tempdir().unwrap();
    done(temporary.path(), &["simulate", "--petric", "twin"]);
    let svrg = ["reproduce", "petric", "twin", "--quick", "--device", "cpu", "-o", "tables", "--stage", "reference,osem,svrg"];
    let text = done(temporary.path(), &svrg);
    assert!(text.contains("epochs of SVRG (the folder has none)"), "{text}");
    println!("{text}");
    let report: Value = serde_json::from_slice(&fs::read(temporary.path().join("tables/petric.json")).unwrap()).unwrap();
    let epochs = |row: &str, column: &str| {
        let mut values = report["values"].as_array().unwrap().iter();
        let value = values.find(|value| value["table"] == "epochs" && value["row"] == row && value["column"] == column);
        value.unwrap()["here"].as_f64()
    };
    let reached = epochs("SVRG, table of step sizes", "all");
    assert!(reached.is_some_and(|epochs| epochs <= 10.0), "{text}");
    let near = epochs("SVRG, table of step sizes", "objective");
    assert!(near.is_some_and(|epochs| epochs <= 10.0), "{text}");
    assert!(text.contains("Φ₀ =") && text.contains("Φ* ="), "{text}");
    // Another objective.
    assert_eq!(epochs("OSEM (no penalty)", "objective"), None, "{text}");
    assert_eq!(epochs("OSEM (no penalty)", "all"), None, "{text}");
    let message = refused(temporary.path(), 1, &["reproduce", "petric", "tables", "--quick", "-o", "others"]);
    assert!(message.contains("is no data set of PETRIC"), "{message}");
}
