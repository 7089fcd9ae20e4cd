//! Stored matrices of rings of crystals, from their simulation to an image.

use std::fs;

use tomoscope::io::{read_volume, saved_matrix, saved_pairs};

use super::{done, failed, refused};

#[test]
fn a_matrix_a_scan_and_an_image_of_a_ring() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = done(folder, &["matrix", "--scanner", "madpet2-reduced", "--events", "400000", "-o", "r.matrix"]);
    assert!(made.contains("400000 decays were followed") && made.contains("counts behind an element"), "{made}");
    // Two tallies of four bytes for each of 357 × 41328 elements.
    assert!(made.contains("needs about 112.6 MiB on CPU, and 4 bytes for each element"), "{made}");
    let told = done(folder, &["info", "r.matrix"]);
    assert!(told.contains("basic blobs, 1.5 mm apart") && told.contains("41328"), "{told}");
    let scan =
        ["simulate", "rods", "--scanner", "madpet2-reduced", "--counts", "40000", "-o", "rods.pairs", "--rois", "rods.toml"];
    assert!(done(folder, &scan).contains("40000 counts of 41328 pairs"));
    assert!(done(folder, &["info", "rods.pairs"]).contains("288 in 18 modules and 2 layers"));
    let image = ["reconstruct", "rods.pairs", "--matrix", "r.matrix", "--iterations", "8", "-o", "a.nii"];
    let told = done(folder, &[&image[..], &["--rois", "rods.toml", "--csv", "a.csv"]].concat());
    assert!(told.contains("system matrix of blobs") && told.contains("MLEM, 8 iterations"), "{told}");
    // Decays in a mm³: as many in the object as its counts and its sensitivity say, hot rod above warm, warm above cold.
    let table = fs::read_to_string(folder.join("a.csv")).unwrap();
    let mean = |name: &str| -> f64 {
        let last = table.lines().rfind(|line| line.contains(name) && line.contains(",mean,")).unwrap();
        last.split(',').filter_map(|cell| cell.parse::<f64>().ok()).next_back().unwrap()
    };
    let [hot, warm, cold] = ["hot", "warm", "cold"].map(mean);
    assert!(hot > 1.8 * warm && cold < 0.6 * warm, "{hot} {warm} {cold}");
    let volume = read_volume(&folder.join("a.nii")).unwrap().0;
    let decays = volume.sum() * volume.grid.voxel_mm.iter().product::<f64>();
    assert!((0.005..0.02).contains(&(40_000.0 / decays)), "{decays}");
    let record: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("a.nii.json")).unwrap()).unwrap();
    assert_eq!(record["matrix"]["scanner"], "madpet2-reduced", "{record}");
    // Written and read again it is the same.
    let matrix = saved_matrix::read_matrix(&folder.join("r.matrix")).unwrap();
    saved_matrix::write_matrix(&folder.join("again.matrix"), &matrix).unwrap();
    assert_eq!(saved_matrix::read_matrix(&folder.join("again.matrix")).unwrap(), matrix);
    let pairs = saved_pairs::read_pairs(&folder.join("rods.pairs")).unwrap();
    assert_eq!(pairs.total(), 40_000.0);

    // What does not go together, and what is damaged.
    let without = refused(folder, 2, &["reconstruct", "rods.pairs", "-o", "no.nii"]);
    assert!(without.contains("set --matrix"), "{without}");
    let subsets = refused(folder, 2, &[&image[..4], &["--subsets", "3", "-o", "no.nii"]].concat());
    assert!(
        subsets.contains("--subsets is for projection data and list-mode data; rods.pairs is a crystal-pair histogram"),
        "{subsets}"
    );
    let header = fs::read_to_string(folder.join("r.matrix")).unwrap();
    let reconstruct = ["reconstruct", "rods.pairs", "--matrix", "r.matrix", "-o", "no.nii"];
    for (from, to, expected) in [
        ("version = 1", "version = 7", "version 7 is not supported"),
        ("\"madpet2-reduced\"", "\"banana\"", "there is no ring 'banana'"),
        ("num_basic = 357", "num_basic = 3", "r.matrix: "),
        ("num_lors = 41328", "num_lors = 41327", "has 41328 pairs of crystals, not 41327"),
        ("scale_mm3 = ", "scale_mm3 = -", "r.matrix: "),
    ] {
        fs::write(folder.join("r.matrix"), header.replace(from, to)).unwrap();
        let said = failed(folder, "io.unsupported.tomoscope", &reconstruct);
        assert!(said.contains("r.matrix") && said.contains(expected), "{said}");
    }
    fs::write(folder.join("r.matrix"), &header).unwrap();
    let data = folder.join("r.matrix.u32");
    let mut bytes = fs::read(&data).unwrap();
    bytes[100_000] ^= 4;
    fs::write(&data, &bytes).unwrap();
    failed(folder, "io.mismatched-pair", &reconstruct);
    fs::write(&data, &bytes[..bytes.len() - 4]).unwrap();
    let said = failed(folder, "io.unsupported.tomoscope", &reconstruct);
    assert!(said.contains("r.matrix.u32 has"), "{said}");
    assert!(!folder.join("no.nii").exists());
}
