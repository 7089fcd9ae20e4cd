//! Flow control of images: the number of bytes in flight follows the rate of the connection and a few milliseconds more, so that
//! the connection never runs dry, and other messages never wait long behind images.
//!
//! The window acknowledges each piece. The time until then minus the delay of the empty connection is the time of the piece in a
//! queue; the number of bytes in flight follows this time to [`QUEUE_TIME`] (as LEDBAT does, RFC 6817). The delay of the empty
//! connection is measured from time to time by a piece that is sent alone. After it the number of bytes doubles in each round trip
//! until the connection is full again.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Target time of a piece in the queue.
const QUEUE_TIME: Duration = Duration::from_millis(5);

/// Initial limit of bytes in flight: a round trip of 20 ms at 100 Mbit/s.
const INITIAL: f64 = 256e3;

/// Range of the limit, bytes.
const RANGE: [f64; 2] = [32e3, 16e6];

/// Interval of measurements of the delay of the empty connection.
const MEASURE_INTERVAL: Duration = Duration::from_secs(10);

/// Number of bytes over which the rate is measured.
const RATE_BYTES: usize = 1 << 20;

/// Part of a deviation that is corrected in one round trip.
const GAIN: f64 = 0.5;

/// Piece in flight.
struct Piece {
    sent_at: Instant,
    bytes: usize,
    /// True for the last piece of slices.
    ends_slices: bool,
    /// True if the piece is alone and measures the delay of the empty connection.
    measures: bool,
}

/// Pieces in flight, and the limit of their bytes.
pub struct Flow {
    in_flight: VecDeque<Piece>,
    num_bytes: usize,
    /// Limit of bytes in flight.
    max_bytes: f64,
    /// Limit after a measurement, which grows to `max_bytes`.
    max_bytes_now: f64,
    /// True until a queue forms: the limit grows fast.
    is_beginning: bool,
    /// Delay of the empty connection, and the time of its measurement.
    delay: Option<(Duration, Instant)>,
    /// True while the connection runs dry for a measurement.
    is_draining: bool,
    received_at: Option<Instant>,
    /// Bytes since the last measurement of the rate, and the time that they took.
    carried: (usize, Duration),
    bytes_per_sec: f64,
}

impl Default for Flow {
    fn default() -> Self {
        Self {
            in_flight: VecDeque::new(),
            num_bytes: 0,
            max_bytes: INITIAL,
            max_bytes_now: INITIAL,
            is_beginning: true,
            delay: None,
            is_draining: false,
            received_at: None,
            carried: (0, Duration::ZERO),
            bytes_per_sec: 0.0,
        }
    }
}

impl Flow {
    /// Returns true if another piece may be sent.
    pub fn has_room(&mut self, now: Instant) -> bool {
        self.is_draining |= self.is_measurement_due(now) && !self.in_flight.is_empty();
        if self.is_draining { self.in_flight.is_empty() } else { (self.num_bytes as f64) < self.max_bytes_now }
    }

    fn is_measurement_due(&self, now: Instant) -> bool {
        self.delay.is_none_or(|(_, at)| now.duration_since(at) > MEASURE_INTERVAL)
    }

    /// Adds a piece that is sent, perhaps the last one of slices.
    pub fn sent(&mut self, now: Instant, bytes: usize, ends_slices: bool) {
        let measures = self.in_flight.is_empty() && self.is_measurement_due(now);
        if measures {
            self.delay = Some((self.delay.map_or(Duration::MAX, |(delay, _)| delay), now));
            if std::mem::take(&mut self.is_draining) {
                self.max_bytes_now = 0.0;
            }
        }
        self.in_flight.push_back(Piece { sent_at: now, bytes, ends_slices, measures });
        self.num_bytes += bytes;
    }

    /// Returns a lower bound of the rate, bytes/s; zero if unknown.
    pub fn bytes_per_sec(&self) -> f64 {
        self.bytes_per_sec
    }

    /// Returns the number of images whose slices are in flight.
    pub fn num_slices(&self) -> usize {
        self.in_flight.iter().filter(|piece| piece.ends_slices).count()
    }

    /// Removes the oldest piece, which has arrived; `None` if none is in flight.
    pub fn received(&mut self, now: Instant) -> Option<()> {
        let was_full = self.num_bytes as f64 >= self.max_bytes;
        let Piece { sent_at, bytes, measures, .. } = self.in_flight.pop_front()?;
        self.num_bytes -= bytes;
        let time = now.duration_since(sent_at);
        let (before, measured_at) = self.delay.unwrap_or((time, now));
        let delay = if measures { time } else { before.min(time) };
        self.delay = Some((delay, measured_at));
        let queue = time - delay;
        // The pieces of the beginning, sent at once, form no lasting queue.
        self.is_beginning &= queue < QUEUE_TIME.max(delay / 4);
        let deviation = (QUEUE_TIME.as_secs_f64() - queue.as_secs_f64()) / time.as_secs_f64().max(1e-6);
        let growth = if self.is_beginning { 1.0 } else { GAIN * deviation.clamp(-1.0, 2.0) };
        // Below the limit it is unknown whether the connection could carry more.
        if was_full || growth < 0.0 {
            self.max_bytes = (self.max_bytes + bytes as f64 * growth).clamp(RANGE[0], RANGE[1]);
        }
        self.max_bytes_now = (self.max_bytes_now + bytes as f64).min(self.max_bytes);
        self.measure_rate(bytes, now.duration_since(self.received_at.map_or(sent_at, |last| last.max(sent_at))));
        self.received_at = Some(now);
        Some(())
    }

    /// Adds bytes to the measurement of the rate, and the time since those before or since they were sent.
    fn measure_rate(&mut self, bytes: usize, time: Duration) {
        let (carried, taken) = (self.carried.0 + bytes, self.carried.1 + time);
        self.carried = (carried, taken);
        if carried >= RATE_BYTES {
            // If one end was busy, the rate was less than the connection's.
            self.bytes_per_sec = (carried as f64 / taken.as_secs_f64().max(1e-6)).max(0.8 * self.bytes_per_sec);
            self.carried = (0, Duration::ZERO);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PIECE: usize = 24_000;

    /// Sends over a simulated connection of this rate and round trip for some seconds. Returns the rate in the second half of the time,
    /// and the maximum and mean waiting time of its pieces.
    fn send(flow: &mut Flow, start: Instant, bytes_per_sec: f64, round_trip: f64, secs: f64) -> (f64, f64, f64) {
        let at = |secs: f64| start + Duration::from_secs_f64(secs);
        let (mut now, mut free, mut in_flight) = (0.0f64, 0.0f64, VecDeque::new());
        let (mut num_bytes, mut waits) = (0, Vec::new());
        while now < secs {
            while flow.has_room(at(now)) {
                flow.sent(at(now), PIECE, false);
                let wait = (free - now).max(0.0);
                free = now + wait + PIECE as f64 / bytes_per_sec;
                in_flight.push_back(free + round_trip);
                if now > secs / 2.0 {
                    waits.push(wait);
                }
            }
            now = in_flight.pop_front().unwrap();
            flow.received(at(now)).unwrap();
            num_bytes += if now > secs / 2.0 { PIECE } else { 0 };
        }
        let mean = waits.iter().sum::<f64>() / waits.len() as f64;
        (num_bytes as f64 / (secs / 2.0), waits.into_iter().fold(0.0, f64::max), mean)
    }

    #[test]
    fn every_connection_is_filled_and_no_queue_forms() {
        for bytes_per_sec in [1.25e6, 12.5e6, 125e6] {
            for round_trip in [0.001, 0.02, 0.1] {
                let (rate, longest, mean) = send(&mut Flow::default(), Instant::now(), bytes_per_sec, round_trip, 20.0);
                let piece = PIECE as f64 / bytes_per_sec;
                let text = format!("{bytes_per_sec} B/s, {round_trip} s: {rate} B/s, waits {mean} s, at most {longest} s");
                assert!(rate > 0.85 * bytes_per_sec, "{text}");
                // It is longer for a moment after a measurement of the delay.
                assert!(mean < 0.007 + piece && longest < 0.01 + 0.5 * round_trip + 2.0 * piece, "{text}");
            }
        }
    }

    #[test]
    fn a_changed_connection_is_measured_again() {
        let (mut flow, start) = (Flow::default(), Instant::now());
        send(&mut flow, start, 12.5e6, 0.02, 12.0);
        while flow.received(start + Duration::from_secs(13)).is_some() {}
        let (rate, longest, mean) = send(&mut flow, start + Duration::from_secs(13), 5e6, 0.08, 30.0);
        assert!(rate > 4.5e6 && mean < 0.007 && longest < 0.06, "{rate} {longest} {mean}");
        assert!(Flow::default().received(start).is_none());
    }
}
