//! Messages that name an option of the command line, in the words of the window.

use crate::plan::AlgorithmChoice;

/// Labels of the settings that all algorithms have, by their options. (Those of one algorithm have theirs in the registry.)
const LABELS: &[(&str, &str)] = &[
    ("algorithm", "Algorithm"),
    ("device", "Device"),
    ("duration-secs", "Scan duration"),
    ("frame", "Frames"),
    ("frames", "Frames"),
    ("image", "Voxels"),
    ("iterations", "Iterations"),
    ("no-tof", "Time of flight"),
    ("projector", "Projector"),
    ("psf", "Resolution model"),
    ("psf-fwhm-mm", "Resolution model"),
    ("radicals", "Radicals"),
    ("rays", "Rays per LOR"),
    ("subsets", "Subsets"),
    ("tof-mash", "Time of flight"),
    ("tof-sigmas", "Time of flight"),
    ("voxel-mm", "Voxel mm"),
];

/// Returns a message with the labels of the window in place of options that have one: "(--device cpu)" is "(Device: cpu)".
pub fn in_window(text: &str) -> String {
    let mut parts = text.split("--");
    let mut words = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !(c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')).unwrap_or(part.len());
        let (option, rest) = part.split_at(end);
        match label(option) {
            None => words += &format!("--{part}"),
            // Two options of one setting: "(--psf-fwhm-mm, --psf)".
            Some(label) if words.ends_with(&format!("{label}, ")) => {
                words.truncate(words.len() - 2);
                words += rest;
            }
            Some(label) => {
                let is_value = |text: &str| text.starts_with(' ') && text.find(')').is_some_and(|end| !text[..end].contains(','));
                words += label;
                words += if is_value(rest) { ":" } else { "" };
                words += rest;
            }
        }
    }
    words
}

fn label(option: &str) -> Option<&'static str> {
    let of_all = LABELS.iter().find(|(other, _)| *other == option).map(|(_, label)| *label);
    let key = option.replace('-', "_");
    of_all.or_else(|| AlgorithmChoice::all_settings().into_iter().find(|setting| setting.key == key).map(|setting| setting.label))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_have_the_names_of_the_window() {
        for (text, expected) in [
            ("use another device (--device cpu)", "use another device (Device: cpu)"),
            ("leave them out (--replicates)", "leave them out (Replicates)"),
            ("leave it out here (--psf-fwhm-mm, --psf)", "leave it out here (Resolution model)"),
            ("found 3 s (--as-if-secs): set it (--duration-secs)", "found 3 s (As if scanned for): set it (Scan duration)"),
            ("(--no-tof ignores the bins)", "(Time of flight: ignores the bins)"),
            ("name their file (--tubes)", "name their file (--tubes)"),
            ("no option -- only a dash", "no option -- only a dash"),
        ] {
            assert_eq!(in_window(text), expected);
        }
    }
}
