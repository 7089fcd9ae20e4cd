//! Outputs are looked at before anything is computed, and none costs a file that somebody needs.

use std::fs;
use std::path::Path;

use super::{done, refused, tomoscope};

/// A folder with a scan, its regions, an image, a sweep, and a header that shares its name with nothing.
fn folder_with_data() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    for arguments in [
        "simulate cylinder --scanner small --counts 1e5 --rois r1.toml -o s1.hs",
        "reconstruct s1.hs -o i1.hv --iterations 1 --voxel-mm 15,15,5 --device cpu",
        "simulate ball --epri 66 -o ball.sweep",
    ] {
        done(at, &arguments.split(' ').collect::<Vec<_>>());
    }
    // Another header whose data are called b.s.
    let header = fs::read_to_string(at.join("s1.hs")).unwrap().replace("s1.s", "b.s");
    fs::write(at.join("other.hs"), header).unwrap();
    fs::copy(at.join("s1.s"), at.join("b.s")).unwrap();
    fs::create_dir(at.join("folder.hv")).unwrap();
    folder
}

/// Names and contents of all files.
fn contents(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut all: Vec<_> = files.map(|path| (path.display().to_string(), fs::read(&path).unwrap())).collect();
    all.sort();
    all
}

#[test]
fn no_output_replaces_a_file_that_is_needed() {
    let folder = folder_with_data();
    let at = folder.path();
    #[cfg(unix)]
    std::os::unix::fs::symlink("s1.s", at.join("link.csv")).unwrap();
    let before = contents(at);
    let reconstruct = "reconstruct s1.hs --iterations 1 --device cpu";
    for (arguments, words) in [
        ("-o out.hv --trace s1.hs", "s1.hs, which this command reads"),
        ("-o out.hv --csv s1.s", "s1.s, which this command reads"),
        ("-o out.hv --csv ./s1.s", "which this command reads"),
        ("-o out.hv --rois r1.toml --csv r1.toml", "r1.toml, which this command reads"),
        ("-o out.hv --csv r1.toml", "a file of another kind"),
        ("-o out.hv --trace ball.sweep", "a file of another kind"),
        ("-o out.hv --csv b.s", "holds the data of"),
        ("-o out.hv --trace ball.f32", "ball.sweep"),
        ("-o i1.hv --init i1.hv", "which this command reads"),
        ("-o out.hv --csv out.v", "written twice"),
        ("-o out.hv --csv t.csv --trace ./t.csv", "both --csv and --trace"),
        ("-o out.hv --save-every 1 --csv out_it001.v", "--save-every"),
        ("-o folder.hv", "it is a folder"),
        ("-o nowhere/out.hv", "there is no folder nowhere"),
        #[cfg(target_os = "linux")]
        ("-o /proc/out.hv", "no file can be made in /proc"),
        #[cfg(unix)]
        ("-o out.hv --csv link.csv", "which this command reads"),
    ] {
        let said = refused(at, 1, &reconstruct.split(' ').chain(arguments.split(' ')).collect::<Vec<_>>());
        assert!(said.contains(words), "{arguments}: '{words}' is not in: {said}");
    }
    for (arguments, words) in [
        ("project i1.hv --like s1.hs -o b.hs", "holds the data of"),
        ("project i1.hv --like s1.hs -o s1.hs", "which this command reads"),
        ("backproject s1.hs --like i1.hv -o i1.hv", "which this command reads"),
        ("simulate cylinder --scanner small -o b.hs", "holds the data of"),
        ("simulate ball --epri 66 -o c.sweep --rois nowhere/c.toml", "there is no folder nowhere"),
        ("bench epri --size 8 --json s1.hs", "a file of another kind"),
    ] {
        let said = refused(at, 1, &arguments.split(' ').collect::<Vec<_>>());
        assert!(said.contains(words), "{arguments}: '{words}' is not in: {said}");
    }
    assert!(contents(at) == before, "a file was changed, or one was left");
}

#[test]
fn outputs_of_the_same_command_are_replaced() {
    let folder = folder_with_data();
    for arguments in [
        "simulate cylinder --scanner small --counts 1e5 --attenuation --rois r1.toml -o s1.hs",
        "reconstruct s1.hs -o i1.hv --iterations 1 --voxel-mm 15,15,5 --rois r1.toml --csv t.csv --device cpu",
        "reconstruct s1.hs -o i1.hv --iterations 1 --voxel-mm 15,15,5 --rois r1.toml --csv t.csv --device cpu",
        "project i1.hv --like s1.hs -o p.hs",
        "project i1.hv --like s1.hs -o p.hs",
    ] {
        done(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_table_that_cannot_be_written_does_not_cost_the_image() {
    let folder = folder_with_data();
    let arguments = "reconstruct s1.hs -o out.hv --iterations 2 --rois r1.toml --csv /dev/full --device cpu";
    let output = tomoscope(folder.path(), &arguments.split(' ').collect::<Vec<_>>());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("the table of measured numbers is not complete: ") && said.contains("/dev/full"), "{said}");
    assert!(tomoscope::io::read_volume(&folder.path().join("out.hv")).unwrap().0.sum() > 0.0);
}

#[test]
fn an_image_of_an_iteration_that_is_not_written_does_not_end_the_reconstruction() {
    let folder = folder_with_data();
    let at = folder.path();
    // A folder takes its place.
    fs::create_dir(at.join("out_it002.npy")).unwrap();
    let arguments = "reconstruct s1.hs --iterations 3 --save-every 1 --voxel-mm 15,15,5 --device cpu -o out.npy";
    let said = refused(at, 1, &arguments.split(' ').collect::<Vec<_>>());
    assert!(said.contains("the image of iteration 2 was not written") && said.contains("the reconstruction continues"), "{said}");
    assert!(["out.npy", "out_it001.npy", "out_it003.npy"].iter().all(|name| at.join(name).is_file()), "{said}");
    done(at, &arguments.replace("out.npy", "whole.npy").split(' ').collect::<Vec<_>>());
    assert!(fs::read(at.join("out.npy")).unwrap() == fs::read(at.join("whole.npy")).unwrap());
}
