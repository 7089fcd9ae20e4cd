//! `tomoscope reconstruct --algorithm tv --spectral-samples`: a spectrum in each voxel of continuous-wave acquisitions; `linewidth`: its lines.

use tomoscope::data::{Roi, RoiShape, SweepKind, Volume};
use tomoscope::io::measurements::read_measurements;
use tomoscope::io::nifti::{self, Spectra};
use tomoscope::io::rois::write_rois;
use tomoscope::io::{read_sweep, read_volume, write_sweep, write_volume};

use super::{done, failed, refused};

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

const WIDTHS: [f64; 6] = [0.12, 0.15, 0.18, 0.13, 0.16, 0.2];

/// A slice of six vials with lines of [`WIDTHS`], the third 0.1 mT off the middle.
const VIALS: &str = "simulate vials --epri 2d:16 --points 64 --extent-mm 60 --linewidths-mt 0.12,0.15,0.18,0.13,0.16,0.2 \
                     --positions-mt 0,0,0.1,0,0,-0.1 --sweep-mt 3.2 --gradients 6 --noise-fraction 0.002";

#[test]
fn lines_of_vials_have_their_widths_and_positions() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |line: &str| done(at, &words(line));
    run(&format!("{VIALS} --truth truth.nii --image 16,16,1 --voxel-mm 2,2,2 -o scan.sweep"));
    let printed = run(
        "reconstruct scan.sweep --algorithm tv --spectral-samples 64 --lambda 1 --iterations 250 --image 16,16 --voxel-mm 2,2 -o out.nii.gz --device cpu",
    );
    assert!(printed.contains("out_spectra.nii.gz: spectra of 64 samples, 0.0500 mT apart"), "{printed}");
    let Spectra { samples, axis } = nifti::read_spectra(&at.join("out_spectra.nii.gz")).unwrap().0;
    assert_eq!((samples.len(), axis.num_samples), (64, 64));
    assert!((axis.step_mt - 0.05).abs() < 1e-6 && (axis.first_mt + 1.6).abs() < 1e-6, "{axis:?}");
    let record: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(at.join("out_spectra.nii.gz.json")).unwrap()).unwrap();
    assert_eq!((&record["algorithm"]["spectral_samples"], &record["spectra"]["num_samples"]), (&64.into(), &64.into()));
    // The image beside it has the height of the spectra.
    let image = |name: &str| read_volume(&at.join(name)).unwrap().0;
    let amplitude = image("out.nii.gz");
    let height = |voxel: usize| {
        let values = samples.iter().map(|sample| sample.as_slice()[voxel]);
        values.clone().fold(f32::MIN, f32::max) - values.fold(f32::MAX, f32::min)
    };
    assert!((0..256).all(|voxel| (amplitude.as_slice()[voxel] - height(voxel)).abs() < 1e-6));

    let printed = run("linewidth out_spectra.nii.gz --calibration eprit-llw -o map.nii.gz");
    assert!(printed.contains("voxels fitted") && printed.contains("masked: below the mask"), "{printed}");
    let (widths, positions, po2) = (image("map_linewidth.nii.gz"), image("map_position.nii.gz"), image("map_pO2.nii.gz"));
    assert_eq!(widths.unit.label(), "mT");
    // The phantom is scaled to 86 %, so that the vials are 8.6 mm from the middle.
    for (k, width) in WIDTHS.into_iter().enumerate() {
        let angle = std::f64::consts::TAU * k as f64 / 6.0;
        let voxel = [angle.cos(), angle.sin()].map(|c| (8.0 + 8.6 * c / 2.0).round() as usize);
        let value = |map: &Volume| f64::from(map.values[[0, voxel[1], voxel[0]]]);
        let expected = [0.0, 0.0, 0.1, 0.0, 0.0, -0.1][k];
        println!("{k}: width {:.3} of {width}, position {:.3} of {expected}", value(&widths), value(&positions));
        assert!((value(&widths) / width - 1.0).abs() < 0.17, "{k}: {} {width}", value(&widths));
        assert!((value(&positions) - expected).abs() < 0.02, "{k}: {} {expected}", value(&positions));
        // LLW of half the width, mG: 1 mT = 10 000 mG.
        let llw = 0.5e4 * value(&widths);
        assert!((value(&po2) / (1.84 * (llw - 10.2)) - 1.0).abs() < 1e-3, "{} {llw}", value(&po2));
    }

    // A region with voxels beside the vial: its table and file have the fitted ones, and the others by cause.
    let region = Roi::new("vial 1", RoiShape::Sphere { radius_mm: 5.0 }, [8.6, 0.0, 0.0]);
    write_rois(&at.join("vial.toml"), std::slice::from_ref(&region)).unwrap();
    let printed = run("linewidth out_spectra.nii.gz --rois vial.toml --csv lines.csv -o again.nii.gz");
    assert!(printed.contains("vial 1") && printed.contains("linewidth (mT)") && printed.contains("lines.csv"), "{printed}");
    let rows = read_measurements(&at.join("lines.csv")).unwrap();
    let of = |quantity: &str| rows.iter().find(|row| row.roi == "vial 1" && row.quantity == quantity).unwrap().value;
    let mask = region.mask(&widths.grid);
    let values = mask.voxels.iter().map(|(index, weight)| (f64::from(widths.as_slice()[*index as usize]), f64::from(*weight)));
    let fitted: Vec<(f64, f64)> = values.filter(|(value, _)| value.is_finite()).collect();
    assert!(!fitted.is_empty() && fitted.len() < mask.voxels.len());
    let others = ["num_below_mask", "num_out_of_range", "num_unresolved", "num_not_converged"].map(&of);
    assert!(of("num_below_mask") > 0.0, "{others:?}");
    assert_eq!((of("num_fitted"), others.iter().sum()), (fitted.len() as f64, (mask.voxels.len() - fitted.len()) as f64));
    // The mean is weighted by the standard deviations, and by 1 % of the median.
    let deviations = image("again_linewidth_sd.nii.gz");
    let precise = mask.voxels.iter().filter_map(|(index, weight)| {
        let [value, deviation] = [&widths, &deviations].map(|map| f64::from(map.as_slice()[*index as usize]));
        let variance = deviation.powi(2) + (0.01 * of("linewidth_median")).powi(2);
        value.is_finite().then_some([value, f64::from(*weight) / variance])
    });
    let [sum, weight] = precise.fold([0.0; 2], |[sum, all], [value, weight]| [sum + value * weight, all + weight]);
    assert!((of("linewidth_mean") / (sum / weight) - 1.0).abs() < 1e-5, "{} {}", of("linewidth_mean"), sum / weight);
    // The largest gradient is 3.2 mT over 60 mm.
    assert!((of("resolution") / (of("linewidth_mean") / (3.2 / 60.0)) - 1.0).abs() < 1e-6, "{}", of("resolution"));
    assert!(printed.contains("Γ/g (mm)") && printed.contains("mean residual"), "{printed}");
    assert!(at.join("lines.csv.json").exists());
    let figures: serde_json::Value =
        serde_json::from_str(&run("linewidth out_spectra.nii.gz --rois vial.toml --json -o again.nii.gz")).unwrap();
    let of_vial = &figures["regions"][1];
    assert_eq!((&of_vial["region"], &of_vial["voxels"]["fitted"]), (&"vial 1".into(), &fitted.len().into()));
    assert!((of_vial["lines"]["linewidth"]["mean"].as_f64().unwrap() / (sum / weight) - 1.0).abs() < 1e-5);

    // Only the mask; differences along the spectra make them smoother.
    let line = "reconstruct scan.sweep --algorithm tv --spectral-samples 16 --lambda 1 --iterations 20 --image 16,16 --voxel-mm 2,2 --device cpu";
    run(&format!("{line} --mask truth.nii -o masked.nii"));
    let (masked, truth) = (image("masked.nii"), image("truth.nii"));
    let outside = |(value, inside): (&f32, &f32)| *inside == 0.0 && *value != 0.0;
    assert!(!masked.as_slice().iter().zip(truth.as_slice()).any(outside));
    let roughness = |name: &str| {
        let samples = nifti::read_spectra(&at.join(name)).unwrap().0.samples;
        let pairs = samples.windows(2).flat_map(|pair| pair[0].as_slice().iter().zip(pair[1].as_slice()).collect::<Vec<_>>());
        pairs.map(|(a, b)| f64::from((a - b).abs())).sum::<f64>()
    };
    run(&format!("{line} -o free.nii"));
    run(&format!("{line} --lambda-spectral 5 -o smooth.nii"));
    let [smooth, free] = ["smooth_spectra.nii", "free_spectra.nii"].map(roughness);
    assert!(smooth < 0.95 * free, "{smooth} {free}");
    let mut empty = truth.clone();
    empty.as_mut_slice().fill(0.0);
    write_volume(&at.join("empty.nii"), &empty).unwrap();
    let said = failed(at, "reconstruction", &words(&format!("{line} --mask empty.nii -o no.nii")));
    assert!(said.contains("the mask has no value above 0"), "{said}");
}

#[test]
fn acquisitions_and_options_without_spectra_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &words(&format!("{VIALS} -o scan.sweep")));
    done(at, &words("simulate disc --epri 2d:20 --points 32 -o pulse.sweep"));
    let line = "--algorithm tv --spectral-samples 16 --image 8,8 --voxel-mm 4,4 --device cpu";
    for (rest, part) in [
        ("scan.sweep --lambda 0 -o no.nii", "lambda"),
        ("scan.sweep --lambda-spectral -1 -o no.nii", "lambda-spectral"),
        ("scan.sweep -o no.npy", "must end in .nii"),
    ] {
        let said = refused(at, 2, &words(&format!("reconstruct {rest} {line}")));
        assert!(said.contains(part), "{rest}: {said}");
    }
    let settings = "reconstruction";
    failed(at, settings, &words(&format!("reconstruct scan.sweep {line} --positivity -o no.nii")));
    let many = line.replace("samples 16", "samples 65");
    failed(at, settings, &words(&format!("reconstruct scan.sweep {many} -o no.nii")));
    let data = "reconstruction";
    let said = failed(at, data, &words(&format!("reconstruct pulse.sweep {line} -o no.nii")));
    assert!(said.contains("pulse data have no spectrum"), "{said}");
    // Filtered backprojection needs gradients of one size.
    failed(at, data, &words("reconstruct scan.sweep -o no.nii --device cpu"));
    // Without the smaller gradients.
    let mut study = read_sweep(&at.join("scan.sweep"), None).unwrap();
    assert_eq!(study.measured.num_gradient_sizes(), 7);
    let sizes = |length: f64| {
        study.measured.projections.iter().filter(|p| (p.direction[0].hypot(p.direction[1]) - length).abs() < 1e-9).count()
    };
    assert_eq!([sizes(0.0), sizes(0.5), sizes(1.0)], [1, 16, 16]);
    let SweepKind::ContinuousWave { gradient_mt_per_mm, .. } = study.measured.kind else { panic!("pulses") };
    assert!((gradient_mt_per_mm - 3.2 / 60.0).abs() < 1e-12);
    study.measured.projections.retain(|p| p.direction[0].hypot(p.direction[1]) > 0.99);
    study.measured.num_expected = Some(16);
    write_sweep(&at.join("one.sweep"), &study).unwrap();
    let said = failed(at, data, &words(&format!("reconstruct one.sweep {line} -o no.nii")));
    assert!(said.contains("all gradients have one size"), "{said}");
    // A sweep of the field that ends inside the lines.
    done(at, &words("simulate disc --epri 2d:8 --points 32 --extent-mm 21 --linewidths-mt 0.5 --sweep-mt 1 -o narrow.sweep"));
    let output = super::tomoscope(at, &words(&format!("reconstruct narrow.sweep {line} --iterations 2 -o narrow.nii")));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("aliasing"), "{said}");
    assert!(!at.join("no.nii").exists());
}
