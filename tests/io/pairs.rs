//! Headers and data files that belong together, and some that do not.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use tomoscope::data::{Michelogram, ReferenceSpectrum, Study, Sweep, SweepKind, Volume};
use tomoscope::geometry::Grid;
use tomoscope::io::{
    IoError, follow_sweep, read_projections, read_sweep, read_volume, write_projections, write_sweep, write_volume,
};
use tomoscope::scanner::find;

use super::sweep_forms::ball;
use super::{assert_brief, folder, warns_of};

/// A way to write something else for each number under one name, and to read it again.
struct Pair {
    header: &'static str,
    data: &'static str,
    write: fn(&Path, f32),
    read: fn(&Path) -> Result<Vec<f32>, IoError>,
}

fn sweep(value: f32) -> Study<Sweep> {
    let mut sweep = ball();
    let reference = Some(ReferenceSpectrum { values: [value, -0.3, 1e-7].into(), step_mt: 0.1 });
    sweep.measured.kind = SweepKind::ContinuousWave { step_mt: 0.03, gradient_mt_per_mm: 0.03, reference };
    sweep
}

const PAIRS: [Pair; 3] = [
    Pair {
        header: "a.hv",
        data: "a.v",
        write: |path, value| {
            write_volume(path, &Volume::filled(Grid::centred([3, 2, 2], [1.0; 3]).unwrap(), value)).unwrap();
        },
        read: |path| read_volume(path).map(|(volume, _)| volume.as_slice().to_vec()),
    },
    Pair {
        header: "a.hs",
        data: "a.s",
        write: |path, value| {
            let geometry = Arc::new(find("small").unwrap().geometry.clone());
            let counts = vec![value; geometry.num_bins()];
            write_projections(path, &Michelogram::new(geometry, counts).unwrap()).unwrap();
        },
        read: |path| read_projections(path).map(|(data, _)| data.counts.to_vec()),
    },
    Pair {
        header: "a.sweep",
        data: "a.f32",
        write: |path, value| write_sweep(path, &sweep(value)).unwrap(),
        read: |path| {
            read_sweep(path, None).map(|sweep| match sweep.measured.kind {
                SweepKind::ContinuousWave { reference: Some(spectrum), .. } => spectrum.values.to_vec(),
                _ => Vec::new(),
            })
        },
    },
];

#[test]
fn a_header_and_the_data_of_another_writing_are_refused_in_every_form() {
    for Pair { header, data, write, read } in PAIRS {
        let folder = folder();
        let [header_path, data_path] = [header, data].map(|name| folder.path().join(name));
        let mut written = Vec::new();
        for value in [1.0, 2.0] {
            write(&header_path, value);
            assert_eq!(read(&header_path).unwrap()[0], value);
            written.push([fs::read(&header_path).unwrap(), fs::read(&data_path).unwrap()]);
        }
        // Either of the two was replaced, and the program was killed before the other.
        for (headers, datas) in [(0, 1), (1, 0)] {
            fs::write(&header_path, &written[headers][0]).unwrap();
            fs::write(&data_path, &written[datas][1]).unwrap();
            assert_brief(&read(&header_path).unwrap_err(), &format!("io.mismatched-pair {header} {data}"));
        }
        // Without its checksum a header is read as another program's.
        let text = String::from_utf8(written[1][0].clone()).unwrap();
        let plain: Vec<&str> = text.lines().filter(|line| !line.contains("checksum")).collect();
        assert_eq!(plain.len() + 1, text.lines().count(), "{text}");
        fs::write(&header_path, plain.join("\n")).unwrap();
        assert_eq!(read(&header_path).unwrap()[0], 1.0);
    }
}

#[test]
fn in_interfile_the_checksum_is_a_comment_and_covers_what_the_header_describes() {
    let folder = folder();
    for Pair { header, data, write, read } in &PAIRS[..2] {
        let [header, data] = [header, data].map(|name| folder.path().join(name));
        write(&header, 3.0);
        let text = fs::read_to_string(&header).unwrap();
        let line = text.lines().find(|line| line.contains("checksum")).unwrap();
        assert!(line.starts_with("; tomoscope data checksum := crc32 "), "{line}");
        let mut bytes = fs::read(&data).unwrap();
        bytes.extend([7; 9]);
        fs::write(&data, bytes).unwrap();
        assert_eq!(read(&header).unwrap()[0], 3.0);
    }
    let (_, notices) = read_volume(&folder.path().join("a.hv")).unwrap();
    assert!(warns_of(&notices, "9 more than"), "{notices:?}");
}

#[test]
fn a_saved_sweep_that_grows_needs_no_header_but_its_first() {
    let folder = folder();
    let path = folder.path().join("a.sweep");
    let whole = sweep(0.5);
    write_sweep(&path, &whole).unwrap();
    let (text, bytes) = (fs::read_to_string(&path).unwrap(), fs::read(path.with_extension("f32")).unwrap());
    // As an acquisition begins it: nobody knows yet how many there will be, and what is not there yet is zero.
    let is_known = |line: &&str| !["num_expected", "num_projections", "data_checksum"].iter().any(|key| line.starts_with(key));
    fs::write(&path, text.lines().filter(is_known).collect::<Vec<_>>().join("\n")).unwrap();
    let record = 32 + 4 * whole.measured.num_points;
    let (mut there, data) = (vec![0; bytes.len()], path.with_extension("f32"));
    let mut grow = |num: usize| {
        there[..12 + num * record].copy_from_slice(&bytes[..12 + num * record]);
        fs::write(&data, &there).unwrap();
    };
    grow(2);
    let (begun, mut follower) = follow_sweep(&path, None).unwrap();
    assert_eq!((&begun.measured.kind, begun.measured.num_expected), (&whole.measured.kind, None));
    let mut read = follower.poll().projections;
    assert_eq!(read, whole.measured.projections[..2]);
    for num in [3, 20, whole.measured.num_complete()] {
        grow(num);
        read.extend(follower.poll().projections);
        assert_eq!(read, whole.measured.projections[..num]);
    }
    // Gone and back again: nothing is lost, and more may come.
    fs::remove_file(&data).unwrap();
    assert!(follower.poll().notices.iter().any(|notice| notice.text.contains("opening the file failed")));
    fs::write(&data, &bytes).unwrap();
    assert!(follower.poll().notices.iter().any(|notice| notice.text.contains("available again")));
    assert!(!follower.is_finished());
    assert_eq!(read_sweep(&path, None).unwrap().measured.projections, whole.measured.projections);
}

#[test]
fn headers_of_the_first_version_are_read_and_small_ones_only() {
    let folder = folder();
    let path = folder.path().join("a.sweep");
    let values: Vec<u8> = (0..6).flat_map(|value| (value as f32).to_le_bytes()).collect();
    fs::write(path.with_extension("f32"), values).unwrap();
    let header = |version: u32, more: &str| {
        format!(
            "version = {version}\ntitle = \"a\"\nacquisition = \"pulse\"\nnum_points = 3\nstep_mm = 0.5\ncentre = 1.0\n\
             num_expected = 2\ndata_file = \"a.f32\"\n{more}"
        )
    };
    fs::write(&path, header(1, "projections = [[1.0, 0.0, 0.0, 3.1], [0.0, 0.6, 0.8, 3.2]]\n")).unwrap();
    let sweep = read_sweep(&path, None).unwrap();
    assert_eq!(
        (sweep.measured.num_complete(), sweep.measured.projections[1].direction, sweep.measured.projections[1].weight),
        (2, [0.0, 0.6, 0.8], 3.2)
    );
    assert_eq!(&sweep.measured.projections[1].values[..], [3.0, 4.0, 5.0]);
    // Text takes a hundred times its size once it is parsed.
    let many = "[1.0, 0.0, 0.0, 1.0],".repeat(120_000);
    fs::write(&path, header(1, &format!("projections = [{many}]\n"))).unwrap();
    assert_brief(&read_sweep(&path, None).unwrap_err(), "io.text-too-long a.sweep 2097152");
    fs::write(&path, header(2, &format!("# {}\n", "x".repeat(1 << 16)))).unwrap();
    assert_brief(&read_sweep(&path, None).unwrap_err(), "io.unsupported.tomoscope a.sweep LongHeader");
}

#[test]
fn a_sweep_that_could_not_be_read_back_is_not_written() {
    let folder = folder();
    let path = folder.path().join("a.sweep");
    let mut infinite = ball();
    infinite.measured.projections[3].values = vec![f32::INFINITY; infinite.measured.num_points].into();
    let mut skewed = ball();
    skewed.measured.projections[1].direction = [1.0, 1.0, 0.0];
    let mut tiny = ball();
    tiny.measured.step_mm = 0.0;
    let mut long = ball();
    long.title = "x".repeat(1 << 17);
    for (sweep, expected) in [
        (infinite, "io.unsupported.tomoscope a.sweep Samples"),
        (skewed, "io.unsupported.tomoscope a.sweep Direction"),
        (tiny, "io.unsupported.tomoscope a.sweep NotPositive"),
        (long, "io.write a.sweep"),
    ] {
        assert_brief(&write_sweep(&path, &sweep).unwrap_err(), expected);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
