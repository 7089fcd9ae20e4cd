//! Panes: tabs, the maximised pane, hidden panes, layouts by key and saved ones; films.

use egui::{Event, Key, PointerButton};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use tomoscope::ui::App;

use super::{click, finished, wait_for, wait_for_files};

const SIZE: [f32; 2] = [1400.0, 900.0];

fn has(harness: &Harness<'_, App>, label: &str) -> bool {
    harness.query_by_label(label).is_some()
}

pub fn double_click(harness: &mut Harness<'_, App>, label: &str) {
    let at = harness.get_by_label(label).rect().center();
    harness.hover_at(at);
    harness.run_steps(3);
    for _ in 0..2 {
        let button =
            |pressed| Event::PointerButton { pos: at, button: PointerButton::Primary, pressed, modifiers: Default::default() };
        harness.input_mut().events.extend([button(true), button(false)]);
        harness.step();
    }
    harness.run_steps(3);
}

fn press(harness: &mut Harness<'_, App>, key: Key) {
    harness.key_press(key);
    harness.run_steps(3);
}

#[test]
fn a_plot_fills_the_window_after_a_double_click_on_its_title() {
    let Some(mut harness) = finished(SIZE, egui::Theme::Dark) else { return };
    let small = harness.get_by_label("Plot: noise").rect();
    double_click(&mut harness, "Noise");
    assert!(!has(&harness, "Transaxial slice") && has(&harness, "Restore panes"));
    let large = harness.get_by_label("Plot: noise").rect();
    assert!(large.width() > 1300.0 && large.height() > 700.0, "{large:?}");
    harness.check_accessibility();
    press(&mut harness, Key::Escape);
    assert_eq!(harness.get_by_label("Plot: noise").rect(), small);
    press(&mut harness, Key::F11);
    assert!(!has(&harness, "Plot: noise") && harness.get_by_label("Transaxial slice").rect().height() > 600.0);
    click(&mut harness, "Restore panes");
    assert!(has(&harness, "Plot: noise"));
}

#[test]
fn panes_are_hidden_and_arranged_and_an_arrangement_is_saved() {
    let Some(mut harness) = finished(SIZE, egui::Theme::Light) else { return };
    click(&mut harness, "Layout");
    click(&mut harness, "Study and run");
    assert!(!has(&harness, "Restart"));
    let wide = harness.get_by_label("Transaxial slice").rect();
    let field = harness.get_by_label("Name of this layout");
    field.focus();
    field.type_text("no forms");
    harness.run_steps(3);
    click(&mut harness, "Save layout");
    press(&mut harness, Key::Escape);
    press(&mut harness, Key::F3);
    assert!(has(&harness, "Restart") && has(&harness, "Reference: none"), "the layout for comparisons");
    click(&mut harness, "Layout");
    click(&mut harness, "no forms");
    assert!(!has(&harness, "Restart"));
    press(&mut harness, Key::Escape);
    assert_eq!(harness.get_by_label("Regions").rect().left(), 0.0);
    // The layout of the slices is not part of it.
    click(&mut harness, "Layout");
    click(&mut harness, "Layout Watch");
    click(&mut harness, "Study and run");
    press(&mut harness, Key::Escape);
    assert_eq!(harness.get_by_label("Transaxial slice").rect(), wide);
}

#[test]
fn a_film_has_a_picture_of_each_iterate_and_of_each_angle() {
    let Some(mut harness) = finished([1000.0, 700.0], egui::Theme::Dark) else { return };
    let folder = tempfile::tempdir().unwrap();
    for (command, name) in [("Film of the iterates or images", "iterates.png"), ("Film of the rotating projection", "turn.png")] {
        let path = folder.path().join(name);
        harness.key_press_modifiers(egui::Modifiers::COMMAND, Key::K);
        harness.run_steps(3);
        harness.event(Event::Text(command.into()));
        harness.run_steps(3);
        press(&mut harness, Key::Enter);
        harness.event(Event::Text(path.to_str().unwrap().into()));
        harness.run_steps(2);
        press(&mut harness, Key::Enter);
        wait_for(&mut harness, "the film", |app| !app.is_filming());
        wait_for_files(&mut harness);
        let mut reader = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(&path).unwrap())).read_info().unwrap();
        let num_pictures = reader.info().animation_control.unwrap().num_frames;
        assert_eq!(num_pictures, if name == "turn.png" { 36 } else { 3 });
        let mut pictures = Vec::new();
        for _ in 0..num_pictures {
            let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
            reader.next_frame(&mut pixels).unwrap();
            pictures.push(pixels);
        }
        assert!(pictures.windows(2).all(|pair| pair[0] != pair[1]), "{name}: two pictures are the same");
        let has_text = |keyword: &str| reader.info().utf8_text.iter().any(|text| text.keyword == keyword);
        assert!(has_text("Provenance") && has_text("Software"));
    }
}
