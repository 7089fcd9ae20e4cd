//! YRT-PET: the ring's list has the events of CASToR's; every field; what is refused.

use std::fs;

use tomoscope::data::tof_mm;
use tomoscope::io::list_mode::{ListOptions, YrtFields};
use tomoscope::scanner::Crystal;

use super::castor::checksum;
use super::lists::{Word, bytes_of_words, put_square, read_list};
use super::{assert_says, folder, real_data};

#[test]
fn the_ring_has_the_events_of_castors_list() {
    let (Some(path), Some(scanner)) = (real_data("listmode/ring_yrt.lmDat"), real_data("listmode/TEST_RING_8x96.lut")) else {
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
    assert_says(&read_list(&path, &options).unwrap_err(), &["ring_yrt.lmDat", "byte", "0 to 767", "fields"]);
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
    assert_says(&read(tof, &[Word::U(0), Word::U(0), Word::U(1), Word::F(f32::NAN)]).unwrap_err(), &["byte 0", "NaN"]);
    assert_says(&read(randoms, &[Word::U(0), Word::U(0), Word::U(1), Word::F(-1.0)]).unwrap_err(), &["byte 0", "random rate"]);
    assert_says(&read(randoms, &words[..7]).unwrap_err(), &["byte 16", "12 of the 16 bytes"]);
    assert_says(&read(YrtFields::default(), &[Word::U(0), Word::U(0), Word::U(4)]).unwrap_err(), &["byte 0", "number 4"]);
    let both = YrtFields { tof_ps: Some([300.0, 0.0]), has_randoms: true, ..YrtFields::default() };
    assert_says(&read(both, &words).unwrap_err(), &["randoms", "range of time of flight"]);
    assert_says(&read(YrtFields { tof_ps: Some([0.0, 0.0]), ..YrtFields::default() }, &words).unwrap_err(), &["FWHM"]);
    assert_says(&read_list(&path, &ListOptions::default()).unwrap_err(), &["a.lmDat", "look-up table (.lut)"]);
    let odd = ListOptions { scanner: Some(path.clone()), ..ListOptions::default() };
    assert_says(&read_list(&path, &odd).unwrap_err(), &["table of crystals", ".geom"]);
}
