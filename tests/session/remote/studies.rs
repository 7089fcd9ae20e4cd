//! Studies that are opened one after the other while the one before is still being read: no image comes under another's title.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tomoscope::data::{Counts, Michelogram, Study};
use tomoscope::io::{calibration_beside, store_calibration, write_projections};
use tomoscope::plan::{Cache, Data, StudyFiles};
use tomoscope::remote::{Connection, Remote};
use tomoscope::scanner::find;
use tomoscope::session::{EndReason, EventKind, Setup};
use tomoscope::task::Task;

use super::super::script::{Script, scripted, value_of};
use super::{RemoteSession, Tamper, counts_of, file, start, watch};

/// Numbers that follow from one another (Marsaglia's xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    /// A delay, none of three times.
    fn delay(&mut self) -> Duration {
        Duration::from_micros([0, 0, 200, 1000, 3000, 8000][self.below(6) as usize])
    }
}

/// Number of studies, all of one scanner.
const NUM_SCANS: u64 = 7;

fn title(number: u64) -> String {
    format!("scan {number}")
}

fn scan(number: u64) -> Study<Data> {
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let counts = vec![number as f32; geometry.num_bins()];
    Study::new(title(number), Data::from(Counts::new(Michelogram::new(geometry, counts).unwrap())))
}

/// Runs whose image is their study's number times 1000, and the steps done.
fn numbered() -> Setup {
    let mut script = scripted(|_| Script::new(1));
    Box::new(move |job, task| {
        let run = job.study.title.strip_prefix("scan ").unwrap().parse().unwrap();
        script(job, task).map(|prepared| {
            let algorithm = Box::new(Script { run, ..Script::new(1) });
            tomoscope::plan::Prepared { algorithm, ..prepared }
        })
    })
}

/// Input in pieces with pauses.
struct Late(Box<dyn Read + Send>, Dice);

impl Read for Late {
    fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        let most = bytes.len().min(1 + self.1.below(1 << 14) as usize);
        std::thread::sleep(self.1.delay() / 20);
        self.0.read(&mut bytes[..most])
    }
}

/// Opens a study, and stops it after a time if given. Returns the study that a window would display, with its number.
fn open(remote: &Remote, number: u64, stop_after: Option<Duration>) -> Option<(u64, Arc<Study<Counts>>)> {
    let task = Task::new();
    std::thread::scope(|scope| {
        let stopper = stop_after.map(|time| {
            scope.spawn({
                let task = &task;
                move || {
                    std::thread::sleep(time);
                    task.stop();
                }
            })
        });
        let outcome = remote.open(&file(&format!("/{number}")), &task);
        stopper.into_iter().for_each(|stopper| stopper.join().unwrap());
        let study = counts_of(outcome.ok()?.study().unwrap());
        assert_eq!(study.title, title(number), "another study has come than was asked for");
        Some((number, Arc::new(study)))
    })
}

/// Runs a study, and sees that the image is its own.
fn see(there: &RemoteSession, (number, study): &(u64, Arc<Study<Counts>>)) {
    let run = start(&there.session, study, 2);
    let (kinds, image) = watch(&there.session, run);
    assert!(matches!(kinds.last(), Some(EventKind::Ended(EndReason::Completed))), "{number}: {kinds:?}");
    let started = kinds.iter().find_map(|kind| if let EventKind::Started(info) = kind { Some(info) } else { None });
    assert_eq!(started.unwrap().job.study.title, title(*number));
    let image = image.unwrap();
    assert_eq!(image.volume.as_slice()[0], value_of(*number as usize, image.id.subiteration), "the image of another study");
}

/// Opens pairs of studies at almost the same time, stops one, both or none, and starts a run of the displayed one.
fn pairs(seed: u64, num_pairs: usize) -> [usize; 4] {
    let dice = Mutex::new(Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1));
    let delays = Mutex::new(Dice(seed ^ 0x2545_f491_4f6c_dd1d));
    let scans: BTreeMap<u64, Study<Data>> = (0..NUM_SCANS).map(|number| (number, scan(number))).collect();
    let read = move |files: &StudyFiles, task: &Task| {
        let number = files.measured().to_str().unwrap().trim_start_matches('/').parse::<u64>().unwrap();
        let [before, after] = std::array::from_fn(|_| delays.lock().unwrap().delay());
        std::thread::sleep(before);
        task.check().map_err(|stopped| stopped.to_string())?;
        // From here on nothing stops it.
        std::thread::sleep(after);
        Ok((scans[&number].clone(), files.clone()))
    };
    let late: Tamper = Box::new(move |line| Connection { input: Box::new(Late(line.input, Dice(seed | 1))), ..line });
    let there = RemoteSession::opening(Arc::new(read), numbered, late);
    let remote = &there.remote;
    let mut shown = open(remote, 0, None).unwrap();
    see(&there, &shown);
    let mut counted = [0; 4];
    for _ in 0..num_pairs {
        let (numbers, stops, pause, stays) = {
            let mut dice = dice.lock().unwrap();
            let numbers = [dice.below(NUM_SCANS), dice.below(NUM_SCANS)];
            let which = dice.below(4);
            let stops = [0, 1].map(|place| (which >> place & 1 == 1).then(|| dice.delay()));
            (numbers, stops, dice.delay(), dice.below(8) == 0)
        };
        let [first, second] = std::thread::scope(|scope| {
            let first = scope.spawn(|| open(remote, numbers[0], stops[0]));
            std::thread::sleep(pause);
            let second = scope.spawn(|| open(remote, numbers[1], stops[1]));
            [first, second].map(|opened| opened.join().unwrap())
        });
        // The window shows the one that it asked for last and that came, unless its user stays.
        let come = if stays { None } else { second.or(first) };
        counted[usize::from(come.is_some()) * 2 + usize::from(stops.iter().any(Option::is_some))] += 1;
        shown = come.unwrap_or(shown);
        see(&there, &shown);
    }
    counted
}

#[test]
fn no_image_comes_under_the_title_of_another_study() {
    let counted: Vec<AtomicU64> = (0..4).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for seed in 1..=20 {
            let counted = &counted;
            scope.spawn(move || {
                let of_seed = pairs(seed, 50);
                counted.iter().zip(of_seed).for_each(|(sum, num)| _ = sum.fetch_add(num as u64, Ordering::Relaxed));
            });
        }
    });
    let counted: Vec<u64> = counted.into_iter().map(AtomicU64::into_inner).collect();
    assert_eq!(counted.iter().sum::<u64>(), 1000);
    assert!(counted.iter().all(|num| *num > 5), "all orders were tried: {counted:?}");
}

/// The calibration of the scan's folder comes with the study; that of another scan is refused with a notice.
#[test]
fn the_calibration_of_the_folder_is_sent_with_the_study() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("scan.hs");
    let geometry = Arc::new(find("small").unwrap().geometry.clone());
    let write = |value: f32| {
        let counts = vec![value; geometry.num_bins()];
        write_projections(&path, &Michelogram::new(Arc::clone(&geometry), counts).unwrap()).unwrap();
    };
    write(1.0);
    let open = |files: &StudyFiles, task: &Task| files.read(&Cache::nowhere(), task).map_err(|error| error.to_string());
    let there = RemoteSession::opening(Arc::new(open), || scripted(|_| Script::new(1)), Box::new(|line| line));
    let read = || there.remote.open(&file(path.to_str().unwrap()), &Task::new()).unwrap().study().unwrap();
    assert_eq!(read().calibration, None);
    store_calibration(&path, Some(52_300.25)).unwrap();
    let remote = read();
    assert_eq!(remote.calibration, calibration_beside(&path).unwrap());
    assert!(remote.calibration == Some(52_300.25) && remote.study.notices.is_empty(), "{:?}", remote.study.notices);
    write(2.0);
    let remote = read();
    assert_eq!(remote.calibration, None);
    assert!(
        remote.study.notices.iter().any(|notice| notice.text.contains("belongs to another scan")),
        "{:?}",
        remote.study.notices
    );
}
