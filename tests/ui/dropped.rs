//! Wrong files dropped on the window while a study runs: a sentence each, and the run does not notice.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use egui::Theme;
use egui_kittest::kittest::Queryable as _;
use egui_kittest::{Harness, HarnessBuilder};
use tomoscope::io::rois::write_rois;
use tomoscope::plan::DeviceChoice;
use tomoscope::session::Trace;
use tomoscope::ui::{App, AppOptions, RunState};

use super::{cache, finished, renderer, small_study, wait_for};
use super::{drop_file, hold};

const SIZE: [f32; 2] = [1400.0, 900.0];
const HEADER: &str = include_str!("../io/corpus/good.hs");
const OBJECTS: &[u8] = include_bytes!("../io/corpus/objects-proj.npy");
const PACKED_IMAGE: &[u8] = include_bytes!("../io/corpus/good.nii.gz");

/// A file, and words of the sentence about it.
type Wrong = (PathBuf, &'static [&'static str]);

fn wrong_files(folder: &Path) -> Vec<Wrong> {
    let file = |name: &str, content: &[u8], says: &'static [&'static str]| -> Wrong {
        let path = folder.join(OsStr::from_bytes(name.as_bytes()));
        fs::write(&path, content).unwrap();
        (path, says)
    };
    let named = |data: &str| HEADER.replace("data.bin", data);
    let start_of_dicom = [&[0; 128][..], b"DICM\x02\x00\x00\x00UL"].concat();
    let cut_header = &HEADER[..HEADER.find("number of dimensions").unwrap()];
    fs::write(folder.join("short.bin"), [1; 99]).unwrap();
    fs::write(folder.join("cut-proj.bin"), [1; 99]).unwrap();
    let is_no_name = folder.join(OsStr::from_bytes(b"scan-\xff\xfe.hs"));
    fs::write(&is_no_name, b"\xff\xfe\x00\x01 no text at all").unwrap();
    let mut wrong = vec![
        file("empty.hs", b"", &["empty.hs", "is empty"]),
        file("cut.hs", cut_header.as_bytes(), &["cut.hs", "the key '", "is missing"]),
        file("alone.hs", named("nowhere.s").as_bytes(), &["alone.hs", "nowhere.s", "copy it to the folder"]),
        file("short.hs", named("short.bin").as_bytes(), &["short.bin", "is too short", "560 bytes", "99", "copy it again"]),
        file("holiday.jpg", b"\xff\xd8\xff\xe0 JFIF", &["holiday.jpg", "no kind that is known", ".hs"]),
        file("settings.json", b"[1, 2, 3]", &["settings.json", "not a ROI file", "a list 'roi'"]),
        file("ct.dcm", &start_of_dicom, &["ct.dcm", "no valid data element"]),
        file("IM000001", &start_of_dicom, &["IM000001", "no valid data element"]),
        file("objects-proj.npy", OBJECTS, &["objects-proj.npy", "|O", "float32"]),
        file("cut.nii.gz", &PACKED_IMAGE[..40], &["cut.nii.gz"]),
        file("table.csv", b"a,b\n1,2\n", &["table.csv", "a table of numbers"]),
        file("cut.sweep", b"version = 1\nunit = \"mT", &["cut.sweep", "line 2", "cut short"]),
        file("cut.s", b"1234", &["cut.s", "of no kind that is known"]),
    ];
    wrong.push((is_no_name, &["scan-", "not an Interfile header"]));
    wrong.push((folder.to_owned(), &["no DICOM image that is read", "no valid data element"]));
    wrong
}

/// The small study under way to many iterations.
fn running() -> Option<Harness<'static, App>> {
    let options = AppOptions {
        start: small_study(),
        autostart: true,
        device: DeviceChoice::Cpu,
        num_iterations: Some(NUM_ITERATIONS),
        for_pictures: true,
        desktop_dialogs: false,
        cache: cache(),
        trace: Trace::off(),
    };
    let builder: HarnessBuilder<App> = Harness::builder().with_size(SIZE).with_theme(Theme::Dark).renderer(renderer()?);
    let mut harness = builder.build_eframe(|creation| App::new(creation, options));
    wait_for(&mut harness, "the first iterate", |app| app.work.shown().id().is_some());
    Some(harness)
}

/// So many that the run outlasts what is dropped.
const NUM_ITERATIONS: usize = 400;

#[test]
fn wrong_files_become_sentences_and_the_run_goes_on_unharmed() {
    let Some(mut alone) = running() else { return };
    wait_for(&mut alone, "the end of the run", |app| app.work.is_run_over());
    let Some(mut harness) = running() else { return };
    // One of the names has characters that no font draws.
    harness.ctx.set_missing_glyph_policy(egui::epaint::text::MissingGlyphPolicy::Tofu);
    let folder = tempfile::tempdir().unwrap();
    let wrong = wrong_files(folder.path());
    let before: Vec<String> = harness.state().work.notices().texts().map(str::to_owned).collect();
    for (number, (path, says)) in wrong.iter().enumerate() {
        drop_file(&mut harness, path);
        let expected = before.len() + number + 1;
        wait_for(&mut harness, "the sentence", |app| !app.work.is_loading() && app.work.notices().len() >= expected);
        let app = harness.state();
        let texts: Vec<&str> = app.work.notices().texts().skip(before.len() + number).collect();
        let [text] = texts[..] else { panic!("{}: {texts:?}", path.display()) };
        println!("{text}\n");
        for word in *says {
            assert!(text.contains(word), "{word}: {text}");
        }
        assert!(text.len() < 400 + path.as_os_str().len(), "{text}");
        assert_eq!(app.work.live().state, RunState::Running, "{text}");
        assert!(harness.query_by_label("Don't save").is_none(), "{text}");
    }
    wait_for(&mut harness, "the end of the run", |app| app.work.is_run_over());
    let [alone, disturbed] = [alone.state(), harness.state()];
    assert_eq!(disturbed.work.shown().id().unwrap().iteration, NUM_ITERATIONS);
    assert!(disturbed.work.shown().volume() == alone.work.shown().volume(), "the image is another");
    assert_eq!(disturbed.work.document(), alone.work.document());
}

#[test]
fn of_files_dropped_together_the_study_is_opened_and_regions_are_taken_at_any_time() {
    let Some(mut harness) = finished(SIZE, Theme::Dark) else { return };
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("scan.s"), 1.0f32.to_le_bytes().repeat(140)).unwrap();
    for name in ["scan_mult.hs", "scan.hs"] {
        fs::write(at(name), HEADER.replace("data.bin", "scan.s")).unwrap();
    }
    let regions = &harness.state().work.document().rois[..1].to_vec();
    write_rois(&at("one.toml"), regions).unwrap();
    drop_file(&mut harness, &at("one.toml"));
    assert_eq!(&harness.state().work.document().rois, regions);
    assert!(harness.state().work.is_run_over() && !harness.state().work.is_loading());
    for name in ["scan_mult.hs", "scan.s"] {
        hold(&mut harness, &at(name));
    }
    drop_file(&mut harness, &at("scan.hs"));
    wait_for(&mut harness, "the scan", |app| app.work.study().is_some_and(|study| study.title.contains("scan")));
    assert!(!harness.state().work.study().unwrap().title.contains("scan_mult"));
    assert!(harness.state().work.notices().texts().any(|text| text.contains("one of 3 dropped files is opened")));
}
