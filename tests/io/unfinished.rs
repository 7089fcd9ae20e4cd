//! The temporary files that results are completed in before they take their place.

use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime};

use tomoscope::data::Volume;
use tomoscope::geometry::Grid;
use tomoscope::io::{read_volume, write_volume};

use super::folder;

fn volume(value: f32) -> Volume {
    Volume::filled(Grid::centred([3, 2, 2], [1.0; 3]).unwrap(), value)
}

fn names(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// Puts an empty file there that was last written so many hours ago.
fn put(folder: &Path, name: &str, hours: u64) {
    let file = File::create(folder.join(name)).unwrap();
    file.set_modified(SystemTime::now() - Duration::from_secs(3600 * hours)).unwrap();
}

#[test]
fn what_a_killed_run_left_blocks_nothing_and_goes_after_a_day() {
    let folder = folder();
    // In a container every run has the same process number.
    let left: Vec<String> = (0..100).map(|n| format!("tomoscope-{}-{n}-unfinished.nii", std::process::id())).collect();
    left.iter().for_each(|name| put(folder.path(), name, 1));
    put(folder.path(), "tomoscope-7-0-unfinished.v", 25);
    put(folder.path(), "tomoscope-a1B2c3D4e5F6-unfinished.nii.gz", 25);
    put(folder.path(), "tomoscope-report-unfinished.csv", 10_000);
    // A series is a folder.
    let series = folder.path().join("tomoscope-6f5E4d3C2b1A-unfinished.dcm");
    fs::create_dir(&series).unwrap();
    File::create(series.join("slice_001.dcm")).unwrap();
    File::open(&series).unwrap().set_modified(SystemTime::now() - Duration::from_secs(3600 * 25)).unwrap();
    write_volume(&folder.path().join("image.nii"), &volume(1.0)).unwrap();
    let mut expected: Vec<String> = left.clone();
    expected.extend(["image.nii", "tomoscope-report-unfinished.csv"].map(str::to_owned));
    expected.sort();
    assert_eq!(names(folder.path()), expected);
    for name in &left {
        put(folder.path(), name, 25);
    }
    write_volume(&folder.path().join("image.nii"), &volume(2.0)).unwrap();
    assert_eq!(names(folder.path()), ["image.nii", "tomoscope-report-unfinished.csv"]);
}

#[cfg(unix)]
#[test]
fn permissions_are_those_of_a_new_file_or_of_the_one_that_is_replaced() {
    use std::os::unix::fs::PermissionsExt;
    let folder = folder();
    let mode = |name: &str| fs::metadata(folder.path().join(name)).unwrap().permissions().mode() & 0o777;
    File::create(folder.path().join("plain")).unwrap();
    for image in ["a.nii", "b.hv"] {
        write_volume(&folder.path().join(image), &volume(1.0)).unwrap();
    }
    assert_eq!([mode("a.nii"), mode("b.hv"), mode("b.v")], [mode("plain"); 3]);
    fs::create_dir(folder.path().join("plain folder")).unwrap();
    write_volume(&folder.path().join("c.dcm"), &volume(1.0)).unwrap();
    assert_eq!([mode("c.dcm"), mode("c.dcm/slice_001.dcm")], [mode("plain folder"), mode("plain")]);
    fs::set_permissions(folder.path().join("a.nii"), PermissionsExt::from_mode(0o640)).unwrap();
    write_volume(&folder.path().join("a.nii"), &volume(2.0)).unwrap();
    assert_eq!(mode("a.nii"), 0o640);
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_stay_also_where_nothing_is_there_yet() {
    use std::os::unix::fs::symlink;
    let folder = folder();
    fs::create_dir(folder.path().join("there")).unwrap();
    symlink("there/image.nii", folder.path().join("image.nii")).unwrap();
    for value in [1.0, 2.0] {
        write_volume(&folder.path().join("image.nii"), &volume(value)).unwrap();
        assert!(fs::symlink_metadata(folder.path().join("image.nii")).unwrap().is_symlink());
        let (image, _) = read_volume(&folder.path().join("there/image.nii")).unwrap();
        assert_eq!(image.as_slice(), volume(value).as_slice());
    }
    assert_eq!(names(folder.path()), ["image.nii", "there"]);
    assert_eq!(names(&folder.path().join("there")), ["image.nii"]);
}
