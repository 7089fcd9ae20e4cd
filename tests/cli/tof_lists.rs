//! Sinograms with time of flight from list-mode data.

use std::path::Path;

use tomoscope::data::Michelogram;
use tomoscope::io::read_projections;

use super::{done, refused, tomoscope};

fn split(arguments: &str) -> Vec<&str> {
    arguments.split(' ').collect()
}

/// Returns the notices of a run.
fn notices(folder: &Path, arguments: &str) -> String {
    let output = tomoscope(folder, &split(arguments));
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn sinogram(folder: &Path, name: &str) -> Michelogram {
    read_projections(&folder.join(name)).unwrap().0
}

/// Returns the number before a text.
fn number_before(text: &str, after: &str) -> f64 {
    let before = text.split(after).next().unwrap();
    before.rsplit([' ', '\n']).next().unwrap().parse().unwrap_or_else(|_| panic!("no number before '{after}': {text}"))
}

#[test]
fn events_are_sorted_by_their_time_of_flight() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let simulate = "simulate cylinder --scanner small --list-mode --counts 3e4 --seed 4";
    done(at, &split(&format!("{simulate} --background 0.25 --tof-ps 100 -o events.petsird")));
    assert!(notices(at, "histogram events.petsird -o plain.hs").contains("--tof sorts the events"));
    let text = notices(at, "histogram events.petsird --tof -o tof.hs");
    let (plain, tof) = (sinogram(at, "plain.hs"), sinogram(at, "tof.hs"));
    let bins = tof.tof.as_ref().unwrap().bins;
    assert!((bins.fwhm_mm - 14.99).abs() < 0.01 && bins.num % 2 == 1 && bins.num > 6, "{bins:?}");
    assert!(text.contains(&bins.text()), "{text}");
    // Only randoms are outside of the bins: counts are where they are without time of flight, or missing.
    let outside = number_before(&text, " prompts outside the time-of-flight bins");
    assert_eq!(plain.total() - tof.total(), outside);
    assert!(outside > 0.0 && tof.counts.iter().zip(plain.counts.iter()).all(|(tof, plain)| tof <= plain));
    // The randoms in the bins are their part of the window.
    let share = number_before(&text, " % of the coincidence window");
    let [all, within] = ["plain_add.hs", "tof_add.hs"].map(|name| sinogram(at, name).total());
    assert!((within / all - share / 100.0).abs() < 1e-3 && share < 60.0, "{within} of {all}, {share} %");
    let true_outside = outside - (all - within);
    assert!(true_outside.abs() < 5.0 * outside.sqrt(), "{true_outside}");
    // Bins over the whole window lose nothing.
    let text = notices(at, "histogram events.petsird --tof --tof-bins 61 --tof-bin-mm 5 -o whole.hs");
    let whole = sinogram(at, "whole.hs");
    assert!(whole.counts == plain.counts && text.contains("the outer bins lack counts"), "{text}");
    assert_eq!((whole.tof.as_ref().unwrap().bins.num, whole.tof.as_ref().unwrap().bins.width_mm), (61, 5.0));
    let text = done(at, &["info", "tof.hs"]);
    assert!(text.contains(&bins.text()), "{text}");
    // Without time of flight there is nothing to sort by.
    done(at, &split(&format!("{simulate} -o without.petsird")));
    assert!(refused(at, 1, &split("histogram without.petsird --tof -o no.hs")).contains("leave --tof out"));
    assert!(refused(at, 2, &split("histogram events.petsird --tof-bins 3 -o no.hs")).contains("--tof"));
}

#[test]
fn a_background_of_events_alone_is_reported_as_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let simulate = "simulate cylinder --scanner small --list-mode --counts 1e4 --seed 4";
    const LEFT_OUT: &str = " events is not in the histogram";
    done(at, &split(&format!("{simulate} --background 0.25 -o randoms.Cdh")));
    let text = notices(at, "histogram randoms.Cdh -o randoms.hs");
    let num_outside = if text.contains("prompts lie outside") { number_before(&text, " prompts lie outside") } else { 0.0 };
    assert_eq!(number_before(&text, LEFT_OUT), sinogram(at, "randoms.hs").total() + num_outside, "{text}");
    assert!(!at.join("randoms_add.hs").exists());
    // Delayed coincidences are a background of all bins, and a list without randoms lacks none.
    done(at, &split(&format!("{simulate} --background 0.25 -o randoms.petsird")));
    done(at, &split(&format!("{simulate} -o plain.Cdh")));
    for list in ["randoms.petsird", "plain.Cdh"] {
        let text = notices(at, &format!("histogram {list} -o other.hs"));
        assert!(!text.contains(LEFT_OUT), "{text}");
    }
}
