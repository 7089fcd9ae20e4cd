//! Size of what is clicked or touched.

use egui::accesskit::Role;
use egui_kittest::kittest::{NodeT as _, Queryable as _};

use super::finished;

const SIZE: [f32; 2] = [1600.0, 1000.0];

/// Smallest side of a target, points.
const SMALLEST: f32 = 28.0;

#[test]
fn buttons_fields_and_choices_are_large_enough_for_a_finger() {
    let Some(mut harness) = finished(SIZE, egui::Theme::Dark) else { return };
    let roles = [Role::Button, Role::CheckBox, Role::RadioButton, Role::ComboBox, Role::SpinButton, Role::TextInput];
    let mut small = Vec::new();
    for layout in [egui::Key::F2, egui::Key::F3, egui::Key::F4, egui::Key::F6, egui::Key::F7] {
        harness.key_press(layout);
        harness.run_steps(4);
        for role in roles {
            let targets: Vec<_> = harness.get_all_by_role(role).collect();
            assert!(!targets.is_empty(), "no {role:?}");
            for node in targets {
                let size = node.rect().size();
                if size.min_elem() < SMALLEST - 0.1 {
                    let node = node.accesskit_node();
                    small.push(format!("{role:?} '{}' {size}", node.label().or_else(|| node.value()).unwrap_or_default()));
                }
            }
        }
    }
    small.sort();
    small.dedup();
    assert!(small.is_empty(), "{small:#?}");
}
