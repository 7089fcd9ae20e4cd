//! Counts of pairs of crystals in the window: opened, their matrix made, given up, found again and opened, and the ways to add.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use egui::Theme;
use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};
use egui_kittest::{Harness, HarnessBuilder};
use strum::VariantArray as _;
use tomoscope::data::{MatrixMade, PairCounts, ResponseMatrix, Unit};
use tomoscope::io::saved_matrix::{data_file, write_matrix};
use tomoscope::io::saved_pairs::write_pairs;
use tomoscope::operator::Accumulation;
use tomoscope::plan::{Cache, DeviceChoice, MatrixRecipe, SimulationBudget, default_matrix_recipe, make_matrix};
use tomoscope::scanner::{CrystalRing, find_ring};
use tomoscope::session::{EndReason, Trace};
use tomoscope::task::Task;
use tomoscope::ui::{App, AppOptions, BUILT_IN, BuiltIn, Measured, RunState, Source};

use super::{choose_built_in, click, give_up_unsaved, renderer, show_research, small_study, wait_for};
use super::{close, drop_file};

const SIZE: [f32; 2] = [1400.0, 1400.0];
const TITLE: &str = "Rods on MADPET-II";

fn reduced() -> &'static CrystalRing {
    find_ring("madpet2-reduced").unwrap()
}

/// The built-in study with fewer counts.
pub fn rods() -> Source {
    let study = BUILT_IN.into_iter().find(|study| study.title == TITLE).unwrap();
    assert!(matches!(study.measured, Measured::Pairs { ring: "madpet2-reduced", .. }));
    Source::BuiltIn(BuiltIn { measured: Measured::Pairs { ring: "madpet2-reduced", counts: 20_000 }, ..study })
}

/// A matrix that says of itself what the quick one does, of few decays.
fn matrix() -> &'static ResponseMatrix {
    static MATRIX: LazyLock<ResponseMatrix> = LazyLock::new(|| {
        let recipe = default_matrix_recipe(reduced()).unwrap();
        let SimulationBudget::Histories(num_histories) = recipe.amount else { panic!("{recipe:?}") };
        let few = MatrixRecipe { amount: SimulationBudget::Histories(200_000), ..recipe };
        let matrix = make_matrix(reduced(), &few, DeviceChoice::Cpu, &Task::new()).unwrap().result;
        ResponseMatrix { made: matrix.made.map(|made| MatrixMade { num_histories, ..made }), ..matrix }
    });
    &MATRIX
}

/// Where the quick matrix is kept in a folder.
fn kept_in(folder: &Path) -> PathBuf {
    folder.join(concat!("madpet2-reduced-blobs-10000000-seed1-v", env!("CARGO_PKG_VERSION"), ".matrix"))
}

/// The window on a study, with a cache of its own.
fn opened(start: Source, folder: &Path) -> Option<Harness<'static, App>> {
    let options = AppOptions {
        start,
        autostart: false,
        device: DeviceChoice::Cpu,
        num_iterations: Some(3),
        for_pictures: true,
        desktop_dialogs: false,
        cache: Cache::at(folder),
        trace: Trace::off(),
    };
    let builder: HarnessBuilder<App> = Harness::builder().with_size(SIZE).with_theme(Theme::Dark).renderer(renderer()?);
    let mut harness = builder.build_eframe(|creation| App::new(creation, options));
    wait_for(&mut harness, "the study", |app| !app.work.is_loading());
    Some(harness)
}

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_all_by_label_contains(label).next().is_some()
}

fn tells(app: &App, text: &str) -> bool {
    app.work.notices().texts().any(|notice| notice.contains(text))
}

fn is_being_made(app: &App) -> bool {
    app.work.live().making().is_some_and(|(what, part, _)| what == "the matrix" && part > 0.0)
}

fn has_ended(app: &App, reason: EndReason) -> bool {
    app.work.live().state == RunState::Ended(reason)
}

fn step(harness: &mut Harness<'_, App>) {
    let done = harness.state().work.live().progress().0;
    click(harness, "Step");
    // It holds, or is over where that was its last iteration.
    wait_for(harness, "the step", |app| !app.work.live().is_running() && app.work.live().progress().0 == done + 1);
}

fn radio<'a>(harness: &'a Harness<'_, App>, accumulation: Accumulation) -> egui_kittest::Node<'a> {
    harness.get_by_role_and_label(Role::RadioButton, accumulation.name())
}

#[test]
fn the_matrix_is_made_at_a_start_and_given_up_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut harness) = opened(rods(), folder.path()) else { return };
    for words in
        ["MADPET-II with fewer", "288: 18 modules, 2 layers of 2 × 4", "41328, 72 symmetries", "20000", "Monte Carlo simulation"]
    {
        assert!(has(&harness, words), "{words}");
    }
    assert!(has(&harness, "none yet: computed at the start") && has(&harness, "Open matrix…"));
    let names: Vec<_> = harness.state().work.document().rois.iter().map(|roi| roi.name.clone()).collect();
    assert_eq!(names, ["hot", "warm", "cold"]);
    let truth = harness.state().work.study().unwrap().truth.clone().unwrap();
    assert_eq!((truth.unit, truth.grid.size), (Unit::DecaysPerMm3, [48, 48, 14]));
    harness.check_accessibility();
    for start in ["Start", "Restart", "Step"] {
        click(&mut harness, start);
        wait_for(&mut harness, "some progress", is_being_made);
        assert!(has(&harness, "Making the matrix: ") && has(&harness, "setting up · making the matrix: "));
        click(&mut harness, "Stop and keep image");
        wait_for(&mut harness, "the end", |app| has_ended(app, EndReason::Cancelled));
        assert!(!has(&harness, "aking the matrix") && harness.state().work.matrix().is_none(), "after {start}");
    }
    // Another study takes the place of one whose matrix is being made; of it nothing is left.
    click(&mut harness, "Restart");
    wait_for(&mut harness, "some progress", is_being_made);
    let Source::BuiltIn(small) = small_study() else { unreachable!() };
    choose_built_in(&mut harness, small.title);
    wait_for(&mut harness, "the small study", |app| app.work.counts().is_some() && app.work.live().run == 0);
    assert!(!has(&harness, "aking the matrix") && !has(&harness, "Open matrix…"));
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "something was kept");
    // The window closes without a question while a matrix is made: nothing is lost that a start does not make again.
    let Some(mut harness) = opened(rods(), folder.path()) else { return };
    click(&mut harness, "Start");
    wait_for(&mut harness, "some progress", is_being_made);
    assert!(close(&mut harness));
}

#[test]
fn a_matrix_that_is_kept_reconstructs_at_once_and_a_broken_one_is_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    write_matrix(&kept_in(folder.path()), matrix()).unwrap();
    let Some(mut harness) = opened(rods(), folder.path()) else { return };
    click(&mut harness, "Start");
    wait_for(&mut harness, "three iterations", |app| has_ended(app, EndReason::Completed));
    assert!(tells(harness.state(), "the matrix read from the cache"));
    assert_eq!(harness.state().work.matrix().map(Arc::as_ref), Some(matrix()));
    assert!(has(&harness, "counts behind each (mean); blobs 1.5 mm apart") && has(&harness, "system matrix of blobs"));
    // Decays in a mm³, as many as were simulated: hot above warm above cold.
    let app = harness.state();
    let (volume, truth) = (app.work.shown().volume().unwrap(), app.work.study().unwrap().truth.clone().unwrap());
    assert_eq!(volume.unit, Unit::DecaysPerMm3);
    let mean = |of: &tomoscope::data::Volume, roi: usize| {
        let sums = app.work.document().rois[roi].mask(&of.grid).sums(of.as_slice());
        sums.sum / sums.weight
    };
    let [hot, warm, cold] = [0, 1, 2].map(|roi| mean(volume, roi));
    assert!(hot > 1.3 * warm && warm > 1.1 * cold, "{hot} {warm} {cold}");
    assert!((0.7..1.3).contains(&(warm / mean(&truth, 1))), "{warm} where {} is true", mean(&truth, 1));
    assert!(has(&harness, "decays/mm³"));
    // With a race the same iterations give nearly the same image, and the panel says how nearly.
    radio(&harness, Accumulation::NonAtomic).click();
    harness.run_steps(3);
    click(&mut harness, "Race");
    click(&mut harness, "Restart");
    wait_for(&mut harness, "three iterations with a race", |app| {
        app.work.live().run == 2 && has_ended(app, EndReason::Completed)
    });
    wait_for(&mut harness, "the comparison", |app| matches!(app.work.likeness(), Some(Ok(likeness)) if likeness.iteration == 3));
    let correlation = harness.state().work.likeness().unwrap().unwrap().correlation;
    assert!(correlation > 0.9 && correlation <= 1.0, "{correlation}");
    harness.get_by_label("CC with race-free run 1, iteration 3");
    // Another study of the ring has the matrix at once.
    let scan = folder.path().join("again.pairs");
    write_pairs(&scan, harness.state().work.pairs().unwrap()).unwrap();
    drop_file(&mut harness, &scan);
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the other study", |app| app.work.study().is_some_and(|study| study.title == "again.pairs"));
    assert!(harness.state().work.matrix().is_some() && harness.state().work.live().run == 0);
    // Broken it is not used.
    let data = data_file(&kept_in(folder.path()));
    let mut bytes = fs::read(&data).unwrap();
    bytes[200_000] ^= 1;
    fs::write(&data, bytes).unwrap();
    let Some(mut harness) = opened(rods(), folder.path()) else { return };
    click(&mut harness, "Start");
    wait_for(&mut harness, "its making", is_being_made);
    assert!(harness.state().work.matrix().is_none());
}

#[test]
fn files_of_pairs_and_matrices_open_and_what_does_not_fit_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut harness) = opened(small_study(), folder.path()) else { return };
    let [scan, own] = ["scan.pairs", "own.matrix"].map(|name| folder.path().join(name));
    write_matrix(&own, matrix()).unwrap();
    drop_file(&mut harness, &own);
    wait_for(&mut harness, "the refusal", |app| tells(app, "a system matrix needs a crystal-pair histogram"));
    let counts = (0..reduced().num_lors()).map(|lor| (lor % 3) as f32).collect();
    write_pairs(&scan, &PairCounts::new(Arc::new(reduced().clone()), counts).unwrap()).unwrap();
    drop_file(&mut harness, &scan);
    wait_for(&mut harness, "the counts", |app| app.work.pairs().is_some());
    assert!(has(&harness, "scan.pairs") && harness.state().work.document().rois.is_empty());
    click(&mut harness, "Open matrix…");
    harness.get_by_label("a system matrix (.matrix)");
    harness.event(egui::Event::Text(own.to_str().unwrap().into()));
    harness.run_steps(2);
    click(&mut harness, "OK");
    wait_for(&mut harness, "the matrix", |app| app.work.matrix().is_some());
    assert!(tells(harness.state(), "the matrix from") && tells(harness.state(), "the next run uses this system matrix"));
    step(&mut harness);
    // One that is no matrix leaves what was there.
    fs::write(folder.path().join("no.matrix"), "version = 1").unwrap();
    drop_file(&mut harness, &folder.path().join("no.matrix"));
    wait_for(&mut harness, "the refusal", |app| tells(app, "not a system matrix"));
    assert_eq!(harness.state().work.matrix().map(Arc::as_ref), Some(matrix()));
    // The full ring tells what its matrix takes, and takes none of another ring.
    let full = find_ring("madpet2").unwrap();
    let counts = vec![1.0; full.num_lors()];
    write_pairs(&scan, &PairCounts::new(Arc::new(full.clone()), counts).unwrap()).unwrap();
    drop_file(&mut harness, &scan);
    give_up_unsaved(&mut harness);
    wait_for(&mut harness, "the full ring", |app| app.work.pairs().is_some_and(|pairs| pairs.ring.name == "madpet2"));
    assert!(harness.state().work.matrix().is_none());
    let sentence = "that takes minutes on a GPU (in one pass with 43.17 GiB of free memory, else in parts) and hours";
    assert!(has(&harness, sentence));
    wait_for(&mut harness, "the forecast", |app| matches!(app.work.next_start(), Some(Err(reason)) if reason.contains(sentence)));
    click(&mut harness, "Start");
    assert_eq!(harness.state().work.live().run, 0, "it was started");
    drop_file(&mut harness, &own);
    wait_for(&mut harness, "the refusal", |app| {
        tells(app, "the matrix is that of madpet2-reduced, but the counts are of madpet2")
    });
    assert!(harness.state().work.matrix().is_none());
}

#[test]
fn the_five_ways_to_add_are_switched_between_steps_as_far_as_the_device_has_them() {
    let folder = tempfile::tempdir().unwrap();
    write_matrix(&kept_in(folder.path()), matrix()).unwrap();
    let Some(mut harness) = opened(rods(), folder.path()) else { return };
    let paper_only = [Accumulation::Reload, Accumulation::RandomCentralAtomic];
    for way in paper_only {
        assert!(harness.query_by_role_and_label(Role::RadioButton, way.name()).is_none(), "{way} is for papers");
    }
    show_research(&mut harness);
    for &way in Accumulation::VARIANTS {
        assert!(!radio(&harness, way).accesskit_node().is_disabled(), "{way} before a run is there");
    }
    step(&mut harness);
    assert_eq!(harness.state().work.live().accumulation(), Some(Accumulation::Deterministic));
    let offered = harness.state().work.live().info.as_ref().unwrap().accumulations;
    assert_eq!(offered.len(), Accumulation::VARIANTS.len(), "the processor has all");
    click(&mut harness, "Race");
    for &way in Accumulation::VARIANTS {
        assert_eq!(radio(&harness, way).accesskit_node().is_disabled(), !offered.contains(&way), "{way}");
    }
    for &way in offered {
        radio(&harness, way).click();
        harness.run_steps(3);
        step(&mut harness);
        assert_eq!(harness.state().work.live().accumulation(), Some(way));
        assert_eq!(has(&harness, "NOT FOR DIAGNOSIS"), way.has_race(), "{way}");
        assert_eq!(harness.state().work.live().last.as_ref().unwrap().race.is_some(), way.has_race(), "{way}");
        assert_eq!(harness.query_by_label("lost of this iterate").is_some(), way.has_race(), "{way}");
        assert_eq!(has(&harness, &format!("No race condition: {way} backprojection loses nothing")), !way.has_race(), "{way}");
    }
    harness.check_accessibility();
    // Lines know three of them, on keys too.
    let Source::BuiltIn(small) = small_study() else { unreachable!() };
    choose_built_in(&mut harness, small.title);
    wait_for(&mut harness, "the small study", |app| app.work.counts().is_some());
    assert!(harness.query_by_label(Accumulation::Reload.name()).is_none());
    harness.key_press_modifiers(egui::Modifiers::COMMAND, egui::Key::Num4);
    harness.run_steps(3);
    assert!(tells(harness.state(), "reload accumulation needs a system matrix"));
    step(&mut harness);
    assert_eq!(harness.state().work.live().accumulation(), Some(Accumulation::Deterministic));
}
