//! Usual windows of images, by the unit of their values.

use crate::data::Unit;

pub struct WindowPreset {
    /// Displayed name, with its ends or its width and level.
    pub name: &'static str,
    /// Values at the bottom and the top of the palette.
    pub window: [f32; 2],
}

const fn preset(name: &'static str, window: [f32; 2]) -> WindowPreset {
    WindowPreset { name, window }
}

/// Windows of uptake values.
const UPTAKE: [WindowPreset; 3] =
    [preset("SUV 0–6", [0.0, 6.0]), preset("SUV 0–10", [0.0, 10.0]), preset("SUV 0–15", [0.0, 15.0])];

/// Windows of Hounsfield units: level ± half of the width.
const HOUNSFIELD: [WindowPreset; 4] = [
    preset("Soft tissue W 400 L 40", [-160.0, 240.0]),
    preset("Lung W 1500 L −600", [-1350.0, 150.0]),
    preset("Bone W 1800 L 400", [-500.0, 1300.0]),
    preset("Brain W 80 L 40", [0.0, 80.0]),
];

/// Returns the usual windows of images in a unit, the default first.
pub fn window_presets(unit: Unit) -> &'static [WindowPreset] {
    match unit {
        Unit::SuvBodyWeight | Unit::SuvLeanJanmahasatian | Unit::SuvLeanJames => &UPTAKE,
        Unit::Hounsfield => &HOUNSFIELD,
        _ => &[],
    }
}
