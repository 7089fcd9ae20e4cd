//! Headers and files that are broken, cut off, random or malicious: a sentence, never a panic, never memory or time that
//! the file's size does not justify.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tomoscope::io::crystals::read_crystals;
use tomoscope::io::dicom::read_segmentation;
use tomoscope::io::list_mode::ListOptions;
use tomoscope::io::measurements::read_measurements;
use tomoscope::io::numpy_image::read_image_of_voxels;
use tomoscope::io::rois::read_rois;
use tomoscope::io::saved_matrix::read_matrix;
use tomoscope::io::saved_pairs::read_pairs;
use tomoscope::io::saved_tubes::read_tubes;
use tomoscope::io::{
    FileKind, IoError, calibration, follow_sweep, open_list_mode, provenance, read_oximetry_study, read_projections, read_sweep,
    read_volume,
};
use tomoscope::scanner::{ScanGeometryError, find_ring};

use tomoscope_support::hostile::{damaged, wild};

use super::sweep_forms::npy;
use super::{assert_brief, folder};

/// Far above what refusing takes on however busy a machine, far below what reading 10¹² bins would.
pub(super) const PROMPT: Duration = Duration::from_secs(60);

const PROJECTIONS: &str = include_str!("corpus/good.hs");
const SWEEP: &str = include_str!("corpus/good.sweep");
const SWEEP_WITH_RECORDS: &str = include_str!("corpus/records.sweep");
const TUBES: &str = include_str!("corpus/good.tubes");
const DESCRIPTOR: &str = include_str!("corpus/good.dsc");
const COMPLEX: &str = include_str!("corpus/good_complex.dsc");
const IMAGE: &str = include_str!("corpus/good.hv");

/// The file of times beside an image.
const SIDECAR: &str =
    "{\n\"Units\": \"Bq/mL\",\n\"FrameTimesStart\": [0],\n\"FrameDuration\": [60],\n\"TimeZero\": \"10:00\"\n}\n";

/// Counts of pairs of the 288 crystals of the small ring, without their checksum.
const PAIRS: &str = r#"version = 1
scanner = "madpet2-reduced"
num_crystals = 288
data_file = "data.bin"
data_checksum = "crc32 00000000"
"#;

const CRYSTALS: &str = "version = 1\nname = \"a\"\nmin_angle_deg = 20.0\n\n[[block]]\ncrystals = [3, 2]\nsize_mm = [20.0, 4.0, 5.0]\n\
                        pitch_mm = [4.5, 5.5]\ncentre_mm = [100.0, 0.0, 1.0]\nrotation_deg = 5.0\naround = 4\nalong = 2\nalong_mm = 15.0\n\
                        order = \"rings\"\n\n[[single]]\nsize_mm = [1.0, 1.0, 1.0]\ncrystals = [[1.0, 2.0, 3.0, 0.0, 0.6, 0.8]]\n";

/// A matrix of the same ring, every tenth line of response of which has one element.
const MATRIX: &str = include_str!("header.matrix");

const NUM_LORS: usize = 41328;

/// Its data: how many elements each line has, and the elements.
fn matrix_data() -> Vec<u8> {
    let lens = (0..NUM_LORS as u32).map(|lor| u32::from(lor % 10 == 0));
    let elements = (0..4133u32).map(|number| (number % 357) << 15 | number);
    lens.chain(elements).flat_map(u32::to_le_bytes).collect()
}

/// Data with some bytes replaced, and its end cut off.
fn damaged_data(changes: &[(prop::sample::Index, u8)], cut: usize, mut data: Vec<u8>) -> Vec<u8> {
    let len = data.len();
    changes.iter().for_each(|(at, byte)| data[at.index(len)] = *byte);
    data.truncate(len - cut.min(len));
    data
}

/// A header and its data in a folder, the header with the data's checksum where it is to have it.
fn put_with_checksum(folder: &Path, name: &str, mut header: Vec<u8>, data: &[u8], has_its_checksum: bool) -> PathBuf {
    if has_its_checksum && let Ok(text) = std::str::from_utf8(&header) {
        header = text.replace("crc32 00000000", &format!("crc32 {:08x}", crc32fast::hash(data))).into_bytes();
    }
    let path = put(folder, name, header, 0);
    fs::write(folder.join("data.bin"), data).unwrap();
    path
}

#[test]
fn undamaged_pairs_and_matrices_are_read() {
    let folder = folder();
    let pairs = put_with_checksum(folder.path(), "a.pairs", PAIRS.into(), &vec![0; 4 * NUM_LORS], true);
    assert_eq!(read(&pairs), Ok(()));
    let matrix = put_with_checksum(folder.path(), "a.matrix", MATRIX.into(), &matrix_data(), true);
    let matrix = read_matrix(&matrix).unwrap();
    assert_eq!((matrix.elements.len(), matrix.row(10)[0].basic(), matrix.row(11).len()), (4133, 1, 0));
}

#[test]
fn a_matrix_whose_basis_cannot_be_is_refused() {
    let folder = folder();
    let of = |from: &str, to: &str| {
        assert!(MATRIX.contains(from), "{from}");
        let text = MATRIX.replace(from, to);
        read_matrix(&put_with_checksum(folder.path(), "a.matrix", text.into(), &matrix_data(), true))
    };
    for (from, to) in [
        ("spacing_mm = 1.5", "spacing_mm = 1e-5"),
        ("spacing_mm = 1.5", "spacing_mm = nan"),
        ("radius_mm = 35.5", "radius_mm = 1e300"),
        ("half_length_mm = 10.0", "half_length_mm = -10.0"),
    ] {
        assert_brief(&of(from, to).unwrap_err(), "io.unsupported.tomoscope a.matrix Matrix");
    }
}

/// Reads a file of any kind; the error's sentence, if it is one.
fn read(path: &Path) -> Result<(), String> {
    let start = Instant::now();
    let result = match FileKind::of(path) {
        Some(FileKind::InterfileProjections | FileKind::SiemensSinograms) => {
            read_projections(path).map(drop).map_err(|e| e.to_string())
        }
        Some(FileKind::InterfileImage | FileKind::NiftiImage | FileKind::NumpyImage | FileKind::DicomSeries) => {
            read_volume(path).map(drop).map_err(|e| e.to_string())
        }
        Some(FileKind::Bes3t | FileKind::NumpySweep | FileKind::SavedSweep) => {
            read_sweep(path, None).map(drop).map_err(|e| e.to_string())
        }
        Some(FileKind::Oximetry) => read_oximetry_study(path).map(drop).map_err(|e| e.to_string()),
        Some(FileKind::Crystals) => read_crystals(path).map(drop).map_err(|e| e.to_string()),
        Some(FileKind::Rois) => read_rois(path).map(drop).map_err(|e| e.to_string()),
        Some(FileKind::Tubes) => read_tubes(path).map(drop).map_err(|e| e.to_string()),
        Some(FileKind::Pairs) => read_pairs(path).map(drop).map_err(|e| e.to_string()),
        Some(FileKind::Matrix) => read_matrix(path).map(drop).map_err(|e| e.to_string()),
        // (The window reads it.)
        Some(FileKind::Session) => Err("a session".into()),
        Some(FileKind::Castor | FileKind::YrtList | FileKind::SiemensList) => {
            open_list_mode(path, &ListOptions::default()).map(drop).map_err(|e| e.to_string())
        }
        Some(FileKind::Measurements) => read_measurements(path).map(drop).map_err(|e| e.to_string()),
        Some(FileKind::Petsird) => open_list_mode(path, &ListOptions::default()).map(drop).map_err(|e| e.to_string()),
        Some(FileKind::Calibration) => calibration::read_file(path).map(|_| ()).map_err(|error| error.to_string()),
        Some(FileKind::Provenance) => {
            let _ = provenance::read(path);
            Ok(())
        }
        Some(FileKind::DicomSegmentation) => read_segmentation(path).map(drop).map_err(|e| e.to_string()),
        None => Err("no such kind".into()),
    };
    assert!(start.elapsed() < PROMPT, "{} took {:?}", path.display(), start.elapsed());
    result
}

/// A header beside a data file of this many bytes, none of them 0: a sweep of zeros is not measured yet.
fn put(folder: &Path, name: &str, header: impl AsRef<[u8]>, data_bytes: usize) -> PathBuf {
    fs::write(folder.join("data.bin"), vec![1; data_bytes]).unwrap();
    let path = folder.join(name);
    fs::write(&path, header).unwrap();
    path
}

#[test]
fn every_file_of_the_corpus_is_refused_with_its_name_but_the_good_ones() {
    let corpus = tomoscope_support::in_repository("tests/io/corpus");
    let folder = folder();
    let mut refused = 0;
    for entry in fs::read_dir(&corpus).unwrap() {
        let source = entry.unwrap().path();
        let name = source.file_name().unwrap().to_str().unwrap().to_owned();
        let path = put(folder.path(), &name, fs::read(&source).unwrap(), 4096);
        if name.ends_with(".dsc") {
            fs::write(path.with_extension("dta"), [1; 4096]).unwrap();
        }
        match read(&path) {
            Ok(()) => assert!(name.starts_with("good"), "{name} was read"),
            Err(sentence) => {
                assert!(!name.starts_with("good"), "{sentence}");
                let data = name.replace(".dsc", ".dta");
                assert!([name.as_str(), &data, "data.bin"].iter().any(|named| sentence.contains(named)), "{sentence}");
                assert!(sentence.len() < 600, "{sentence}");
                refused += 1;
            }
        }
    }
    assert!(refused >= 10, "{refused}");
}

#[test]
fn sizes_are_checked_before_anything_is_allocated() {
    let folder = folder();
    let larger = |from: &str, to: &str| {
        assert!(PROJECTIONS.contains(from), "{from}");
        PROJECTIONS.replace(from, to)
    };
    // 10⁵ views × 10⁵ detectors × 124 planes are 10¹² bins; 10⁹ bins have room in memory, but not in 100 bytes.
    let many =
        larger("matrix size [3] := 4", "matrix size [3] := 200000").replace("matrix size [1] := 5", "matrix size [1] := 800001");
    let many = many
        .replace("detectors per ring := 24", "detectors per ring := 2000000")
        .replace("size (cm) := 0.5", "size (cm) := 0.000001");
    let error = read_projections(&put(folder.path(), "a.hs", many, 100)).unwrap_err();
    let too_many = |source: &ScanGeometryError| {
        matches!(source, ScanGeometryError::TooManyBins { num_views: 200_000, num_tangential: 800_001, .. })
    };
    assert!(matches!(&error, IoError::Geometry(_, source) if too_many(source)), "{error:?}");
    let large = larger("matrix size [3] := 4", "matrix size [3] := 20000000")
        .replace("detectors per ring := 24", "detectors per ring := 40000000");
    let error = read_projections(&put(folder.path(), "b.hs", large, 100)).unwrap_err();
    assert_brief(&error, "io.truncated data.bin 100/2800000000");
    let offset = larger("number of rings", "data offset in bytes [1] := 18446744073709551615\nnumber of rings");
    let error = read_projections(&put(folder.path(), "c.hs", offset, 560)).unwrap_err();
    assert!(matches!(error, IoError::TooShort { .. }), "{error:?}");
    let image = IMAGE.replace("matrix size [1] := 4", "matrix size [1] := 100000000");
    assert_brief(&read_volume(&put(folder.path(), "d.hv", image, 100)).unwrap_err(), "io.truncated data.bin 100/2400000000");
    let image = IMAGE
        .replace("matrix size [1] := 4", "matrix size [1] := 2000000000")
        .replace("matrix size [2] := 3", "matrix size [2] := 2000000000");
    assert_brief(&read_volume(&put(folder.path(), "e.hv", image, 100)).unwrap_err(), "io.grid e.hv Size");
}

#[test]
fn a_header_that_is_the_data_file_is_refused_unread() {
    let folder = folder();
    let path = put(folder.path(), "a.hs", vec![b'x'; (1 << 20) + 1], 0);
    assert_brief(&read_projections(&path).unwrap_err(), "io.text-too-long a.hs 1048576");
    let path = put(folder.path(), "b.hs", PROJECTIONS.replace("data.bin", "."), 0);
    let error = read_projections(&path).unwrap_err();
    assert!(matches!(&error, IoError::DataFileMissing { named, .. } if named == "."), "{error:?}");
}

/// Tubes of other numbers of samples, distances and ring differences.
fn other_tubes() -> impl Strategy<Value = Vec<u8>> {
    let number = || prop_oneof![4 => Just(1i64), 4 => 0i64..40, 1 => any::<i64>(), 1 => (0u32..63).prop_map(|bits| 1 << bits)];
    (number(), number(), number(), number(), number()).prop_map(|(along, across, axial, radial, differences)| {
        let text = TUBES.replace("num_samples = [1, 1, 1]", &format!("num_samples = [{along}, {across}, {axial}]"));
        let text = text.replace("num_radial = 32", &format!("num_radial = {radial}"));
        text.replace("num_ring_differences = 32", &format!("num_ring_differences = {differences}")).into_bytes()
    })
}

/// Mutated files of each kind; `TOMOSCOPE_FUZZ_CASES` asks for more.
pub(super) fn cases() -> u32 {
    std::env::var("TOMOSCOPE_FUZZ_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(256)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_damaged_header_panics(projections in damaged(PROJECTIONS), image in damaged(IMAGE), size in 0usize..4096) {
        let folder = folder();
        let _ = read(&put(folder.path(), "a.hs", projections, size));
        let _ = read(&put(folder.path(), "a.hv", image, size));
    }

    #[test]
    fn no_wild_value_panics(projections in wild(PROJECTIONS, ":="), image in wild(IMAGE, ":="), size in 0usize..65536) {
        let folder = folder();
        let _ = read(&put(folder.path(), "a.hs", projections, size));
        let _ = read(&put(folder.path(), "a.hv", image, size));
    }

    #[test]
    fn no_damaged_sweep_panics(
        sweep in prop_oneof![damaged(SWEEP), wild(SWEEP, "=")],
        descriptor in prop_oneof![damaged(DESCRIPTOR), wild(DESCRIPTOR, " "), damaged(COMPLEX), wild(COMPLEX, " ")],
        size in 0usize..4096,
    ) {
        let folder = folder();
        fs::write(folder.path().join("a.dta"), vec![0; size]).unwrap();
        let _ = read(&put(folder.path(), "a.sweep", &sweep, size));
        let _ = read(&put(folder.path(), "a.dsc", &descriptor, size));
        for header in ["a.sweep", "a.dsc"] {
            if let Ok((_, mut follower)) = follow_sweep(&folder.path().join(header), None) {
                let _ = follower.poll();
                fs::write(folder.path().join("a.dta"), vec![1; size / 2]).unwrap();
                let _ = follower.poll();
            }
        }
    }

    #[test]
    fn no_damaged_record_panics(
        sweep in prop_oneof![Just(SWEEP_WITH_RECORDS.into()), damaged(SWEEP_WITH_RECORDS), wild(SWEEP_WITH_RECORDS, "=")],
        counts in prop_oneof![Just(String::new()), any::<u64>().prop_map(|n| format!("num_projections = {n}\n"))],
        checksum in prop_oneof![Just(String::new()), "[ -&(-~]{0,12}".prop_map(|text| format!("data_checksum = '{text}'\n"))],
        changes in proptest::collection::vec((0usize..120, any::<u8>()), 0..4),
        keep in 0usize..200,
    ) {
        let folder = folder();
        let text = [counts.as_bytes(), checksum.as_bytes(), &sweep].concat();
        let path = put(folder.path(), "a.sweep", &text, 0);
        let record = |direction: [f64; 4]| {
            let direction = direction.into_iter().flat_map(f64::to_le_bytes);
            direction.chain((0..4).flat_map(|i| (i as f32).to_le_bytes())).collect::<Vec<u8>>()
        };
        let mut bytes = [vec![0; 12], record([1.0, 0.0, 0.0, 3.1]), record([0.0, 0.6, 0.8, 3.2]), vec![0; 60]].concat();
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        bytes.truncate(keep);
        fs::write(folder.path().join("data.bin"), &bytes).unwrap();
        let _ = read(&path);
        if let Ok((_, mut follower)) = follow_sweep(&path, None) {
            let _ = follower.poll();
            bytes.extend([1; 70]);
            fs::write(folder.path().join("data.bin"), &bytes).unwrap();
            let _ = follower.poll();
            fs::write(folder.path().join("data.bin"), &bytes[..keep.min(bytes.len()) / 2]).unwrap();
            let _ = follower.poll();
        }
    }

    #[test]
    fn no_damaged_crystals_panic(crystals in prop_oneof![damaged(CRYSTALS), wild(CRYSTALS, "=")]) {
        let folder = folder();
        let _ = read(&put(folder.path(), "a.crystals.toml", crystals, 0));
    }

    #[test]
    fn no_damaged_tubes_panic(
        header in prop_oneof![Just(TUBES.into()), damaged(TUBES), wild(TUBES, "="), other_tubes()],
        changes in proptest::collection::vec((0usize..4096, any::<u8>()), 0..4),
        size in prop_oneof![3 => Just(4096), 2 => (0usize..1024).prop_map(|num| 4 * num), 1 => 0usize..5000],
        has_its_checksum in any::<bool>(),
    ) {
        let folder = folder();
        let mut data = vec![1; size];
        changes.iter().filter(|(at, _)| *at < size).for_each(|&(at, byte)| data[at] = byte);
        let mut header = header;
        if has_its_checksum && let Ok(text) = std::str::from_utf8(&header) {
            header = text.replace("3ad9e426", &format!("{:08x}", crc32fast::hash(&data))).into_bytes();
        }
        let path = put(folder.path(), "a.tubes", header, 0);
        fs::write(folder.path().join("data.bin"), &data).unwrap();
        let _ = read(&path);
        if let Ok(tubes) = read_tubes(&path) {
            assert_eq!(Some(tubes.coefficients.len()), tubes.sampling.num_coefficients());
            assert!(4 * tubes.coefficients.len() == size && tubes.coefficients.iter().all(|value| value.is_finite()));
        }
    }

    #[test]
    fn no_damaged_pairs_panic(
        header in prop_oneof![Just(PAIRS.into()), damaged(PAIRS), wild(PAIRS, "=")],
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop_oneof![4 => Just(0), 1 => 0usize..9],
        has_its_checksum in any::<bool>(),
    ) {
        let folder = folder();
        let data = damaged_data(&changes, cut, vec![0; 4 * NUM_LORS]);
        let path = put_with_checksum(folder.path(), "a.pairs", header, &data, has_its_checksum);
        let _ = read(&path);
        if let Ok(pairs) = read_pairs(&path) {
            assert_eq!((pairs.counts.len(), data.len()), (NUM_LORS, 4 * NUM_LORS));
        }
    }

    #[test]
    fn no_damaged_matrices_panic(
        header in prop_oneof![2 => Just(MATRIX.into()), 1 => damaged(MATRIX), 3 => wild(MATRIX, "=")],
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop_oneof![4 => Just(0), 1 => 0usize..9],
        has_its_checksum in any::<bool>(),
    ) {
        let folder = folder();
        let data = damaged_data(&changes, cut, matrix_data());
        let path = put_with_checksum(folder.path(), "a.matrix", header, &data, has_its_checksum);
        let _ = read(&path);
        if let Ok(matrix) = read_matrix(&path) {
            assert!(find_ring(&matrix.scanner).is_some());
            assert_eq!((matrix.first.len(), 4 * (NUM_LORS + matrix.elements.len())), (NUM_LORS + 1, data.len()));
            assert!((0..NUM_LORS).flat_map(|lor| matrix.row(lor)).all(|element| element.basic() < matrix.num_basic));
        }
    }

    /// A header with a checksum line in any place.
    #[test]
    fn no_damaged_checksum_panics(line in "; ?tomoscope data checksum ?:?=? ?(crc32)? ?[0-9a-g]{0,10}", at in 0usize..20) {
        let folder = folder();
        for (name, good) in [("a.hs", PROJECTIONS), ("a.hv", IMAGE)] {
            let mut lines: Vec<&str> = good.lines().collect();
            lines.insert(at.min(lines.len()), &line);
            let _ = read(&put(folder.path(), name, lines.join("\n"), 4096));
        }
    }

    #[test]
    fn no_damaged_gzip_panics(changes in proptest::collection::vec((0usize..136, any::<u8>()), 1..4), twice in any::<bool>()) {
        let folder = folder();
        let mut bytes = include_bytes!("corpus/good.nii.gz").to_vec();
        if twice {
            bytes.extend(bytes.clone());
        }
        changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
        let _ = read(&put(folder.path(), "a.nii.gz", &bytes, 0));
    }

    /// Of both versions, in one file and in a pair.
    #[test]
    fn no_damaged_nifti_panics(
        is_version_2 in any::<bool>(),
        changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in prop_oneof![4 => Just(0), 1 => 0usize..600],
        sidecar in prop_oneof![Just(SIDECAR.into()), damaged(SIDECAR), wild(SIDECAR, ":")],
    ) {
        let folder = folder();
        let good: &[u8] = if is_version_2 { include_bytes!("corpus/good_2.nii") } else { include_bytes!("corpus/good.nii") };
        let bytes = damaged_data(&changes, cut, good.to_vec());
        put(folder.path(), "a.json", sidecar, 0);
        let _ = read(&put(folder.path(), "a.nii", &bytes, 0));
        let mut of_pair = bytes.clone();
        if let Some(byte) = of_pair.get_mut(if is_version_2 { 5 } else { 345 }) {
            *byte = b'i';
        }
        put(folder.path(), "a.img", &bytes, 0);
        let _ = read(&put(folder.path(), "a.hdr", &of_pair, 0));
    }

    #[test]
    fn no_damaged_array_panics(changes in proptest::collection::vec((0usize..128, any::<u8>()), 1..6), keep in 0usize..300) {
        let folder = folder();
        for name in ["a-fgrad.npy", "a-B.npy", "a-proj.npy"] {
            let path = npy(folder.path(), name, "<f4", false, "(3, 3)", (1..10).map(f64::from));
            let mut bytes = fs::read(&path).unwrap();
            changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
            bytes.truncate(keep.max(80));
            fs::write(path, bytes).unwrap();
        }
        let _ = read(&folder.path().join("a-proj.npy"));
        for is_fortran in [false, true] {
            let path = npy(folder.path(), "a.npy", "<f4", is_fortran, "(1, 3, 3)", (1..10).map(f64::from));
            let mut bytes = fs::read(&path).unwrap();
            changes.iter().for_each(|&(at, byte)| bytes[at] = byte);
            bytes.truncate(keep.max(80));
            fs::write(&path, bytes).unwrap();
            let _ = read_image_of_voxels(&path, [1.0; 3]);
        }
    }

    #[test]
    fn no_random_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        let folder = folder();
        for name in ["a.hs", "a.hv", "a.nii", "a.nii.gz", "a.toml", "a.csv", "a.dsc", "a-proj.npy", "a-h.npy", "a.npy", "a.dcm", "a.seg.dcm", "a.sweep", "a.tubes"] {
            let _ = read(&put(folder.path(), name, &bytes, 10));
        }
    }
}
