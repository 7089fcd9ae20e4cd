//! How a reconstruction on the command line shows what it does: a bar on a terminal, a line per iteration elsewhere, and
//! at the end where the time went.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use crate::session::{AlgorithmKind, IterateReport, StartInfo};

/// A bar, or nothing where standard error is not a terminal.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Nothing to show yet.
    pub fn new() -> Self {
        Self { bar: None }
    }

    /// Starts to count towards so many steps.
    pub fn begin(&mut self, num_steps: usize) {
        if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {eta} left");
            let bar = ProgressBar::new(num_steps as u64).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_message("iteration 0");
            self.bar = Some(bar);
        }
    }

    /// A step is done.
    pub fn step(&self, report: &IterateReport, num_iterations: usize) {
        let iteration = format!("iteration {} of {num_iterations}", report.iteration);
        match &self.bar {
            Some(bar) => {
                bar.set_message(iteration);
                bar.set_position(report.subiteration as u64);
            }
            None if report.completes_iteration => {
                eprintln!("{iteration}, {:.2} s since the start", report.elapsed.as_secs_f64());
            }
            None => {}
        }
    }

    /// A line on standard error, above the bar.
    pub fn print(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| eprintln!("{line}")),
            None => eprintln!("{line}"),
        }
    }

    /// A line on standard output, above the bar.
    pub fn tell(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| println!("{line}")),
            None => println!("{line}"),
        }
    }

    /// Takes the bar away.
    pub fn end(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

/// Says what the run became.
pub fn announce(info: &StartInfo, num_iterations: usize) {
    let settings = &info.settings;
    let ([nx, ny, nz], [dx, dy, dz]) = (settings.grid.size, settings.grid.voxel_mm);
    let algorithm = match settings.algorithm {
        AlgorithmKind::Mlem => "MLEM".to_owned(),
        AlgorithmKind::Osem => format!("OSEM with {} subsets", info.num_subsets),
    };
    let secs = info.estimate.secs_per_iteration.map_or(String::new(), |secs| format!(", about {} per iteration", duration(secs)));
    println!("device        {}", info.device);
    println!("projector     {}", info.projector);
    println!("accumulation  {}", info.accumulation);
    println!("image         {nx} × {ny} × {nz} voxels of {dx:.4} × {dy:.4} × {dz:.4} mm");
    println!("algorithm     {algorithm}, {num_iterations} iterations");
    println!("needs         about {:.0} MiB{secs}", info.estimate.memory_bytes as f64 / f64::from(1 << 20));
}

/// Sums of the times of all steps.
#[derive(Default)]
pub struct Times {
    /// Name and sum of each stage.
    stages: Vec<(&'static str, Duration)>,
    num_steps: usize,
    elapsed: Duration,
}

impl Times {
    /// Adds a step.
    pub fn add(&mut self, report: &IterateReport) {
        let step = report.stages.named().into_iter().chain([("measuring", report.measure), ("handing over", report.publish)]);
        if self.stages.is_empty() {
            self.stages = step.collect();
        } else {
            self.stages.iter_mut().zip(step).for_each(|((_, sum), (_, time))| *sum += time);
        }
        self.num_steps += 1;
        self.elapsed = report.elapsed;
    }

    /// Prints where the time went.
    pub fn print(&self) {
        println!("{} steps in {}", self.num_steps, duration(self.elapsed.as_secs_f64()));
        let total = self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE);
        for (name, time) in self.stages.iter().filter(|(_, time)| !time.is_zero()) {
            let secs = time.as_secs_f64();
            println!("  {name:<16} {:>9}  {:>3.0} %", duration(secs), 100.0 * secs / total);
        }
    }
}

/// A time with three digits or so.
fn duration(secs: f64) -> String {
    match secs {
        s if s < 1.0 => format!("{:.1} ms", 1e3 * s),
        s if s < 120.0 => format!("{s:.2} s"),
        s => format!("{:.1} min", s / 60.0),
    }
}
