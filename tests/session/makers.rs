//! Tubes of response and matrices that are made during a session.

use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, unbounded};
use tomoscope::data::{BasisKind, SuperLors};
use tomoscope::io::saved_matrix::write_matrix;
use tomoscope::io::saved_tubes::write_tubes;
use tomoscope::montecarlo::{AllThreads, Amount, TubeRecipe};
use tomoscope::plan::{Cache, DeviceChoice, MatrixRecipe, SimulationBudget, make_matrix};
use tomoscope::scanner;
use tomoscope::session::{MatrixFile, Outcome, Producer, Source, TubeSource};
use tomoscope::task::Task;

const LIMIT: Duration = Duration::from_secs(60);

fn recipe(num: u64) -> TubeRecipe {
    TubeRecipe { amount: Amount::Histories(num), super_lors: SuperLors::new(6, 5, 9).unwrap(), ..TubeRecipe::default() }
}

fn simulation(num: u64, cache: Cache) -> TubeSource {
    TubeSource::Simulation { scanner: scanner::find("vrpet").unwrap(), recipe: recipe(num), device: DeviceChoice::Cpu, cache }
}

fn start<S: Source>(source: S) -> (Producer<S>, Receiver<()>) {
    let (wake, woken) = unbounded();
    (Producer::start(source, move || _ = wake.send(())), woken)
}

fn come<S: Source>(source: S) -> Outcome<S::Product> {
    let (maker, woken) = start(source);
    woken.recv_timeout(LIMIT).unwrap();
    maker.poll().unwrap()
}

#[test]
fn tubes_come_from_a_simulation_a_cache_or_a_file_and_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(folder.path());
    let (made, _) = come(simulation(20_000, cache.clone())).unwrap();
    let directly = recipe(20_000).make(scanner::find("vrpet").unwrap(), &mut AllThreads, &Task::new()).unwrap();
    assert_eq!(made, directly);
    let (found, notices) = come(simulation(20_000, cache)).unwrap();
    assert!(found == made && notices[0].text.starts_with("tubes of response read from the cache"), "{notices:?}");
    let path = folder.path().join("mine.tubes");
    write_tubes(&path, &made).unwrap();
    assert_eq!(come(TubeSource::File(path)).unwrap().0, made);
    assert!(come(TubeSource::File("/nowhere/a.tubes".into())).unwrap_err().contains("/nowhere/a.tubes"));
}

#[test]
fn a_matrix_comes_from_its_file_or_a_sentence_says_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("some.matrix");
    let ring = scanner::find_ring("madpet2-reduced").unwrap();
    let recipe = MatrixRecipe::of(ring, BasisKind::Blobs, SimulationBudget::Histories(20_000), 3);
    let matrix = make_matrix(ring, &recipe, DeviceChoice::Cpu, &Task::new()).unwrap().result;
    write_matrix(&path, &matrix).unwrap();
    let (read, notices) = come(MatrixFile(path.clone())).unwrap();
    assert!(read == matrix && notices[0].text.starts_with("the matrix from"), "{notices:?}");
    std::fs::write(&path, "version = 1").unwrap();
    assert!(come(MatrixFile(path)).unwrap_err().contains("not a system matrix"));
}

#[test]
fn what_is_under_way_tells_how_far_it_is_and_ends_when_it_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let (maker, woken) = start(simulation(1_000_000_000_000, Cache::at(folder.path())));
    let begun = Instant::now();
    while maker.remaining().is_none() {
        assert!(begun.elapsed() < LIMIT, "nothing was done");
        std::thread::sleep(Duration::from_millis(5));
    }
    let fraction = maker.fraction().unwrap();
    assert!(fraction > 0.0 && fraction < 0.01 && maker.poll().is_none());
    assert!(maker.remaining().unwrap() > Duration::from_secs(60));
    drop(maker);
    // The thread wakes when it ends.
    woken.recv_timeout(LIMIT).unwrap();
    assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "something was kept");
}
