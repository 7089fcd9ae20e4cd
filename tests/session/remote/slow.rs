//! Slow connections: the displayed slices and images, and their rates.

use std::io::{Read, Write, pipe};
use std::time::{Duration, Instant};

use tomoscope::data::{Roi, RoiMask, RoiShape, RoiSums, Volume};
use tomoscope::operator::Accumulation;
use tomoscope::plan::{Job, Prepared};
use tomoscope::recon::{Algorithm, ReconError, StepReport};
use tomoscope::remote::Connection;
use tomoscope::session::{Answer, Command, Control, Event, EventKind, RoiSet, Setup};
use tomoscope::task::Task;

use super::super::runs::cylinder_study;
use super::super::script::{PATIENCE, Script, scripted};
use super::{RemoteSession, Tamper, any, settings};

/// Returns a tamper for a connection of this rate and delay in each direction.
fn slow(bytes_per_sec: f64, delay: Duration) -> Tamper {
    Box::new(move |Connection { input, mut output, program }| {
        let (passing, into) = pipe().unwrap();
        let mut passing = slowed(Box::new(passing), bytes_per_sec, delay);
        std::thread::spawn(move || {
            let mut bytes = vec![0; 1 << 14];
            while let Ok(num @ 1..) = passing.read(&mut bytes) {
                if output.write_all(&bytes[..num]).and_then(|()| output.flush()).is_err() {
                    return;
                }
            }
        });
        Connection { input: slowed(input, bytes_per_sec, delay), output: Box::new(into), program }
    })
}

/// Returns an input of this rate and delay.
fn slowed(mut from: Box<dyn Read + Send>, bytes_per_sec: f64, delay: Duration) -> Box<dyn Read + Send> {
    let (output, mut input) = pipe().unwrap();
    // Capacity of a socket.
    let (sender, under_way) = crossbeam_channel::bounded::<(Instant, Vec<u8>)>(16);
    std::thread::spawn(move || {
        let mut free = Instant::now();
        let mut bytes = vec![0; 1 << 14];
        while let Ok(num @ 1..) = from.read(&mut bytes) {
            free = free.max(Instant::now()) + Duration::from_secs_f64(num as f64 / bytes_per_sec);
            std::thread::sleep(free.saturating_duration_since(Instant::now()));
            if sender.send((free + delay, bytes[..num].to_vec())).is_err() {
                return;
            }
        }
    });
    std::thread::spawn(move || {
        for (at, bytes) in under_way {
            std::thread::sleep(at.saturating_duration_since(Instant::now()));
            if input.write_all(&bytes).is_err() {
                return;
            }
        }
    });
    Box::new(output)
}

/// A scripted algorithm whose images are noise in the field of view: nothing of it can be compressed.
struct Noisy(Script, Vec<f32>);

impl Algorithm for Noisy {
    fn step(&mut self, task: &Task) -> Result<StepReport, ReconError> {
        self.0.step(task)
    }

    fn num_subsets(&self) -> usize {
        self.0.num_subsets()
    }

    fn volume_into(&mut self, volume: &mut Volume) -> Result<(), ReconError> {
        volume.as_mut_slice().copy_from_slice(&self.1);
        Ok(())
    }

    fn set_rois(&mut self, masks: &[RoiMask]) -> Result<(), ReconError> {
        self.0.set_rois(masks)
    }

    fn roi_sums(&mut self) -> Result<Vec<RoiSums>, ReconError> {
        self.0.roi_sums()
    }

    fn set_accumulation(&mut self, accumulation: Accumulation) {
        self.0.set_accumulation(accumulation);
    }

    fn accumulations(&self) -> &'static [Accumulation] {
        self.0.accumulations()
    }
}

/// Steps of 20 ms, 12 an iteration.
fn noisy() -> Setup {
    let mut script = scripted(|_| Script::new(12));
    Box::new(move |job, task| {
        let [nx, ny, _] = job.grid().size;
        let is_inside = |i: usize| (i % nx) as f64 - nx as f64 / 2.0;
        let noise = |i: usize| {
            let i = i as u32;
            f32::from_bits(0x3f80_0000 | ((i ^ i >> 7).wrapping_mul(i | 1).wrapping_mul(0x9e37_79b9) >> 9))
        };
        let value =
            |i: usize| if is_inside(i).hypot((i / nx % ny) as f64 - ny as f64 / 2.0) < nx as f64 / 2.0 { noise(i) } else { 0.0 };
        let values = (0..job.grid().num_voxels()).map(value).collect();
        let wait = |_: usize, _: &Task| {
            std::thread::sleep(Duration::from_millis(20));
            Ok(())
        };
        script(job, task).map(|prepared| Prepared { algorithm: Box::new(Noisy(Script::with_deed(12, wait), values)), ..prepared })
    })
}

/// Run with images of noise through a connection, and the measurements during it.
struct Watched {
    there: RemoteSession,
    run: u64,
    /// Time of the reported start, and times and steps of slices, whole images and points of curves.
    started: Option<Instant>,
    slices: Vec<(Instant, usize)>,
    wholes: Vec<(Instant, usize)>,
    steps: Vec<(Instant, usize)>,
    /// When the regions were moved last, the number of that edit, and how long each answer took.
    asked: Option<Instant>,
    branch: u64,
    answers: Vec<Duration>,
}

impl Watched {
    fn start(tamper: Tamper, size: [usize; 3]) -> Self {
        let there = RemoteSession::tampered(any(&cylinder_study()), noisy, tamper);
        let head = there.open();
        let mut settings = settings(&head, 1000);
        settings.grid = tomoscope::geometry::Grid::centred(size, [0.55, 0.55, 0.85]).unwrap();
        there.remote.show_slices(size.map(|n| n / 2));
        let job = Job::of(&head, settings);
        let run = there.session.send(Command::Start { job, rois: Self::ball(0), paused: false });
        let lists = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let (slices, wholes, steps, answers) = lists;
        Self { there, run, started: None, slices, wholes, steps, asked: None, branch: 0, answers }
    }

    fn ball(branch: u64) -> RoiSet {
        let ball = Roi::new("ball", RoiShape::Sphere { radius_mm: 12.0 }, [(branch % 30) as f64, 4.0, 5.0]);
        RoiSet { branch, rois: vec![ball].into() }
    }

    /// Moves the region, once it has been measured where it was.
    fn drag(&mut self) {
        if self.asked.is_none() {
            self.branch += 1;
            self.asked = Some(Instant::now());
            self.there.session.send(Control::SetRois(Self::ball(self.branch)));
        }
    }

    /// Receives events and images.
    fn look(&mut self) {
        for Event { run, kind } in self.there.session.events().try_iter() {
            match kind {
                EventKind::Started(_) if run == self.run => self.started = Some(Instant::now()),
                EventKind::Iterate(report) => self.steps.push((Instant::now(), report.subiteration)),
                EventKind::Measured(Answer::Regions(sums)) if sums.branch == self.branch => {
                    self.answers.extend(self.asked.take().map(|at| at.elapsed()));
                }
                EventKind::Failed(text) => panic!("{text}"),
                _ => {}
            }
        }
        while let Some(frame) = self.there.session.take_frame() {
            let list = if frame.slices.is_some() { &mut self.slices } else { &mut self.wholes };
            list.push((Instant::now(), frame.id.subiteration));
            self.there.session.return_frame(frame);
        }
    }

    /// Returns true if every reported step has its point.
    fn has_all_points(&self) -> bool {
        self.steps.iter().map(|(_, step)| *step).eq(1..=self.steps.len())
    }
}

#[test]
fn answers_and_slices_overtake_a_whole_image_that_is_under_way() {
    // The first whole image alone takes some seconds.
    let mut watched = Watched::start(slow(4e5, Duration::from_millis(5)), [128, 128, 32]);
    let begun = Instant::now();
    while watched.wholes.is_empty() {
        assert!(begun.elapsed() < PATIENCE);
        watched.look();
        if !watched.slices.is_empty() {
            watched.drag();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let Watched { answers, slices, steps, .. } = &watched;
    assert!(answers.len() >= 3, "{} answers before the first whole image", answers.len());
    assert!(slices.len() >= 3 && steps.len() > 10, "{} slices, {} points", slices.len(), steps.len());
    assert!(watched.has_all_points());
}

/// Lines of 100 Mbit/s and 20 ms, there and back or each way, and images of 256 × 256 × 47 voxels.
#[test]
#[ignore = "it measures: cargo test --release --test session -- --ignored --nocapture slow_line"]
fn a_slow_line_in_figures() {
    for way in [10, 20] {
        let mut watched = Watched::start(slow(12.5e6, Duration::from_millis(way)), [256, 256, 47]);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            watched.look();
            // A region is dragged for some time.
            if watched.wholes.len() > 3 && watched.branch < 200 {
                watched.drag();
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        assert!(watched.has_all_points(), "points are missing");
        let Watched { there, started, slices, wholes, steps, mut answers, .. } = watched;
        let per_sec = |list: &[(Instant, usize)]| {
            let secs = list.last().unwrap().0.duration_since(list[0].0).as_secs_f64();
            (list.len() - 1) as f64 / secs
        };
        let first = |list: &[(Instant, usize)]| list[0].0.duration_since(started.unwrap());
        let longest = slices.windows(2).map(|pair| pair[1].0.duration_since(pair[0].0)).max();
        answers.sort();
        println!("{way} ms each way, latency {:?}", there.remote.latency());
        println!("first slices {:?} after the start, first whole image {:?}", first(&slices), first(&wholes));
        let rates = [&steps, &slices, &wholes].map(|list| per_sec(list));
        println!("steps, slices, whole images a second: {rates:.1?}; slices were {longest:?} apart at most");
        println!("regions: median {:?}, worst {:?} of {}", answers.get(answers.len() / 2), answers.last(), answers.len());
    }
}
