//! `tomoscope simulate --epri` and `tomoscope info` of sweeps.

use super::ends::{ended, kill, put_roi, start, wait_for_rows};
use super::scans::{leave_unmeasured, put_complex};
use super::{done, failed, refused, tomoscope};

#[test]
fn a_sweep_is_simulated_and_described() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let arguments = "simulate bottle --epri 66 --points 64 --extent-mm 48 --noise-fraction 0.01 --order spaced --truth truth.nii --rois rois.toml -o a.sweep";
    let printed = done(at, &arguments.split(' ').collect::<Vec<_>>());
    assert!(printed.contains("66 projections of 64 samples, 0.75000 mm apart"), "{printed}");
    let about = done(at, &["info", "a.sweep"]);
    for part in
        ["EPRI acquisition (tomoscope)", "projections            66\n", "64 of 0.75000 mm, t = 0 at 32", "1.00000 × 2π", "pulse"]
    {
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
        ("simulate ball --epri 66 -o a.hs", 2, ".sweep"),
        ("simulate ball --epri 66 --counts 5 -o a.sweep", 2, "--counts"),
        ("simulate ball --epri 66 --scanner small -o a.sweep", 2, "--scanner"),
        ("simulate ball -o a.sweep", 2, "--scanner"),
        ("simulate ball --scanner small -o a.hs", 2, "no phantom 'ball'"),
        ("simulate cylinder --scanner small --points 5 -o a.hs", 2, "--points"),
        ("simulate cylinder --epri 66 -o a.sweep", 2, "no EPRI phantom 'cylinder'"),
        ("simulate banana --epri 66 -o a.sweep", 2, "bottle"),
        ("simulate ball --epri 66 --points 2 -o a.sweep", 2, "3 to"),
        ("simulate ball --epri 66 --extent-mm=-4 -o a.sweep", 2, "above 0"),
        ("simulate ball --epri 66 --extent-mm 0 -o a.sweep", 2, "above 0"),
        ("simulate ball --epri 66 --noise-fraction nan -o a.sweep", 2, "at least 0"),
        ("simulate ball --epri 66 --image 0,1,1 --truth a.nii -o a.sweep", 2, "at least 1"),
    ] {
        let said = refused(folder.path(), code, &arguments.split(' ').collect::<Vec<_>>());
        assert!(said.contains(words), "{arguments}: {said}");
    }
    assert_eq!(folder.path().read_dir().unwrap().count(), 0, "something was written all the same");
}

#[test]
fn a_real_scan_is_described() {
    let Some(scan) = super::data::data_file("epri/fusillo-20091002-proj.DSC") else { return };
    let about = done(std::path::Path::new("."), &["info", scan.to_str().unwrap()]);
    for part in [
        "Bruker BES3T",
        "961\n",
        "500 of 0.18929 mm",
        "continuous wave",
        "0.14 mT/mm (14 G/cm)",
        "500 samples of 0.02650 mT",
        "24.505723 s",
        "94.64 mm, which the image spans unless asked otherwise",
        "20 mm, as the acquisition was planned",
    ] {
        assert!(about.contains(part), "'{part}' is missing in:\n{about}");
    }
}

#[test]
fn a_simulated_ball_is_reconstructed_by_every_program() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "ball", "--epri", "208", "-o", "ball.sweep"]);
    let grid = "--image 32,30,28 --voxel-mm 1,1,1 --device cpu";
    for (more, program) in [
        ("--algorithm fbp", "single-stage\n"),
        ("--order spaced --interpolation cubic", "single-stage\n"),
        ("--kernel paper", "one thread, double precision"),
        ("--algorithm fbp-multistage", "multi-stage"),
    ] {
        let arguments = format!("reconstruct ball.sweep -o out.nii {grid} {more}");
        let said = done(folder, &arguments.split(' ').collect::<Vec<_>>());
        assert!(said.contains(program) && said.contains("filter three-point"), "{said}");
        let (volume, _) = tomoscope::io::read_volume(&folder.join("out.nii")).unwrap();
        let centre = volume.values[[14, 15, 16]];
        assert!((centre - 1.0).abs() < 0.02, "{more}: {centre}");
    }
}

#[test]
fn an_image_has_the_gradients_axes_and_gives_its_grid_to_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "bottle", "--epri", "66", "-o", "a.sweep", "--truth", "truth.nii"]);
    let arguments = "reconstruct a.sweep -o first.nii --image 12,14,15 --voxel-mm 2,2.5,3 --device cpu";
    done(folder, &arguments.split(' ').collect::<Vec<_>>());
    done(folder, &"reconstruct a.sweep -o again.nii.gz --like first.nii --device cpu".split(' ').collect::<Vec<_>>());
    done(folder, &"reconstruct a.sweep -o twice.hv --like again.nii.gz --device cpu".split(' ').collect::<Vec<_>>());
    let [first, again, twice] =
        ["first.nii", "again.nii.gz", "twice.hv"].map(|name| tomoscope::io::read_volume(&folder.join(name)).unwrap().0);
    assert_eq!((&first.grid, first.as_slice()), (&again.grid, again.as_slice()));
    assert_eq!(first.as_slice(), twice.as_slice());
    for image in ["first.nii", "truth.nii"] {
        let bytes = std::fs::read(folder.join(image)).unwrap();
        let diagonal = [280, 300, 320].map(|at| f32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
        assert!(diagonal.iter().all(|&step| step > 0.0), "{image}: {diagonal:?}");
    }
}

#[test]
fn complex_spectra_are_reconstructed_at_a_phase() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    put_complex(folder);
    let about = done(folder, &["info", "a-proj.DSC"]);
    assert!(about.contains("turned by 35.00°, found from the data; 0.00 % of the energy is left"), "{about}");
    assert!(about.contains("reference spectrum are turned by -60.00°"), "{about}");
    let about: serde_json::Value = serde_json::from_str(&done(folder, &["info", "--json", "a-proj.DSC"])).unwrap();
    let phase = &about["phase"];
    assert!((phase["degrees"].as_f64().unwrap() - 35.0).abs() < 1e-3 && phase["is_automatic"] == true, "{about}");
    let image = |name: &str, phase: &[&str]| {
        let arguments = ["reconstruct", "a-proj.DSC", "-o", name, "--image", "9,9,9", "--device", "cpu"];
        done(folder, &[&arguments[..], phase].concat());
        tomoscope::io::read_volume(&folder.join(name)).unwrap().0.values[[4, 4, 4]]
    };
    let (own, asked_for, turned) =
        (image("a.nii", &[]), image("b.nii", &["--phase", "35"]), image("c.nii", &["--phase", "-145"]));
    assert!(own > 0.0 && (asked_for / own - 1.0).abs() < 1e-4 && (turned / own + 1.0).abs() < 1e-4, "{own} {asked_for} {turned}");
    let said = refused(folder, 2, &["reconstruct", "a-proj.DSC", "-o", "d.nii", "--phase", "east"]);
    assert!(said.contains("auto or degrees"), "{said}");
    done(folder, &["simulate", "ball", "--epri", "66", "-o", "ball.sweep"]);
    let said = failed(folder, "io.unsupported.epri", &["reconstruct", "ball.sweep", "-o", "d.nii", "--phase", "5"]);
    assert!(said.contains("its values are real"), "{said}");
}

#[test]
fn a_slice_is_simulated_reconstructed_and_refuses_what_a_volume_needs() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    let run = |arguments: &str| done(folder, &arguments.split(' ').collect::<Vec<_>>());
    let printed = run("simulate disc --epri 2d:60 --truth truth.nii --rois rois.toml -o disc.sweep");
    assert!(printed.contains("a slice, 60 equal angles") && printed.contains("60 projections"), "{printed}");
    assert!(run("info truth.nii").contains("128 × 128 × 1 of 0.3125"));
    assert!(run("info rois.toml").contains("circle"));
    let about = run("info disc.sweep");
    for part in ["image                  2D, axes x and y\n", "1.00000 × π"] {
        assert!(about.contains(part), "'{part}' is missing in:\n{about}");
    }
    for (grid, output, size) in [
        ("", "out.nii", "128 × 128 × 1 of 0.3125 × 0.3125 × 0.3125"),
        (" --image 64,60", "out.nii.gz", "64 × 60 × 1 of 0.6250 × 0.6667 × 0.6250"),
        (" --voxel-mm 0.5,0.5", "out.hv", "80 × 80 × 1 of 0.5000"),
        (" --image 50,50,1 --voxel-mm 1,1,2", "out.nii", "50 × 50 × 1 of 1.0000 × 1.0000 × 2.0000"),
        (" --like truth.nii", "out.nii", "128 × 128 × 1 of 0.3125"),
        (" --image 40,40 --voxel-mm 1,1 --kernel paper --filter hamming", "out.hv", "40 × 40 × 1 of 1.0000"),
    ] {
        run(&format!("reconstruct disc.sweep -o {output} --device cpu{grid}"));
        let about = run(&format!("info {output}"));
        assert!(about.contains(size), "{grid}: {about}");
        let (volume, _) = tomoscope::io::read_volume(&folder.join(output)).unwrap();
        let [nx, ny, _] = volume.grid.size;
        let middle = volume.values[[0, ny / 2, nx / 2]];
        assert!((middle - 1.0).abs() < 0.03, "{grid}: {middle}");
    }
    let slice = ["reconstruct", "disc.sweep", "-o", "no.nii", "--device", "cpu"];
    failed(folder, "setup.image", &[&slice[..], &["--image", "20,20,4"]].concat());
    failed(folder, "setup.algorithm", &[&slice[..], &["--algorithm", "fbp-multistage"]].concat());
    assert!(refused(folder, 2, &[&slice[..], &["--image", "20"]].concat()).contains("numbers separated by commas"));
    run("simulate ball --epri 66 -o ball.sweep");
    let said = refused(folder, 2, &["reconstruct", "ball.sweep", "-o", "no.nii", "--image", "20,20"]);
    assert!(said.contains("--image has two numbers where a volume has three"), "{said}");
    assert!(!folder.join("no.nii").exists());
}

#[test]
fn regions_are_measured_after_every_block() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "tubes", "--epri", "66", "-o", "a.sweep", "--rois", "rois.toml"]);
    let arguments = "reconstruct a.sweep -o out.nii --image 24,24,24 --rois rois.toml --csv table.csv --device cpu";
    done(folder, &arguments.split(' ').collect::<Vec<_>>());
    let table = std::fs::read_to_string(folder.join("table.csv")).unwrap();
    for (iteration, projections) in [(0, 16), (0, 32), (0, 48), (0, 64), (1, 0)] {
        assert!(table.contains(&format!("\n1,{iteration},{projections},")), "{projections} projections: {table}");
    }
    assert!(table.contains("a.u."), "{table}");
}

#[cfg(unix)]
#[test]
fn a_file_is_followed_to_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "ball", "--epri", "66", "-o", "ball.sweep"]);
    let data = folder.join("ball.f32");
    let bytes = std::fs::read(&data).unwrap();
    std::fs::write(&data, &bytes[..bytes.len() / 3 + 10]).unwrap();
    put_roi(folder, 1);
    let arguments = "reconstruct ball.sweep -o out.nii --follow --image 16,16,16 --rois rois.toml --csv t.csv --device cpu";
    let program = start(folder, arguments);
    // The rest comes once the image holds something of what is there.
    wait_for_rows(&folder.join("t.csv"), 1);
    std::fs::write(&data, &bytes).unwrap();
    let (code, said, err) = ended(program);
    assert_eq!(code, Some(0), "{said}{err}");
    assert!(said.contains("out.nii: the image after 66 projections"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_file_that_was_allocated_in_advance_is_followed_only_as_far_as_it_is_measured() {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "ball", "--epri", "66", "-o", "ball.sweep"]);
    leave_unmeasured(&folder.join("ball.sweep"), 66, 20);
    // Opened as a whole: of the 20 that are there, and said so.
    let arguments = "reconstruct ball.sweep -o whole.nii --image 16,16,16 --device cpu";
    let output = tomoscope(folder, &arguments.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{said}");
    assert!(said.contains("whole.nii: the image after 20 projections"), "{said}");
    assert!(done(folder, &["info", "ball.sweep"]).contains("The last 46 of 66 projections are zero"));
    // Followed until Ctrl-C.
    let arguments = "reconstruct ball.sweep -o out.nii --follow --image 16,16,16 --device cpu";
    let mut command = Command::new(env!("CARGO_BIN_EXE_tomoscope"));
    let command = command.args(arguments.split(' ')).current_dir(folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut program = command.spawn().unwrap();
    let mut told = BufReader::new(program.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(told.any(|line| line.contains("was allocated in advance: its projections 21 to 66 are zero")));
    kill(program.id(), "INT");
    assert!(told.any(|line| line.contains("of 66 projections in") && line.contains("were not measured")));
    let said = String::from_utf8(program.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("out.nii: the image after 19 projections"), "{said}");
}

#[test]
fn algorithms_and_data_that_do_not_go_together_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    done(folder, &["simulate", "ball", "--epri", "66", "-o", "ball.sweep"]);
    let refusal =
        |code: i32, more: &[&str]| refused(folder, code, &[&["reconstruct", "ball.sweep", "-o", "out.nii"], more].concat());
    assert!(refusal(2, &["--algorithm", "osem"]).contains("by fbp, fbp-multistage or tv"));
    assert!(refusal(2, &["--cutoff", "1.5"]).contains("from 0.001 to 1"));
    assert!(
        refusal(2, &["--subsets", "7"]).contains("--subsets is for projection data and list-mode data; ball.sweep is an EPRI")
    );
    assert!(refusal(2, &["--accumulation", "atomic"]).contains("--accumulation is for projection data"));
    for (more, code) in [
        (&["--kernel", "paper"][..], "setup.algorithm"),
        (&["--follow"], "setup.algorithm"),
        (&["--device", "cuda"], "setup.device"),
    ] {
        let multistage = ["reconstruct", "ball.sweep", "-o", "out.nii", "--algorithm", "fbp-multistage"];
        failed(folder, code, &[&multistage[..], more].concat());
    }
}
