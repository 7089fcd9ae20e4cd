//! Positron emitters: half-lives and their concepts in DICOM.
//!
//! Half-lives: ENSDF (NuDat 3). Codes: SNOMED CT, DICOM PS3.16, context group 4020 (PET radionuclides).

/// A positron emitter.
#[derive(Debug, PartialEq)]
pub struct Nuclide {
    /// Name: "F-18".
    pub name: &'static str,
    /// Half-life, s.
    pub half_life_secs: f64,
    /// Code in SNOMED CT.
    pub code: &'static str,
    /// Meaning of the code.
    pub meaning: &'static str,
}

/// All known positron emitters.
pub const NUCLIDES: [Nuclide; 9] = [
    nuclide("C-11", 20.364 * 60.0, "40565003", "^11^Carbon"),
    nuclide("N-13", 9.965 * 60.0, "21576001", "^13^Nitrogen"),
    nuclide("O-15", 122.24, "129504001", "^15^Oxygen"),
    nuclide("F-18", 109.77 * 60.0, "77004003", "^18^Fluorine"),
    nuclide("Cu-64", 12.701 * 3600.0, "3932008", "^64^Copper"),
    nuclide("Ga-68", 67.71 * 60.0, "35337001", "^68^Gallium"),
    nuclide("Rb-82", 1.2575 * 60.0, "79197006", "^82^Rubidium"),
    nuclide("Zr-89", 78.41 * 3600.0, "63360001", "^89^Zirconium"),
    nuclide("I-124", 4.1760 * 86400.0, "40937006", "^124^Iodine"),
];

const fn nuclide(name: &'static str, half_life_secs: f64, code: &'static str, meaning: &'static str) -> Nuclide {
    Nuclide { name, half_life_secs, code, meaning }
}

impl Nuclide {
    /// Returns the positron emitter of a name ("F-18", "18F", "^18^Fluorine"), in small or capital letters.
    pub fn find(name: &str) -> Option<&'static Self> {
        let found = parts(name);
        NUCLIDES.iter().find(|nuclide| [nuclide.name, nuclide.meaning].map(parts).contains(&found))
    }
}

/// Returns the letters and the digits of a name.
fn parts(name: &str) -> [String; 2] {
    let letters = name.chars().filter(char::is_ascii_alphabetic).map(|c| c.to_ascii_lowercase()).collect();
    [letters, name.chars().filter(char::is_ascii_digit).collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_forms_of_a_name_are_known() {
        for name in ["F-18", "18F", "f18", "[18F]", "^18^Fluorine"] {
            assert_eq!(Nuclide::find(name).map(|nuclide| nuclide.name), Some("F-18"), "{name}");
        }
        assert!((Nuclide::find("F-18").unwrap().half_life_secs - 6586.2).abs() < 1e-9);
        assert_eq!([Nuclide::find("F-19"), Nuclide::find("18"), Nuclide::find("FDG")], [None; 3]);
    }
}
