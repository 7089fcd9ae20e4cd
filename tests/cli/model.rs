//! The model of the scanner: resolution, height of the voxels, time of flight and attenuation of sinograms.

use std::path::Path;

use serde_json::Value;
use tomoscope::data::{Unit, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::{read_projections, read_volume, write_projections, write_volume};

use super::{done, refused, tomoscope};

fn run(folder: &Path, arguments: &str) -> String {
    done(folder, &arguments.split(' ').collect::<Vec<_>>())
}

/// Returns the notices of a run.
fn notices(folder: &Path, arguments: &str) -> String {
    let output = tomoscope(folder, &arguments.split(' ').collect::<Vec<_>>());
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn refuse(folder: &Path, code: i32, arguments: &str) -> String {
    refused(folder, code, &arguments.split(' ').collect::<Vec<_>>())
}

fn record(folder: &Path, name: &str) -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder.join(name)).unwrap()).unwrap()
}

fn image(folder: &Path, name: &str) -> Volume {
    read_volume(&folder.join(name)).unwrap().0
}

fn largest(volume: &Volume) -> f32 {
    volume.range().1
}

#[test]
fn a_resolution_model_sharpens_and_is_recorded() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate rods --scanner small --counts 1e6 --noise none -o scan.hs");
    let usual = "--algorithm mlem --iterations 10 --device cpu";
    run(at, &format!("reconstruct scan.hs {usual} -o plain.nii.gz"));
    run(at, &format!("reconstruct scan.hs {usual} --psf-fwhm-mm 6,6,5 -o sharp.nii.gz"));
    let [plain, sharp] = ["plain.nii.gz", "sharp.nii.gz"].map(|name| image(at, name));
    println!("largest values: {} and {}", largest(&plain), largest(&sharp));
    assert!((plain.sum() / sharp.sum() - 1.0).abs() < 0.02 && largest(&sharp) != largest(&plain));
    assert_eq!(record(at, "sharp.nii.gz.json")["projector"]["psf"], serde_json::json!({"everywhere": [6.0, 6.0, 5.0]}));
    assert!(record(at, "plain.nii.gz.json")["projector"].get("psf").is_none());
    // By the distance from the axis, with the same widths everywhere: the same image.
    let rows =
        "version = 1\nradius_mm = [0, 100]\nradial_fwhm_mm = [6, 6]\ntangential_fwhm_mm = [6, 6]\naxial_fwhm_mm = [5, 5]\n";
    std::fs::write(at.join("psf.toml"), rows).unwrap();
    run(at, &format!("reconstruct scan.hs {usual} --psf psf.toml -o by_radius.nii.gz"));
    let by_radius = image(at, "by_radius.nii.gz");
    let differs = by_radius.as_slice().iter().zip(sharp.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
    assert!(differs < 2e-3 * largest(&sharp), "{differs}");
    // What does not suit.
    let text = notices(
        at,
        &format!("reconstruct scan.hs {usual} --iterations 1 --psf-fwhm-mm 1 -o coarse.nii.gz").replace("--iterations 10 ", ""),
    );
    assert!(text.contains("widths below 1.5 voxels"), "{text}");
    let text = refuse(at, 1, &format!("reconstruct scan.hs {usual} --psf-fwhm-mm 1000 -o wide.nii.gz"));
    assert!(text.contains("1000 mm wide along x"), "{text}");
    let text = refuse(at, 2, &format!("reconstruct scan.hs {usual} --psf-fwhm-mm 1,2 -o wide.nii.gz"));
    assert!(text.contains("4.5 or 4.5,4.5,6"), "{text}");
    std::fs::write(at.join("psf.toml"), rows.replace("[5, 5]", "[5]")).unwrap();
    let text = refuse(at, 1, &format!("reconstruct scan.hs {usual} --psf psf.toml -o wide.nii.gz"));
    assert!(text.contains("axial_fwhm_mm has 1 numbers where radius_mm has 2"), "{text}");
}

#[test]
fn slices_of_any_height_are_reconstructed_fast_and_their_blur_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e6 --noise none -o scan.hs");
    let text = notices(at, "reconstruct scan.hs --image 40,40,16 --voxel-mm 3,3,2.3 --iterations 2 --device cpu -o image.nii.gz");
    assert!(text.contains("resamples the image's slices of 2.300 mm"), "{text}");
    assert_eq!(record(at, "image.nii.gz.json")["projector"]["name"], "axial-runs");
    assert!(image(at, "image.nii.gz").sum() > 0.0);
}

#[test]
fn time_of_flight_is_simulated_described_added_up_and_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e6 --noise none --background 0.2 --tof-ps 300 -o tof.hs");
    let text = run(at, "info tof.hs");
    assert!(text.contains("time of flight") && text.contains("(300 ps)"), "{text}");
    let (data, _) = read_projections(&at.join("tof.hs")).unwrap();
    let bins = data.tof.as_ref().unwrap().bins;
    assert!(bins.num > 1 && bins.num % 2 == 1 && (bins.width_mm / bins.fwhm_mm - 0.9).abs() < 1e-6, "{bins:?}");
    assert!((data.total() / 1.25e6 - 1.0).abs() < 0.01, "{}", data.total());
    let usual = "--algorithm mlem --iterations 4 --device cpu --image 30,30,9 --voxel-mm 4,4,5";
    run(at, &format!("reconstruct tof.hs {usual} -o tof.nii.gz"));
    run(at, &format!("reconstruct tof.hs {usual} --tof-mash {} --tof-sigmas 4 -o mashed.nii.gz", bins.num));
    run(at, &format!("reconstruct tof.hs {usual} --no-tof --projector per-lor -o without.nii.gz"));
    let [tof, mashed, without] = ["tof.nii.gz", "mashed.nii.gz", "without.nii.gz"].map(|name| image(at, name));
    // One bin for all of the line is nearly no time of flight.
    assert!((mashed.sum() / without.sum() - 1.0).abs() < 0.01 && (tof.sum() / without.sum() - 1.0).abs() < 0.02);
    let projector = &record(at, "tof.nii.gz.json")["projector"];
    assert_eq!((&projector["name"], projector["tof"]["num"].as_u64()), (&"axial-runs".into(), Some(bins.num as u64)));
    assert!(record(at, "without.nii.gz.json")["projector"].get("tof").is_none());
    // The definition.
    run(at, &format!("reconstruct tof.hs {usual} --projector per-lor -o lor.nii.gz"));
    let lor = image(at, "lor.nii.gz");
    let differences = tof.as_slice().iter().zip(lor.as_slice()).map(|(a, b)| (f64::from(*a) - f64::from(*b)).powi(2));
    let norm = lor.as_slice().iter().map(|value| f64::from(*value).powi(2)).sum::<f64>();
    assert!((differences.sum::<f64>() / norm).sqrt() < 0.01);
    // A projection into the same bins.
    run(at, "project tof.nii.gz --like tof.hs -o again.hs --device cpu");
    let (again, _) = read_projections(&at.join("again.hs")).unwrap();
    assert_eq!(again.tof.as_ref().unwrap().bins.num, bins.num);
    assert!((again.total() / 1e6 - 1.0).abs() < 0.1, "{}", again.total());
    // What does not suit.
    let text = refuse(at, 1, &format!("reconstruct tof.hs {usual} --tof-mash 2 -o no.nii.gz"));
    assert!(text.contains("2 at a time do not divide"), "{text}");
    run(at, "simulate cylinder --scanner small --counts 1e5 -o plain.hs");
    let text = refuse(at, 2, &format!("reconstruct plain.hs {usual} --no-tof -o no.nii.gz"));
    assert!(text.contains("no time-of-flight bins"), "{text}");
    let text = refuse(at, 1, &format!("reconstruct plain.hs --multiplicative tof.hs {usual} -o no.nii.gz"));
    assert!(text.contains("factors are for whole lines"), "{text}");
    let text =
        refuse(at, 1, &format!("reconstruct plain.hs --additive tof_add.hs --corrections-of-another-scan {usual} -o no.nii.gz"));
    assert!(text.contains("no time-of-flight bins"), "{text}");
    // A header without the resolution.
    let header = std::fs::read_to_string(at.join("tof.hs")).unwrap();
    let lines = header.lines().filter(|line| !line.contains("resolution") && !line.contains("checksum"));
    std::fs::write(at.join("cut.hs"), lines.collect::<Vec<_>>().join("\n")).unwrap();
    let text = refuse(at, 1, "info cut.hs");
    assert!(text.contains("need the resolution"), "{text}");
    let odd = header.replace(&format!("!matrix size [5] := {}", bins.num), &format!("!matrix size [5] := {}", bins.num + 1));
    std::fs::write(at.join("odd.hs"), odd).unwrap();
    let text = refuse(at, 1, "info odd.hs");
    assert!(text.contains("matrix size [5]"), "{text}");
}

#[test]
fn maps_become_the_factors_of_a_sinogram_alone_and_together() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e5 --attenuation -o scan.hs");
    run(at, "simulate cylinder --scanner small --counts 1e3 --attenuation --list-mode -o events.petsird");
    run(at, "attenuation events_mu.nii.gz --like scan.hs -o factors.hs");
    let factors = |name: &str| read_projections(&at.join(name)).unwrap().0;
    let (ours, exact) = (factors("factors.hs"), factors("scan_mult.hs"));
    let rms =
        ours.counts.iter().zip(&*exact.counts).map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>() / ours.counts.len() as f64;
    println!("factors: rms {:.2e} from the exact ones", rms.sqrt());
    assert!(rms.sqrt() < 0.03, "{}", rms.sqrt());
    // Twice the same map: the square.
    run(at, "attenuation events_mu.nii.gz --add events_mu.nii.gz --mu-unit per-cm --like scan.hs -o twice.hs");
    let twice = factors("twice.hs");
    assert!(twice.counts.iter().zip(&*ours.counts).all(|(twice, once)| (twice - once * once).abs() < 1e-5));
    // As factors and as a map: the same image.
    let usual = "--no-corrections --iterations 2 --subsets 1 --device cpu";
    run(at, &format!("reconstruct scan.hs {usual} --multiplicative factors.hs -o by_factors.nii.gz"));
    run(at, &format!("reconstruct scan.hs {usual} --attenuation events_mu.nii.gz -o by_map.nii.gz"));
    let [by_factors, by_map] = ["by_factors.nii.gz", "by_map.nii.gz"].map(|name| image(at, name));
    assert_eq!(by_factors.as_slice(), by_map.as_slice());
    write_projections(&at.join("copy.hs"), &ours).unwrap();
    assert_eq!(factors("copy.hs").counts, ours.counts);
}

#[test]
fn the_header_of_a_scan_alone_is_enough_for_factors() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e3 -o scan.hs");
    run(at, "simulate cylinder --scanner small --counts 1e3 --attenuation --list-mode -o events.petsird");
    run(at, "attenuation events_mu.nii.gz --like scan.hs -o with.hs");
    std::fs::remove_file(at.join("scan.s")).unwrap();
    run(at, "attenuation events_mu.nii.gz --like scan.hs -o without.hs");
    let factors = |name: &str| read_projections(&at.join(name)).unwrap().0;
    assert_eq!(factors("with.hs").counts, factors("without.hs").counts);
    // A header that is none, and one that is missing.
    let header = std::fs::read_to_string(at.join("scan.hs")).unwrap();
    std::fs::write(at.join("cut.hs"), header.replace("!matrix size [3]", "!size [3]")).unwrap();
    let text = refuse(at, 1, "attenuation events_mu.nii.gz --like cut.hs -o no.hs");
    assert!(text.contains("cut.hs") && text.contains("matrix size [3]"), "{text}");
    refuse(at, 1, "attenuation events_mu.nii.gz --like missing.hs -o no.hs");
    assert!(!at.join("no.hs").exists());
}

#[test]
fn the_map_of_a_bed_is_added_to_that_of_the_object() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e5 --seed 2 --attenuation -o scan.hs");
    run(at, "simulate cylinder --scanner small --counts 3e4 --seed 2 --attenuation --list-mode -o events.petsird");
    // A slab of 20 mm under the phantom, on another grid, and the object with twice its µ.
    let object = image(at, "events_mu.nii.gz");
    let bed = Volume {
        unit: object.unit,
        ..Volume::filled(Grid::new([10, 2, 3], [8.0, 10.0, 40.0], [-36.0, 40.0, -40.0]).unwrap(), 0.05)
    };
    write_volume(&at.join("bed.nii.gz"), &bed).unwrap();
    let mut double = object.clone();
    double.as_mut_slice().iter_mut().for_each(|value| *value *= 2.0);
    write_volume(&at.join("double.nii.gz"), &double).unwrap();
    for scan in ["scan.hs --no-corrections", "events.petsird"] {
        let usual = "--iterations 2 --subsets 1 --image 21,21,7 --voxel-mm 7,7,6 --device cpu";
        let reconstructed = |maps: &str| {
            let text = notices(at, &format!("reconstruct {scan} --attenuation {maps} {usual} -o image.nii.gz"));
            (image(at, "image.nii.gz"), text)
        };
        // Twice the same map is one of twice the µ.
        let (twice, _) = reconstructed("events_mu.nii.gz --add-attenuation events_mu.nii.gz");
        let (double, _) = reconstructed("double.nii.gz");
        let differs = twice.as_slice().iter().zip(double.as_slice()).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(differs < 1e-4 * largest(&double), "{scan}: {differs} of {}", largest(&double));
        assert_eq!(record(at, "image.nii.gz.json")["corrections"].get("added_attenuation"), None);
        let (alone, _) = reconstructed("events_mu.nii.gz");
        let (with_bed, _) = reconstructed("events_mu.nii.gz --add-attenuation bed.nii.gz --mu-unit per-cm");
        assert!(with_bed.sum() > 1.02 * alone.sum(), "{scan}: {} {}", with_bed.sum(), alone.sum());
        let corrections = &record(at, "image.nii.gz.json")["corrections"];
        assert_eq!(corrections["attenuation"], "events_mu.nii.gz");
        assert_eq!(corrections["added_attenuation"], serde_json::json!(["bed.nii.gz"]));
        // The sensitivity of the list and the factors of the sinogram are stored.
        let (again, text) = reconstructed("events_mu.nii.gz --add-attenuation bed.nii.gz --mu-unit per-cm");
        assert!(again.as_slice() == with_bed.as_slice() && text.contains("read from the cache"), "{text}");
    }
    // As the factors of both.
    run(at, "attenuation events_mu.nii.gz --add bed.nii.gz --mu-unit per-cm --like scan.hs -o factors.hs");
    let usual = "--no-corrections --iterations 2 --subsets 1 --device cpu";
    run(at, &format!("reconstruct scan.hs {usual} --multiplicative factors.hs -o by_factors.nii.gz"));
    let maps = "--attenuation events_mu.nii.gz --add-attenuation bed.nii.gz --mu-unit per-cm";
    run(at, &format!("reconstruct scan.hs {usual} {maps} -o by_maps.nii.gz"));
    assert!(image(at, "by_factors.nii.gz").as_slice() == image(at, "by_maps.nii.gz").as_slice());
    // Names of files are personal.
    run(at, &format!("reconstruct scan.hs {usual} {maps} --anonymise -o anonymous.nii.gz"));
    assert!(!record(at, "anonymous.nii.gz.json").to_string().contains("bed.nii.gz"));
    let text = refuse(at, 2, "reconstruct scan.hs --add-attenuation bed.nii.gz -o no.nii.gz");
    assert!(text.contains("--attenuation"), "{text}");
}

#[test]
fn a_map_that_ends_inside_the_field_of_view_is_reported() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    run(at, "simulate cylinder --scanner small --counts 1e5 --attenuation -o scan.hs");
    let usual = "--no-corrections --iterations 1 --subsets 4 --image 23,23,8 --voxel-mm 6,6,5 --device cpu";
    let map = |half_mm: f64| {
        let grid = Grid::centred([40, 40, 10], [5.0, 5.0, 0.2 * half_mm]).unwrap();
        write_volume(&at.join("mu.nii.gz"), &Volume { unit: Unit::PerCm, ..Volume::filled(grid, 0.096) }).unwrap();
        notices(at, &format!("reconstruct scan.hs --attenuation mu.nii.gz {usual} -o image.nii.gz"))
    };
    // The image ends at ±20 mm.
    let text = map(20.0);
    assert!(!text.contains("ends inside the field of view"), "{text}");
    let text = map(12.0);
    let expected = "attenuation map mu.nii.gz ends inside the field of view: 8.0 mm at −z, 8.0 mm at +z without map, \
                    50.0 % of its voxels, count as air";
    assert!(text.contains(expected) && text.contains("0.096 /cm at −z"), "{text}");
}
