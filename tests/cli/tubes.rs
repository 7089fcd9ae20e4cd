//! Tubes of response and scans by Monte Carlo.

use tomoscope::io::{read_projections, read_volume};

use super::{cache, done, refused, tomoscope};

#[test]
fn tubes_and_scans_are_simulated_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let edge_rings = ["--edge-rings", "1000000"];
    let tubes = ["tubes", "--scanner", "vrpet", "--events", "300000", "--device", "cpu", "-o", "v.tubes"];
    let made = done(folder, &[&tubes[..], &edge_rings].concat());
    for told in
        ["with an edge ring, from those of the others (1000000 annihilations)", "ring difference 0  ", "ring differences 0 to 27"]
    {
        assert!(made.contains(told), "{told} is missing in\n{made}");
    }
    assert!(made.lines().filter(|line| line.contains("sum ") && line.contains("cross-section ")).count() == 5, "{made}");
    assert!(made.contains("300000 annihilations") && made.contains("standard error"), "{made}");
    assert!(made.contains("followed on CPU: ") && made.contains("million annihilations a second"), "{made}");
    let told = done(folder, &["info", "v.tubes"]);
    assert!(told.contains("59 distances from the axis × 30 ring differences") && told.contains("F-18"), "{told}");

    let scan = ["simulate", "cylinder", "--scanner", "vrpet", "--model", "montecarlo", "--counts", "2000", "-o", "scan.hs"];
    assert!(done(folder, &scan).contains("counts in 20007000 bins"));
    let total = read_projections(&folder.join("scan.hs")).unwrap().0.total();
    assert!((1700.0..2300.0).contains(&total), "{total}");
    let factors = read_projections(&folder.join("scan_mult.hs")).unwrap().0;
    let mean = factors.total() / factors.counts.len() as f64;
    assert!((mean - 1.0).abs() < 1e-4 && factors.counts.iter().all(|factor| *factor > 0.0), "{mean}");

    // With tubes of another scanner, and where there can be none.
    done(folder, &["simulate", "cylinder", "--scanner", "small", "--counts", "1e4", "-o", "small.hs"]);
    let foreign = refused(folder, 1, &["reconstruct", "small.hs", "--tubes", "v.tubes", "-o", "no.nii"]);
    assert!(foreign.contains("the tubes are those of tomoscope VrPET, the data of tomoscope small"), "{foreign}");
    let without = refused(folder, 1, &["reconstruct", "small.hs", "--projector", "tubes", "-o", "no.nii"]);
    assert!(without.contains("rotating heads, which tomoscope small is not"), "{without}");
}

#[test]
fn super_lors_are_made_and_told() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let shared = ["tubes", "--scanner", "vrpet", "--events", "200000", "--super-lors", "6x5x9", "-o", "v.tubes"];
    for told in [done(folder, &shared), done(folder, &["info", "v.tubes"])] {
        assert!(told.contains("super-LORs of 6 × 5 × 9 samples along: standard error "), "{told}");
        assert!(told.contains("in the outermost groups"), "{told}");
    }
    let info: serde_json::Value = serde_json::from_str(&done(folder, &["info", "v.tubes", "--json"])).unwrap();
    assert_eq!(info["made"]["super_lors"]["sizes"]["ring_differences"], 5, "{info}");
    // A coefficient of a single tube is one count here; 6 × 5 tubes and 9 samples have up to 270 times as many.
    let [single, shared] = [&info["made"], &info["made"]["super_lors"]].map(|of| of["median_error_percent"].as_f64().unwrap());
    assert!(single > 90.0 && (2.0..20.0).contains(&(single / shared)), "{single} {shared}");
    let none = refused(folder, 2, &["tubes", "--scanner", "vrpet", "--super-lors", "0x5", "-o", "v.tubes"]);
    assert!(none.contains("at least 1"), "{none}");
}

#[test]
fn without_a_file_of_tubes_the_coarse_set_of_the_cache_is_used() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let kept = cache(folder).join("tomoscope");
    std::fs::create_dir_all(&kept).unwrap();
    // As it would be with many more annihilations.
    let header = kept.join(format!("vrpet-F-18-10000000-seed1-6x5x9-v{}.tubes", env!("CARGO_PKG_VERSION")));
    let few = ["tubes", "--scanner", "vrpet", "--events", "200000", "--super-lors", "6x5x9", "-o", header.to_str().unwrap()];
    done(folder, &few);
    let text = std::fs::read_to_string(&header).unwrap();
    std::fs::write(&header, text.replace("num_histories = 200000", "num_histories = 10000000")).unwrap();

    done(folder, &["simulate", "cylinder", "--scanner", "vrpet", "--counts", "1e5", "-o", "scan.hs"]);
    let reconstruct = ["reconstruct", "scan.hs", "--subsets", "1", "--iterations", "1", "--image", "11,11,59", "-o", "a.nii"];
    let output = tomoscope(folder, &[&reconstruct[..], &["--projector", "tubes"]].concat());
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    // So small an image lacks most of the counts.
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("coarse set of tubes") && said.contains("tubes of response read from the cache"), "{said}");
    let image = read_volume(&folder.join("a.nii")).unwrap().0;
    assert!(image.sum() > 0.0);
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(folder.join("a.nii.json")).unwrap()).unwrap();
    assert_eq!(record["projector"]["tubes"]["super_lors"]["sizes"]["radial"], 6, "{record}");
    // Named, the same file gives the same image.
    let named = [&reconstruct[..9], &["b.nii", "--tubes", header.to_str().unwrap()]].concat();
    assert_eq!(tomoscope(folder, &named).status.code(), Some(3));
    assert_eq!(read_volume(&folder.join("b.nii")).unwrap().0, image);

    // A projection and a backprojection go the same way.
    let projections: [&[&str]; 2] = [
        &["project", "a.nii", "--like", "scan.hs", "--projector", "tubes"],
        &["backproject", "scan.hs", "--like", "a.nii", "--projector", "tubes"],
    ];
    let [found, named] = [None, header.to_str()].map(|file| {
        let tubes: Vec<&str> = file.into_iter().flat_map(|file| ["--tubes", file]).collect();
        projections.map(|projection| {
            let (output, is_image) = if projection[0] == "project" { ("c.hs", false) } else { ("c.nii", true) };
            let output = tomoscope(folder, &[projection, &tubes, &["-o", output]].concat());
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(0), "{said}");
            let is_told = said.contains("coarse set of tubes") && said.contains("tubes of response read from the cache");
            assert_eq!(is_told, file.is_none(), "{said}");
            if is_image {
                read_volume(&folder.join("c.nii")).unwrap().0.as_slice().to_vec()
            } else {
                read_projections(&folder.join("c.hs")).unwrap().0.counts.to_vec()
            }
        })
    });
    assert!(found == named && found.iter().all(|values| values.iter().any(|value| *value > 0.0)));
}

#[test]
fn what_has_no_heads_or_no_such_physics_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let tubes = |more: &[&str]| refused(folder, 2, &[&["tubes", "-o", "a.tubes"], more].concat());
    assert!(refused(folder, 1, &["tubes", "-o", "a.tubes", "--scanner", "small"]).contains("has no rotating heads"));
    assert!(tubes(&["--scanner", "vrpet", "--isotope", "Fe-56"]).contains("F-18"));
    assert!(tubes(&["--scanner", "vrpet", "--events", "0"]).contains("--events"));
    assert!(tubes(&["--scanner", "vrpet", "--device", "abacus"]).contains("auto, cpu, cuda, cuda:N, gpu or gpu:N"));
    let no_gpu = refused(folder, 1, &["tubes", "--scanner", "vrpet", "--device", "cuda:1000", "-o", "a.tubes"]);
    assert!(no_gpu.contains("CUDA device 1000 is not usable") && no_gpu.contains("--device cpu"), "{no_gpu}");
    assert!(refused(folder, 2, &["tubes", "--scanner", "vrpet", "-o", "a.hs"]).contains(".tubes"));
    let scan = ["simulate", "cylinder", "--scanner", "vrpet", "--model", "montecarlo", "-o", "scan.hs"];
    for option in [&["--attenuation"][..], &["--background", "0.1"], &["--noise", "none"], &["--truth", "t.nii"]] {
        let sentence = refused(folder, 2, &[&scan[..], option].concat());
        assert!(sentence.contains(option[0]) && sentence.contains("montecarlo"), "{sentence}");
    }
    let other = [&scan[..5], &["geant", "-o", "scan.hs"]].concat();
    assert!(refused(folder, 2, &other).contains("analytic or montecarlo"));
}
