//! YRT-PET: the ring's list has the events of CASToR's; every field; what is refused.

use std::fs;

use tomoscope::data::tof_mm;
use tomoscope::io::list_mode::{ListOptions, YrtFields};
use tomoscope::scanner::Crystal;

use super::castor::checksum;
use super::data::data_file;
use super::lists::{Word, bytes_of_words, put_square, read_list};
use super::{assert_brief, assert_event, assert_problem, folder, warns_of};

#[test]
fn the_ring_has_the_events_of_castors_list() {
    let (Some(path), Some(scanner)) = (data_file("listmode/ring_yrt.lmDat"), data_file("listmode/TEST_RING_8x96.lut")) else {
        return;
    };
    let yrt = YrtFields { tof_ps: Some([400.2769, 400.2769]), ..YrtFields::default() };
    let options = ListOptions { scanner: Some(scanner), yrt, ..ListOptions::default() };
    let list = read_list(&path, &options).unwrap();
    let castor = read_list(&path.with_file_name("ring_list.Cdh"), &ListOptions::default()).unwrap();
    assert_eq!(list.prompts.len(), 40_000);
    assert!(list.prompts.pairs == castor.prompts.pairs && list.prompts.times_ms == castor.prompts.times_ms);
    assert!(list.prompts.tof_mm == castor.prompts.tof_mm);
    assert_eq!(checksum(&list.prompts), 17_146_874_553_143_183_977);
    assert_eq!(list.facts.detectors, castor.facts.detectors);
    assert!(list.facts.efficiency.is_none() && list.prompts.multiplicative.is_empty() && list.prompts.additive.is_empty());
    // The scanner in words of the program's own: the same crystals by the same numbers.
    let folder = folder();
    let text = "version = 1\nname = \"TEST_RING_8x96\"\n\n[[block]]\ncrystals = [8, 4]\nsize_mm = [20.0, 12.0, 12.0]\n\
                centre_mm = [0.0, 200.0, 0.0]\naround = 12\nalong = 2\nclockwise = true\norder = \"rings\"\n";
    let own = folder.path().join("ring.crystals.toml");
    fs::write(&own, text).unwrap();
    let of_own = read_list(&path, &ListOptions { scanner: Some(own), ..options.clone() }).unwrap();
    assert!(of_own.prompts == list.prompts);
    for (found, expected) in of_own.facts.detectors.crystals().iter().zip(list.facts.detectors.crystals()) {
        let values = |crystal: &Crystal| [crystal.centre_mm, crystal.axes[0], crystal.axes[1], crystal.size_mm];
        let difference = values(found).into_iter().flatten().zip(values(expected).into_iter().flatten());
        assert!(difference.into_iter().all(|(a, b)| (a - b).abs() < 1e-4), "{found:?}, not {expected:?}");
    }
    // Without the field for time of flight the sizes do not fit the crystals.
    let options = ListOptions { yrt: YrtFields::default(), ..options };
    let error = read_list(&path, &options).unwrap_err();
    assert_problem(&error, "UnknownCrystal(");
}

#[test]
fn every_field_of_an_event_has_its_place() {
    let folder = folder();
    put_square(folder.path());
    let path = folder.path().join("a.lmDat");
    let read = |yrt: YrtFields, words: &[Word]| {
        fs::write(&path, bytes_of_words(words)).unwrap();
        read_list(&path, &ListOptions { scanner: Some(folder.path().join("SQUARE.lut")), yrt, ..ListOptions::default() })
    };
    let list = read(YrtFields::default(), &[Word::U(5), Word::U(0), Word::U(1), Word::U(6), Word::U(3), Word::U(2)]).unwrap();
    assert_eq!((list.prompts.pairs.as_slice(), list.prompts.times_ms.as_slice()), (&[[0, 1], [3, 2]][..], &[5, 6][..]));
    assert_eq!(list.facts.detectors.crystals()[0].size_mm, [2.0, 4.0, 6.0], "the text beside the table tells the sides");
    let randoms = YrtFields { has_randoms: true, ..YrtFields::default() };
    let words = [Word::U(0), Word::U(0), Word::U(1), Word::F(0.5), Word::U(3999), Word::U(3), Word::U(2), Word::F(0.0)];
    assert_eq!(read(randoms, &words).unwrap().prompts.additive, [2.0, 0.0], "half a count per second for four seconds");
    let tof = YrtFields { tof_ps: Some([300.0, 0.0]), ..YrtFields::default() };
    let list = read(tof, &[Word::U(0), Word::U(0), Word::U(1), Word::F(100.0)]).unwrap();
    assert_eq!(list.prompts.tof_mm, [[tof_mm(-100.0) as f32; 2]], "late at the second crystal is near the first");
    assert_eq!(list.facts.tof.as_ref().unwrap().fwhm_mm, tof_mm(300.0));
    let refusal = |yrt: YrtFields, words: &[Word]| read(yrt, words).unwrap_err();
    assert_event(&refusal(tof, &[Word::U(0), Word::U(0), Word::U(1), Word::F(f32::NAN)]), "a.lmDat", 0, "TimeOfFlight(NaN)");
    assert_event(
        &refusal(randoms, &[Word::U(0), Word::U(0), Word::U(1), Word::F(-1.0)]),
        "a.lmDat",
        0,
        r#"Rate("random", -1.0)"#,
    );
    assert_event(&refusal(randoms, &words[..7]), "a.lmDat", 16, "CutEvent { found: 12, size: 16 }");
    assert_event(&refusal(YrtFields::default(), &[Word::U(0), Word::U(0), Word::U(4)]), "a.lmDat", 0, "UnknownCrystal(4, 4)");
    let without_width = YrtFields { tof_ps: Some([0.0, 0.0]), ..YrtFields::default() };
    assert_brief(&refusal(without_width, &words), "io.unsupported.yrt-pet a.lmDat Tof");
    assert_brief(&read_list(&path, &ListOptions::default()).unwrap_err(), "io.unsupported.yrt-pet a.lmDat NoTable");
    let odd = ListOptions { scanner: Some(path.clone()), ..ListOptions::default() };
    assert_brief(&read_list(&path, &odd).unwrap_err(), "io.unknown-ending a.lmDat");
}

#[test]
fn randoms_are_spread_over_the_given_range_of_time_of_flight() {
    let folder = folder();
    put_square(folder.path());
    let path = folder.path().join("a.lmDat");
    let first = [Word::U(0), Word::U(0), Word::U(1), Word::F(100.0), Word::F(0.5)];
    let second = [Word::U(3999), Word::U(3), Word::U(2), Word::F(-150.0), Word::F(0.0)];
    fs::write(&path, [bytes_of_words(&first), bytes_of_words(&second)].concat()).unwrap();
    let options = |tof_range_ps: Option<f64>| {
        let yrt = YrtFields { tof_ps: Some([300.0, 0.0]), tof_range_ps, has_randoms: true };
        ListOptions { scanner: Some(folder.path().join("SQUARE.lut")), yrt, ..ListOptions::default() }
    };
    let list = read_list(&path, &options(Some(800.0))).unwrap();
    // Half a count per second for four seconds.
    assert!((f64::from(list.prompts.additive[0]) * tof_mm(800.0) - 2.0).abs() < 1e-6 && list.prompts.additive[1] == 0.0);
    assert_eq!(list.facts.tof.as_ref().unwrap().window_mm, [-0.5 * tof_mm(800.0), 0.5 * tof_mm(800.0)]);
    assert!(list.notices.is_empty(), "{:?}", list.notices);
    assert!(warns_of(&read_list(&path, &options(Some(250.0))).unwrap().notices, "1 events lies outside"));
    let alone = YrtFields { tof_range_ps: Some(800.0), ..YrtFields::default() };
    let refused = read_list(&path, &ListOptions { yrt: alone, ..options(None) }).unwrap_err();
    assert_brief(&refused, "io.unsupported.yrt-pet a.lmDat TofRange");
}
