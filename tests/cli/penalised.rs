//! Algorithms that climb to the maximum of a penalised likelihood: table, record and progress.

use serde_json::Value;
use tomoscope::io::measurements::read_measurements;
use tomoscope::io::read_volume;

use super::{done, refused, tomoscope};

#[test]
fn objective_update_and_steps_are_in_table_record_and_progress() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |arguments: &str| done(at, &arguments.split(' ').collect::<Vec<_>>());
    run("simulate cylinder --scanner small --counts 2e5 -o scan.hs");
    let arguments =
        "reconstruct scan.hs -o image.nii --algorithm svrg --beta 1 --kappa none --subsets 4 --iterations 5 --csv table.csv";
    let output = tomoscope(at, &arguments.split(' ').collect::<Vec<_>>());
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    let rows = read_measurements(&at.join("table.csv")).unwrap();
    let of = |quantity: &str| -> Vec<([usize; 2], f64)> {
        let rows = rows.iter().filter(|row| row.quantity == quantity);
        rows.map(|row| ([row.iteration, row.subset], row.value)).collect()
    };
    // Every second iteration begins with all data.
    let objective = of("objective");
    assert_eq!(objective.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [[0, 0], [2, 0], [4, 0]]);
    assert!(objective.windows(2).all(|pair| pair[1].1 >= pair[0].1), "{objective:?}");
    for ((number, value), (data, penalty)) in objective.iter().zip(of("data_term").iter().zip(of("penalty"))) {
        assert_eq!((*number, *number), (data.0, penalty.0));
        assert!(*value == data.1 - penalty.1 && penalty.1 > 0.0, "{value}: {data:?} {penalty:?}");
    }
    let [update, step_size, num_halved] = ["update", "step_size", "num_halved"].map(of);
    assert!(update.len() == 20 && update.iter().all(|(_, value)| *value > 0.0), "{update:?}");
    assert!(update[19].1 < 0.5 * update[0].1, "the steps shrink: {update:?}");
    assert_eq!(step_size.iter().map(|(_, value)| *value).collect::<Vec<_>>(), [1.5; 20]);
    assert!(num_halved.iter().all(|(_, value)| *value == 0.0), "{num_halved:?}");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(at.join("image.nii.json")).unwrap()).unwrap();
    let ascent = &record["algorithm"]["ascent"];
    assert_eq!(ascent["objective"]["of_subiteration"], 16, "{record}");
    let total = ascent["objective"]["data_term"].as_f64().unwrap() - ascent["objective"]["penalty"].as_f64().unwrap();
    assert_eq!((total, ascent["update"].as_f64(), &ascent["num_halved"]), (objective[2].1, Some(update[19].1), &0.into()));
    let last = printed.lines().find(|line| line.contains("iteration 5 of 5")).unwrap();
    assert!(
        last.contains(", update 1.")
            && last.contains(", optimality residual 0.")
            && last.contains(" %, objective -")
            && last.contains("after iteration 4 (penalty "),
        "{last}"
    );
}

#[test]
fn a_strength_that_the_run_finds_is_printed_and_in_the_record() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |arguments: &str| done(at, &arguments.split(' ').collect::<Vec<_>>());
    run("simulate cylinder --scanner small --counts 2e5 -o scan.hs");
    let record = |name: &str| -> Value { serde_json::from_str(&std::fs::read_to_string(at.join(name)).unwrap()).unwrap() };
    let printed = run("reconstruct scan.hs -o image.nii --algorithm svrg --beta auto --iterations 2");
    let algorithm = &record("image.nii.json")["algorithm"];
    let strength = algorithm["ascent"]["beta_found"].as_f64().unwrap();
    assert!(printed.contains(&format!("strength of the penalty, from --beta auto: {strength:.4e}")), "{printed}");
    assert_eq!(algorithm["beta"], "auto");
    // About 0.5 % of the values of the image: 0.1 over the weights of 26 neighbours.
    let image = read_volume(&at.join("image.nii")).unwrap().0;
    let [nx, ny, nz] = image.grid.size;
    let middle = image.values.slice(ndarray::s![nz / 2 - 2..nz / 2 + 3, ny / 2 - 4..ny / 2 + 5, nx / 2 - 4..nx / 2 + 5]);
    let part = strength / f64::from(middle.mean().unwrap());
    assert!((0.004..0.0065).contains(&part), "{part}");
    let message = refused(at, 2, &["reconstruct", "scan.hs", "-o", "b.nii", "--algorithm", "svrg", "--beta", "strong"]);
    assert!(message.contains("or auto"), "{message}");
}

#[test]
fn kappa_of_a_file_has_the_grid_of_the_image() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |arguments: &str| done(at, &arguments.split(' ').collect::<Vec<_>>());
    run("simulate cylinder --scanner small --counts 2e5 -o scan.hs");
    run("reconstruct scan.hs -o kappa.nii --iterations 1");
    run("reconstruct scan.hs -o coarse.nii --iterations 1 --image 24,24,8 --voxel-mm 6,6,5");
    let svrg = "reconstruct scan.hs --algorithm svrg --beta 1 --subsets 4 --iterations 1 --kappa";
    run(&format!("{svrg} kappa.nii -o of-file.nii"));
    run(&format!("{svrg} none -o of-ones.nii"));
    let [of_file, of_ones] = ["of-file.nii", "of-ones.nii"].map(|name| std::fs::read(at.join(name)).unwrap());
    assert_ne!(of_file, of_ones);
    let record: Value = serde_json::from_str(&std::fs::read_to_string(at.join("of-file.nii.json")).unwrap()).unwrap();
    assert_eq!(record["algorithm"]["kappa"], "file");
    let message = refused(at, 1, &format!("{svrg} coarse.nii -o b.nii").split(' ').collect::<Vec<_>>());
    assert!(message.contains("κ of the file has 24 × 24 × 8 voxels"), "{message}");
    let message = refused(at, 1, &format!("{svrg} file -o b.nii").split(' ').collect::<Vec<_>>());
    assert!(message.contains("choose --kappa FILE, auto or none"), "{message}");
    refused(at, 1, &format!("{svrg} nowhere.nii -o b.nii").split(' ').collect::<Vec<_>>());
}

#[test]
fn halved_steps_are_reported_once() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    done(at, &"simulate cylinder --scanner small --counts 2e5 -o scan.hs".split(' ').collect::<Vec<_>>());
    let arguments =
        "reconstruct scan.hs -o image.nii --algorithm svrg --beta 1 --kappa none --subsets 4 --iterations 9 --step-size 200";
    let output = tomoscope(at, &arguments.split(' ').collect::<Vec<_>>());
    let printed = String::from_utf8_lossy(&output.stderr);
    assert_eq!(printed.matches("returned to the image before and halved its steps").count(), 1, "{printed}");
    let record: Value = serde_json::from_str(&std::fs::read_to_string(at.join("image.nii.json")).unwrap()).unwrap();
    assert!(record["algorithm"]["ascent"]["num_halved"].as_u64().unwrap() > 1, "{record}");
}

#[test]
fn the_distance_from_a_converged_image_is_in_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let run = |arguments: &str| done(at, &arguments.split(' ').collect::<Vec<_>>());
    run("simulate cylinder --scanner small --counts 2e5 -o scan.hs");
    let roi = |name: &str, role: &str, x: f64| {
        format!(
            "[[roi]]\nname = \"{name}\"\nshape = \"sphere\"\ncentre_mm = [{x:.1}, 0.0, 0.0]\nradius_mm = 8.0\nrole = \"{role}\"\n"
        )
    };
    std::fs::write(at.join("rois.toml"), format!("version = 1\n{}{}", roi("a", "background", 0.0), roi("b", "cold", -15.0)))
        .unwrap();
    run("reconstruct scan.hs -o converged.nii --subsets 4 --iterations 6");
    run(
        "reconstruct scan.hs -o image.nii --subsets 4 --iterations 6 --reference-image converged.nii --rois rois.toml --csv table.csv",
    );
    let rows = read_measurements(&at.join("table.csv")).unwrap();
    for quantity in ["object_rmse", "background_rmse", "region_error"] {
        let values: Vec<f64> = rows.iter().filter(|row| row.quantity == quantity).map(|row| row.value).collect();
        assert!(values.len() == 6 && values[0] > 0.01 && values[5] < 1e-6, "{quantity}: {values:?}");
    }
}
