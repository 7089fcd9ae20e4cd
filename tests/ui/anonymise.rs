//! *Anonymise*: no byte string of the patient's identifiers is left in any written file and in any sent object.

use std::path::{Path, PathBuf};
use std::process::Command;

use dicom_object::open_file;
use egui::{Event, Key, Theme};
use egui_kittest::Harness;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use tomoscope::ui::{App, Source};

use super::drop_file;
use super::identity::{files, identifiers, put_series};
use super::lesions::type_path;
use super::node::node;
use super::save_image_as;
use super::send::fill;
use super::{click, give_up_unsaved, renderer, wait_for, wait_for_files, wait_to_see, window_on};

const SIZE: [f32; 2] = [1800.0, 1100.0];

/// Fills the form of a series to send, and sends it to a node at this port.
fn send(harness: &mut Harness<'_, App>, folder: &Path, port: &str) {
    click(harness, "Send…");
    type_path(harness, folder);
    harness.run_steps(3);
    for (label, text) in [("AE title", "ARCHIVE"), ("Host", "127.0.0.1"), ("Port", port)] {
        fill(harness, label, text);
    }
    let states: Vec<_> = harness.query_all_by_label("Anonymise").map(|node| node.accesskit_node().toggled()).collect();
    assert!(states.len() > 1 && states.iter().all(|state| *state == Some(egui::accesskit::Toggled::True)), "{states:?}");
    click(harness, "Send");
    wait_for_files(harness);
}

fn load_rois(harness: &mut Harness<'_, App>, path: &Path) {
    click(harness, "Load…");
    type_path(harness, path);
    click(harness, "Lesions");
    wait_to_see(harness, "the numbers", |harness| harness.query_by_label("Lesion a").is_some());
}

#[test]
fn no_identifier_is_left_in_any_file() {
    let Some(renderer) = renderer() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = put_series(folder.path());
    let rois = folder.path().join("rois.toml");
    std::fs::write(
        &rois,
        "version = 1\n[[roi]]\nname = \"a\"\nshape = \"sphere\"\ncentre_mm = [-12.0, -25.0, 46.0]\nradius_mm = 5.0\nrole = \"none\"\n",
    )
    .unwrap();
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    let mut harness = window_on(renderer, SIZE, Theme::Dark, false, Source::file(source.clone()));
    wait_for(&mut harness, "the image", |app| app.work.shown().volume().is_some() && app.work.is_run_over());
    // Off at first: the files have the identity.
    assert!(!harness.state().work.is_anonymous());
    let own = folder.path().join("own.dcm");
    save_image_as(&mut harness, &own);
    let found: Vec<_> = files(&own).iter().map(|path| identifiers(&std::fs::read(path).unwrap())).collect();
    assert!(found.len() == 3 && found.iter().all(|found| found.contains(&"Mustermann") && found.contains(&"20260301")));
    harness.get_all_by_label("Anonymise").next().unwrap().scroll_to_me();
    harness.run_steps(3);
    harness.get_all_by_label("Anonymise").next().unwrap().click();
    harness.run_steps(3);
    assert!(harness.state().work.is_anonymous());
    for name in ["image.dcm", "image.nii.gz"] {
        save_image_as(&mut harness, &out.join(name));
    }
    load_rois(&mut harness, &rois);
    click(&mut harness, "Set baseline");
    harness.run_steps(5);
    for (button, name) in [("Export lesions…", "lesions.csv"), ("Lesion report…", "lesions.pdf")] {
        click(&mut harness, button);
        type_path(&mut harness, &out.join(name));
        wait_for_files(&mut harness);
        assert!(out.join(name).exists(), "{name}");
    }
    // A segmentation has the patient of its source.
    click(&mut harness, "Export segmentation…");
    type_path(&mut harness, &out.join("refused.seg.dcm"));
    wait_for_files(&mut harness);
    assert!(harness.state().work.notices().texts().any(|text| text.contains("has the patient of its source")));
    assert!(!out.join("refused.seg.dcm").exists());
    harness.get_by_label("Save picture").scroll_to_me();
    harness.run_steps(3);
    click(&mut harness, "Save picture");
    click(&mut harness, "Slices screenshot…");
    harness.event(Event::Text(out.join("slices.png").to_str().unwrap().into()));
    harness.run_steps(2);
    harness.key_press(Key::Enter);
    harness.run_steps(3);
    wait_for_files(&mut harness);
    // Copies are sent; the series itself stays as it is.
    let (to, work) = node(|_| 0, usize::MAX);
    let port = to.rsplit_once(':').unwrap().1.to_owned();
    send(&mut harness, &source, &port);
    let received = work.join().unwrap();
    assert_eq!(received.len(), 3);
    assert!(received.iter().all(|(.., bytes)| identifiers(bytes).is_empty()));
    assert!(files(&source).iter().all(|path| identifiers(&std::fs::read(path).unwrap()).contains(&"Mustermann")));
    // An anonymous series is sent as it is.
    let (to, work) = node(|_| 0, usize::MAX);
    let port = to.rsplit_once(':').unwrap().1.to_owned();
    send(&mut harness, &out.join("image.dcm"), &port);
    let mut sent: Vec<String> = work.join().unwrap().into_iter().map(|(uid, ..)| uid).collect();
    let uid = |path: PathBuf| open_file(path).unwrap().meta().media_storage_sop_instance_uid().trim_end_matches('\0').to_owned();
    let mut own_uids: Vec<String> = files(&out.join("image.dcm")).into_iter().map(uid).collect();
    sent.sort();
    own_uids.sort();
    assert_eq!(sent, own_uids);
    // The saved image has anonymous segmentations.
    drop_file(&mut harness, &out.join("image.dcm"));
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the anonymous image", |app| {
        app.work.pet_scan().is_some_and(|scan| scan.scan_start.as_ref().unwrap().value.year() == 2000)
    });
    wait_for(&mut harness, "its pixels", |app| app.work.shown().volume().is_some() && app.work.is_run_over());
    click(&mut harness, "Regions");
    load_rois(&mut harness, &rois);
    click(&mut harness, "Export segmentation…");
    type_path(&mut harness, &out.join("lesions.seg.dcm"));
    wait_for_files(&mut harness);
    assert!(out.join("lesions.seg.dcm").exists());
    let written = files(&out);
    assert!(written.len() > 9, "{written:?}");
    for path in written {
        assert_eq!(identifiers(&std::fs::read(&path).unwrap()), [""; 0], "{}", path.display());
    }
    let Ok(text) = Command::new("pdftotext").args([out.join("lesions.pdf").to_str().unwrap(), "-"]).output() else {
        println!("skipped: no pdftotext");
        return;
    };
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        identifiers(text.as_bytes()).is_empty() && text.contains("anonymous image") && text.contains("the baseline"),
        "{text}"
    );
}
