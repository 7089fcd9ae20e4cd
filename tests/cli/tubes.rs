//! Tubes of response and scans by Monte Carlo.

use tomoscope::io::read_projections;

use super::{done, refused};

#[test]
fn tubes_and_scans_are_simulated_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let made = done(folder, &["tubes", "--scanner", "vrpet", "--events", "300000", "-o", "v.tubes"]);
    assert!(made.contains("300000 annihilations") && made.contains("standard error"), "{made}");
    let told = done(folder, &["info", "v.tubes"]);
    assert!(told.contains("59 distances from the axis × 30 ring differences") && told.contains("F-18"), "{told}");

    let scan = ["simulate", "cylinder", "--scanner", "vrpet", "--model", "montecarlo", "--counts", "2000", "-o", "scan.hs"];
    assert!(done(folder, &scan).contains("counts in 20007000 bins"));
    let total = read_projections(&folder.join("scan.hs")).unwrap().0.total();
    assert!((1700.0..2300.0).contains(&total), "{total}");
    let factors = read_projections(&folder.join("scan_mult.hs")).unwrap().0;
    let mean = factors.total() / factors.counts.len() as f64;
    assert!((mean - 1.0).abs() < 1e-4 && factors.counts.iter().all(|factor| *factor > 0.0), "{mean}");

    // Without tubes, and with those of another scanner.
    let without = refused(folder, 1, &["reconstruct", "scan.hs", "--projector", "tubes", "-o", "no.nii"]);
    assert!(without.contains("make them (tomoscope tubes)"));
    done(folder, &["simulate", "cylinder", "--scanner", "small", "--counts", "1e4", "-o", "small.hs"]);
    let foreign = refused(folder, 1, &["reconstruct", "small.hs", "--tubes", "v.tubes", "-o", "no.nii"]);
    assert!(foreign.contains("the tubes are those of tomoscope VrPET, the data of tomoscope small"), "{foreign}");
}

#[test]
fn what_has_no_heads_or_no_such_physics_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tubes = |more: &[&str]| refused(folder, 2, &[&["tubes", "-o", "a.tubes"], more].concat());
    assert!(refused(folder, 1, &["tubes", "-o", "a.tubes", "--scanner", "small"]).contains("has no rotating heads"));
    assert!(tubes(&["--scanner", "vrpet", "--isotope", "Fe-56"]).contains("F-18"));
    assert!(tubes(&["--scanner", "vrpet", "--events", "0"]).contains("--events"));
    assert!(refused(folder, 2, &["tubes", "--scanner", "vrpet", "-o", "a.hs"]).contains(".tubes"));
    let scan = ["simulate", "cylinder", "--scanner", "vrpet", "--model", "montecarlo", "-o", "scan.hs"];
    for option in [&["--attenuation"][..], &["--background", "0.1"], &["--noise", "none"], &["--truth", "t.nii"]] {
        let sentence = refused(folder, 1, &[&scan[..], option].concat());
        assert!(sentence.contains(option[0]) && sentence.contains("montecarlo"), "{sentence}");
    }
    let other = [&scan[..5], &["geant", "-o", "scan.hs"]].concat();
    assert!(refused(folder, 2, &other).contains("analytic or montecarlo"));
}
