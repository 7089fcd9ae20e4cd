//! `tomoscope simulate --epri` and `tomoscope info` of sweeps.

use super::{done, refused};

#[test]
fn a_sweep_is_simulated_and_described() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let arguments = "simulate bottle --epri 66 --points 64 --extent-mm 48 --noise-fraction 0.01 --order spaced --truth truth.nii --rois rois.toml -o a.sweep";
    let printed = done(at, &arguments.split(' ').collect::<Vec<_>>());
    assert!(printed.contains("66 projections of 64 samples, 0.75000 mm apart"), "{printed}");
    let about = done(at, &["info", "a.sweep"]);
    for part in ["EPRI sweep", "projections            66\n", "64 of 0.75000 mm, t = 0 at 32", "1.00000 × 2π", "pulse"] {
        assert!(about.contains(part), "'{part}' is missing in:\n{about}");
    }
    assert!(done(at, &["info", "truth.nii"]).contains("64 × 64 × 64 of 0.7500"));
    assert!(done(at, &["info", "rois.toml"]).contains("sphere"));
    let grid = "simulate tubes --epri 5x4 --weights paper -o b.sweep";
    assert!(done(at, &grid.split(' ').collect::<Vec<_>>()).contains("equal linear angle, 5 polar × 4 azimuth"));
}

#[test]
fn a_sweep_that_cannot_be_simulated_is_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, code, words) in [
        ("simulate ball --epri 0 -o a.sweep", 2, "1 to"),
        ("simulate ball --epri many -o a.sweep", 2, "16x13"),
        ("simulate ball --epri 66 -o a.hs", 1, ".sweep"),
        ("simulate ball --epri 66 --counts 5 -o a.sweep", 2, "--counts"),
        ("simulate ball --epri 66 --scanner small -o a.sweep", 2, "--scanner"),
        ("simulate ball -o a.sweep", 2, "--scanner"),
        ("simulate ball --scanner small -o a.hs", 1, "no phantom 'ball'"),
        ("simulate cylinder --scanner small --points 5 -o a.hs", 2, "--points"),
        ("simulate cylinder --epri 66 -o a.sweep", 1, "no EPRI phantom 'cylinder'"),
        ("simulate banana --epri 66 -o a.sweep", 2, "bottle"),
        ("simulate ball --epri 66 --points 2 -o a.sweep", 1, "3 to"),
        ("simulate ball --epri 66 --extent-mm=-4 -o a.sweep", 1, "positive"),
        ("simulate ball --epri 66 --extent-mm 0 -o a.sweep", 1, "positive"),
        ("simulate ball --epri 66 --noise-fraction nan -o a.sweep", 1, "at least 0"),
        ("simulate ball --epri 66 --image 0,1,1 --truth a.nii -o a.sweep", 1, "at least 1"),
    ] {
        let said = refused(folder.path(), code, &arguments.split(' ').collect::<Vec<_>>());
        assert!(said.contains(words), "{arguments}: {said}");
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "something was written all the same");
}

#[test]
fn a_real_scan_is_described() {
    let Some(data) = std::env::var_os("TOMOSCOPE_DATA") else {
        println!("skipped: TOMOSCOPE_DATA is not set");
        return;
    };
    let scan = std::path::Path::new(&data).join("epri/fusillo-20091002-proj.DSC");
    let about = done(std::path::Path::new("."), &["info", scan.to_str().unwrap()]);
    for part in
        ["Bruker BES3T", "961\n", "500 of 0.18929 mm", "continuous wave", "0.14 mT/mm (14 G/cm)", "500 samples of 0.02650 mT"]
    {
        assert!(about.contains(part), "'{part}' is missing in:\n{about}");
    }
}
