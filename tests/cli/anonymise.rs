//! Images without the patient's identity: no byte string of the identifiers is left in any output.

use std::path::Path;

use dicom_dictionary_std::tags;
use dicom_object::open_file;
use tomoscope::data::ImageChoice;
use tomoscope::data::{SuvDefinition, suv_factor};
use tomoscope::io::read_images;

use super::done;
use super::identity::{files, identifiers, put_series};

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
        assert_eq!(identifiers(&bytes), [""; 0], "{}", path.display());
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
