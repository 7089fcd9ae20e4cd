//! `tomoscope info --json`: figures for scripts, of every kind of file.

use serde_json::{Value, json};
use tomoscope::io::{read_projections, read_sweep, read_volume};

use super::{done, failed};

#[test]
fn every_kind_of_file_is_told_in_figures() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |arguments: &str| done(at, &arguments.split(' ').collect::<Vec<_>>());
    let info = |name: &str| serde_json::from_str::<Value>(&run(&format!("info --json {name}"))).unwrap();
    run("simulate cylinder --scanner small --counts 1e4 --truth truth.nii --rois rois.toml -o scan.hs");
    run("simulate ball --epri 66 --points 32 -o ball.sweep");
    std::fs::write(at.join("a.csv"), "run,iteration,subset,roi,quantity,value,unit\n1,1,0,A,mean,2.5,a.u.\n").unwrap();

    let (of, (data, _)) = (info("scan.hs"), read_projections(&at.join("scan.hs")).unwrap());
    assert_eq!((&of["kind"], &of["file"], &of["notices"]), (&json!("projection-data"), &json!("scan.hs"), &json!([])));
    assert_eq!((&of["num_bins"], &of["total"]), (&json!(data.counts.len()), &json!(data.total())));
    assert_eq!(of["segments"].as_array().unwrap().len(), data.geometry.segments.len());
    assert_eq!(of["range"][1], json!(data.counts.iter().copied().fold(0.0, f32::max)));

    let (of, (volume, _)) = (info("truth.nii"), read_volume(&at.join("truth.nii")).unwrap());
    assert_eq!((&of["kind"], &of["grid"]["size"]), (&json!("image"), &json!(volume.grid.size)));
    assert_eq!((&of["grid"]["voxel_mm"], &of["unit"]), (&json!([3.0, 3.0, 2.5]), &json!("counts/mm")));
    assert_eq!((&of["total"], &of["not_finite"]), (&json!(volume.sum()), &json!(0)));

    let (of, sweep) = (info("ball.sweep"), read_sweep(&at.join("ball.sweep"), None).unwrap());
    assert_eq!((&of["kind"], &of["acquisition"]), (&json!("sweep"), &json!({"kind": "pulse"})));
    assert_eq!(of["space"], json!("3D"));
    assert_eq!((&of["projections"], &of["samples"], &of["step_mm"]), (&json!(66), &json!(32), &json!(sweep.measured.step_mm)));

    let of = info("rois.toml");
    let roi = &of["rois"][0];
    assert!(roi["name"].is_string() && roi["centre_mm"].as_array().unwrap().len() == 3, "{of}");
    assert_eq!(info("a.csv")["rows"], json!(1));
    let of = info("truth.nii.json");
    assert_eq!((&of["made"], &of["data"]["file"]), (&json!("true-image"), &json!("scan.hs")));
    // As earlier versions called it.
    std::fs::copy(at.join("truth.nii.json"), at.join("truth.json")).unwrap();
    assert_eq!(info("truth.json")["made"], json!("true-image"));
    assert!(run("info truth.json").contains("provenance record (JSON)"));
    std::fs::write(at.join("scan.calibration.toml"), "version = 1\nbq_per_ml = 52300.0\n").unwrap();
    assert_eq!(info("scan.calibration.toml")["bq_per_ml"], json!(52300.0));
    failed(at, "io.not-found", &["info", "nothing.hs"]);
}
