//! Files whose contents do not suit each other, or the run: refused before anything is computed.

use std::fs;

use tomoscope::io::list_mode::{ListOptions, YrtFields};
use tomoscope::io::saved_matrix::read_matrix;
use tomoscope::plan::{ListError, ListSelection, check_basis, list_study, ring_basis};
use tomoscope::scanner::find_ring;
use tomoscope::task::Task;
use tomoscope_support::square::{Word, bytes_of_words, put_castor, put_square};

#[test]
fn a_matrix_of_functions_that_its_basis_does_not_have_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let ring = find_ring("madpet2-reduced").unwrap();
    let lens = (0..41_328u32).map(|lor| u32::from(lor % 10 == 0));
    let elements = (0..4133u32).map(|number| (number % 357) << 15 | number);
    let data: Vec<u8> = lens.chain(elements).flat_map(u32::to_le_bytes).collect();
    fs::write(folder.path().join("data.bin"), &data).unwrap();
    let of = |from: &str, to: &str| {
        let text = include_str!("../io/header.matrix");
        assert!(text.contains(from), "{from}");
        let text = text.replace(from, to).replace("crc32 00000000", &format!("crc32 {:08x}", crc32fast::hash(&data)));
        fs::write(folder.path().join("a.matrix"), text).unwrap();
        read_matrix(&folder.path().join("a.matrix")).unwrap()
    };
    let good = of("seed = 1", "seed = 1");
    check_basis(ring, &good).unwrap();
    assert_eq!(ring_basis(ring, &good.basis, None).unwrap().cells().num_basic(), good.num_basic);
    for (from, to) in [("spacing_mm = 1.5", "spacing_mm = 0.001"), ("num_basic = 357", "num_basic = 358")] {
        let refusal = check_basis(ring, &of(from, to)).unwrap_err().to_string();
        assert!(refusal.contains("basic functions where its basis has"), "{refusal}");
    }
}

#[test]
fn time_of_flight_with_randoms_of_no_range_must_be_left_out() {
    let folder = tempfile::tempdir().unwrap();
    put_square(folder.path());
    let path = folder.path().join("a.lmDat");
    let first = [Word::U(0), Word::U(0), Word::U(1), Word::F(100.0), Word::F(0.5)];
    let second = [Word::U(3999), Word::U(3), Word::U(2), Word::F(-150.0), Word::F(0.0)];
    fs::write(&path, [bytes_of_words(&first), bytes_of_words(&second)].concat()).unwrap();
    let study = |tof_range_ps: Option<f64>, without_tof: bool| {
        let yrt = YrtFields { tof_ps: Some([300.0, 0.0]), tof_range_ps, has_randoms: true };
        let options = ListOptions { scanner: Some(folder.path().join("SQUARE.lut")), yrt, ..ListOptions::default() };
        let selection = ListSelection { without_tof, ..ListSelection::default() };
        list_study(&path, &options, &selection, &Task::new())
    };
    assert!(matches!(study(None, false), Err(ListError::TofRange)));
    // Half a count per second for four seconds.
    for range_ps in [None, Some(800.0)] {
        let list = study(range_ps, true).unwrap().measured;
        assert!(list.prompts.tof_mm.is_empty() && list.facts.tof.is_none());
        assert!((list.prompts.additive[0] - 2.0).abs() < 1e-5 && list.prompts.additive[1] == 0.0, "{:?}", list.prompts.additive);
    }
    let list = study(Some(800.0), false).unwrap().measured;
    assert!((f64::from(list.prompts.additive[0]) * tomoscope::data::tof_mm(800.0) - 2.0).abs() < 1e-6);
}

#[test]
fn attenuation_that_the_events_tell_is_not_corrected_for_again() {
    let folder = tempfile::tempdir().unwrap();
    let header = "Scanner name: SQUARE\nData filename: a.Cdf\nNumber of events: 1\nData mode: list-mode\nData type: PET\n\
                  Start time (s): 0\nDuration (s): 20\nAttenuation correction flag: 1\n";
    let path = put_castor(folder.path(), header, &bytes_of_words(&[Word::U(7), Word::F(2.0), Word::U(0), Word::U(2)]));
    let options = ListOptions { attenuation: Some("mu.nii.gz".into()), ..ListOptions::default() };
    let refused = list_study(&path, &options, &ListSelection::default(), &Task::new());
    assert!(matches!(&refused, Err(ListError::AttenuatedTwice { map }) if map.ends_with("mu.nii.gz")), "{refused:?}");
}
