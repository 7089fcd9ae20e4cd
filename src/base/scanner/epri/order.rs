//! Order in which projections are used: as acquired, or each as far in angle from all previous ones as any that has arrived, so
//! that the image is complete early.

use crate::geometry::{Point, dot};
use crate::named::named;

/// Directions that are spread one after the other, each as far as can be from those before; further ones follow in a fixed
/// scattered order.
pub(super) const MAX_SPREAD: usize = 2048;

named! {
    "an order";
    /// In which order projections are taken or used.
    #[derive(Default)]
    pub enum Order {
        /// As they were acquired.
        #[default]
        AsAcquired,
        /// Every beginning of the sequence spreads over the half sphere: each direction is the one farthest from those before.
        Spaced,
    }
}

impl Order {
    /// Returns the order of these directions: every index once.
    pub fn indices(self, directions: &[Point]) -> Vec<usize> {
        match self {
            Order::AsAcquired => (0..directions.len()).collect(),
            Order::Spaced => spaced(directions),
        }
    }
}

fn spaced(directions: &[Point]) -> Vec<usize> {
    let mut queue = Queue::new(Order::Spaced);
    directions.iter().for_each(|direction| queue.push(*direction));
    let mut order = queue.take(MAX_SPREAD);
    // Multiples of the golden ratio scatter the remaining directions.
    let scattered = |i: usize| (i as f64 * 0.618_033_988_749_894_9).fract();
    let mut rest = queue.into_waiting();
    rest.sort_by(|&a, &b| scattered(a).total_cmp(&scattered(b)));
    order.extend(rest);
    order
}

/// The directions of projections that have arrived and are not used yet.
pub struct Queue {
    order: Order,
    directions: Vec<Point>,
    /// Those not used yet, ascending, with the cosine of the angle to the nearest used one.
    waiting: Vec<(usize, f64)>,
    used: Vec<usize>,
}

/// Returns |cos| of the angle between two directions: a plane's normal has no sign.
fn closeness(a: Point, b: Point) -> f64 {
    dot(a, b).abs()
}

impl Queue {
    /// Returns an empty queue.
    pub fn new(order: Order) -> Self {
        Self { order, directions: Vec::new(), waiting: Vec::new(), used: Vec::new() }
    }

    /// Returns the number of waiting directions.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Returns true if no direction waits.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next one to arrive.
    pub fn push(&mut self, direction: Point) {
        let nearest = match self.order {
            Order::AsAcquired => 0.0,
            Order::Spaced => self.used.iter().map(|&used| closeness(self.directions[used], direction)).fold(0.0, f64::max),
        };
        self.waiting.push((self.directions.len(), nearest));
        self.directions.push(direction);
    }

    /// Takes up to `count` out, in the order of their use.
    pub fn take(&mut self, count: usize) -> Vec<usize> {
        let count = count.min(self.waiting.len());
        match self.order {
            Order::AsAcquired => self.waiting.drain(..count).map(|(index, _)| index).collect(),
            Order::Spaced => (0..count).filter_map(|_| self.take_farthest()).collect(),
        }
    }

    /// Returns the waiting directions, ascending.
    fn into_waiting(self) -> Vec<usize> {
        self.waiting.into_iter().map(|(index, _)| index).collect()
    }

    fn take_farthest(&mut self) -> Option<usize> {
        let farthest = self.waiting.iter().enumerate().min_by(|(_, a), (_, b)| a.1.total_cmp(&b.1))?.0;
        let (index, _) = self.waiting.remove(farthest);
        let taken = self.directions[index];
        for (other, nearest) in &mut self.waiting {
            *nearest = nearest.max(closeness(self.directions[*other], taken));
        }
        self.used.push(index);
        Some(index)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaced_order_begins_with_three_right_angles_and_uses_each_once() {
        let mut queue = Queue::new(Order::Spaced);
        for k in 0..12 {
            let angle = f64::from(k) * std::f64::consts::PI / 12.0;
            queue.push([angle.cos(), angle.sin(), 0.0]);
        }
        queue.push([0.0, 0.0, -1.0]);
        let mut order = queue.take(3);
        assert_eq!(order[0], 0);
        assert!(order[1..].contains(&6) && order[1..].contains(&12), "{order:?}");
        order.extend(queue.take(100));
        order.sort_unstable();
        assert_eq!(order, (0..13).collect::<Vec<_>>());
        assert_eq!(queue.len(), 0);
    }
}
