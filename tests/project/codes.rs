//! The codes of errors are those that the documentation lists.

use std::collections::BTreeSet;
use std::fs;

use strum::VariantNames as _;
use tomoscope::io::{DicomProblem, EventProblem, FormProblem, IoError, PetsirdProblem, Unsupported};
use tomoscope::plan::{SetupError, SetupProblem};

use super::{files_below, in_repository};

/// Everything between backticks in the first column of the document's tables.
fn documented() -> BTreeSet<String> {
    let text = fs::read_to_string(in_repository("docs/error-codes.md")).unwrap();
    let cells = text.lines().filter_map(|line| line.strip_prefix('|')?.split('|').next());
    cells.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(ToOwned::to_owned).collect()
}

#[test]
fn every_code_of_a_file_or_a_set_up_is_documented_and_nothing_else() {
    // These only have the code of another error.
    let others = ["io.counts", "io.unsupported", "io.unsupported.own-form", "io.unsupported.calibration"];
    let of_lists = ["io.events", "io.events.unsupported", "io.events.petsird", "io.dicom"];
    let of_runs = ["setup.recon", "setup.grid", "setup.settings", "setup.matrix", "setup.ring", "setup.photons", "setup.tubes"];
    let others = [&others[..], &of_lists, &of_runs].concat();
    let of_events = EventProblem::VARIANTS.iter().chain(PetsirdProblem::VARIANTS).chain(DicomProblem::VARIANTS);
    let of_set_up = SetupError::VARIANTS.iter().chain(SetupProblem::VARIANTS);
    let names =
        IoError::VARIANTS.iter().chain(Unsupported::VARIANTS).chain(FormProblem::VARIANTS).chain(of_events).chain(of_set_up);
    let mut codes: BTreeSet<String> = names.filter(|name| !others.contains(name)).map(|name| (*name).to_owned()).collect();
    codes.extend(["io.not-found", "io.unsupported.…", "io.events.…", "io.petsird.…", "io.dicom.…"].map(Into::into));
    let is_listed = |code: &String| ["io.", "setup."].iter().any(|part| code.starts_with(part));
    let documented: BTreeSet<String> = documented().into_iter().filter(is_listed).collect();
    let not_documented: Vec<_> = codes.difference(&documented).collect();
    let without_error: Vec<_> = documented.difference(&codes).collect();
    assert!(not_documented.is_empty() && without_error.is_empty(), "missing: {not_documented:?}, too many: {without_error:?}");
}

#[test]
fn the_first_word_of_every_code_is_documented() {
    let documented = documented();
    let mut words = BTreeSet::new();
    for path in files_below(&in_repository("src"), "rs") {
        let text = fs::read_to_string(&path).unwrap();
        let prefixes =
            text.split("prefix = \"").skip(1).filter_map(|rest| rest.split_once(".\"").map(|(word, _)| word.to_owned()));
        words.extend(prefixes);
    }
    assert!(words.len() > 20, "{words:?}");
    // Those whose codes are all listed need no row of their own.
    let have_rows = |word: &&String| !word.starts_with("io") && *word != "setup" && *word != "command";
    let missing: Vec<_> = words.iter().filter(have_rows).filter(|word| !documented.contains(*word)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
