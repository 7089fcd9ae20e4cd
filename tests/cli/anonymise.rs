//! Images without the patient's identity: no byte string of the identifiers is left in any output.

use std::path::{Path, PathBuf};

use dicom_core::{DataElement, PrimitiveValue, VR};
use dicom_dictionary_std::tags;
use dicom_object::open_file;
use tomoscope::data::ImageChoice;
use tomoscope::io::read_images;
use tomoscope::measure::{SuvDefinition, suv_factor};

use super::done;

/// Identifiers of the series.
const IDENTIFIERS: [&str; 10] = [
    "Mustermann",
    "Erika",
    "PID-4711",
    "1.2.276.0.7230010.3.1.2.4711",
    "1.2.276.0.7230010.3.1.4.4712",
    "ACC-0815",
    "St. Elsewhere",
    "19640812",
    "20260301",
    "2026-03-01",
];

/// Writes a series with identifiers, into a folder with the patient's name.
fn put_series(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/dicom/pet");
    let target = folder.join("Mustermann_Erika_20260301");
    std::fs::create_dir(&target).unwrap();
    for entry in std::fs::read_dir(source).unwrap() {
        let path = entry.unwrap().path();
        let mut slice = open_file(&path).unwrap();
        for (tag, vr, text) in [
            (tags::PATIENT_NAME, VR::PN, "Mustermann^Erika"),
            (tags::PATIENT_ID, VR::LO, "PID-4711"),
            (tags::PATIENT_BIRTH_DATE, VR::DA, "19640812"),
            (tags::STUDY_INSTANCE_UID, VR::UI, "1.2.276.0.7230010.3.1.2.4711"),
            (tags::FRAME_OF_REFERENCE_UID, VR::UI, "1.2.276.0.7230010.3.1.4.4712"),
            (tags::ACCESSION_NUMBER, VR::SH, "ACC-0815"),
            (tags::INSTITUTION_NAME, VR::LO, "St. Elsewhere"),
            (tags::STUDY_DESCRIPTION, VR::LO, "PET of Erika Mustermann"),
            (tags::SERIES_DESCRIPTION, VR::LO, "Mustermann WB"),
            (tags::IMAGE_COMMENTS, VR::LT, "Erika, St. Elsewhere"),
            (tags::DECAY_FACTOR, VR::DS, "1.003162"),
        ] {
            slice.put(DataElement::new(tag, vr, PrimitiveValue::from(text)));
        }
        slice.write_to_file(target.join(path.file_name().unwrap())).unwrap();
    }
    target
}

/// Returns all files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn no_identifier_is_left_in_any_output() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let source = put_series(at);
    let name = source.file_name().unwrap().to_str().unwrap();
    std::fs::write(
        at.join("rois.toml"),
        "version = 1\n[[roi]]\nname = \"a\"\nshape = \"sphere\"\ncentre_mm = [-12.0, -25.0, 46.0]\nradius_mm = 5.0\nrole = \"none\"\n",
    )
    .unwrap();
    let out = at.join("out");
    std::fs::create_dir(&out).unwrap();
    for output in ["out/a.dcm", "out/b.dcm", "out/a.nii", "out/a.hv", "out/a.npy"] {
        done(at, &["convert", name, output, "--anonymise"]);
    }
    done(at, &["convert", name, "out/suv.dcm", "--suv", "suvbw", "--anonymise", "--patient-id", "SUBJECT-01"]);
    done(at, &["measure", name, "--rois", "rois.toml", "--csv", "out/a.csv", "--anonymise"]);
    // The name of a scan is that of the patient, too.
    done(at, &["simulate", "cylinder", "--scanner", "small", "--counts", "1e5", "--attenuation", "-o", "Mustermann_Erika.hs"]);
    let facts = "--calibration 2 --half-life F-18 --duration-secs 900 --dose-mbq 370 --injected 2026-03-01T11:00:00 \
                 --scan-start 2026-03-01T12:00:00 --weight-kg 70 --suv suvbw --multiplicative-includes attenuation";
    for output in ["out/c.dcm", "out/c.npy"] {
        let arguments = format!(
            "reconstruct Mustermann_Erika.hs --image 31,31,15 --iterations 1 --rois rois.toml --csv {output}.csv {facts} --anonymise -o {output}"
        );
        done(at, &arguments.split_whitespace().collect::<Vec<_>>());
    }
    let all = files(&out);
    assert!(all.len() > 40, "{all:?}");
    for path in all {
        let bytes = std::fs::read(&path).unwrap();
        for identifier in IDENTIFIERS {
            let is_found = bytes.windows(identifier.len()).any(|window| window == identifier.as_bytes());
            assert!(!is_found, "{} contains {identifier}", path.display());
        }
    }
    // Study and frame of reference stay common to both series; uptake values are the same.
    let slices = ["a", "b", "suv"].map(|name| open_file(out.join(format!("{name}.dcm/slice_001.dcm"))).unwrap());
    let text = |index: usize, tag| slices[index].element(tag).unwrap().to_str().unwrap().trim().to_owned();
    for tag in [tags::STUDY_INSTANCE_UID, tags::FRAME_OF_REFERENCE_UID] {
        assert_eq!(text(0, tag), text(1, tag));
    }
    assert_ne!(text(0, tags::SERIES_INSTANCE_UID), text(1, tags::SERIES_INSTANCE_UID));
    assert_eq!([text(0, tags::PATIENT_NAME), text(0, tags::PATIENT_ID), text(2, tags::PATIENT_ID)], ["", "", "SUBJECT-01"]);
    assert_eq!([text(0, tags::PATIENT_IDENTITY_REMOVED), text(0, tags::SERIES_DATE)], ["YES", "20000101"]);
    let methods = slices[0].element(tags::DEIDENTIFICATION_METHOD_CODE_SEQUENCE).unwrap();
    let codes: Vec<String> = methods
        .items()
        .unwrap()
        .iter()
        .map(|item| item.element(tags::CODE_VALUE).unwrap().to_str().unwrap().trim().to_owned())
        .collect();
    assert_eq!(codes, ["113100", "113107", "113108"]);
    let factor = |path: &Path| {
        let (series, _) = read_images(path, ImageChoice::Only).unwrap();
        suv_factor(series.pet.as_ref().unwrap(), SuvDefinition::BodyWeight).unwrap()
    };
    assert!((factor(&out.join("a.dcm")) / factor(&source) - 1.0).abs() < 1e-9);
    for file in files(&out.join("a.dcm")) {
        let Ok(output) = std::process::Command::new("dciodvfy").arg(&file).output() else { break };
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
        assert!(!said.contains("Error"), "{said}");
    }
}
