//! The order in which the subsets of an epoch are drawn, each once.

use crate::named::named;
use crate::random;

named! {
    "an order of subsets";
    /// Order of the subsets of an epoch.
    #[derive(Default)]
    pub enum DrawOrder {
        /// At random, another order in each epoch.
        #[default]
        Random,
        /// 0, g, 2 g, … modulo the number of subsets, with another g without a common divisor in each epoch: each next subset is
        /// far from the last, and all g take turns.
        Cofactor,
    }
}

impl DrawOrder {
    /// Returns the subsets of an epoch; `seed` = that of the random orders.
    pub fn of_epoch(self, epoch: usize, count: usize, seed: u64) -> Vec<usize> {
        match self {
            DrawOrder::Random => {
                let shuffled = random::shuffled(count as u32, &mut random::stream(seed, epoch as u64));
                shuffled.into_iter().map(|subset| subset as usize).collect()
            }
            DrawOrder::Cofactor => {
                let cofactors = cofactors(count);
                let cofactor = cofactors[epoch % cofactors.len()];
                (0..count).map(|k| k * cofactor % count).collect()
            }
        }
    }
}

/// Returns the numbers below `count` without a common divisor, those first whose multiples spread best: near its part by the
/// golden section. A single 1 where there are none.
fn cofactors(count: usize) -> Vec<usize> {
    let best = count as f64 * (3.0 - 5f64.sqrt()) / 2.0;
    let mut cofactors: Vec<usize> = (1..count).filter(|&number| have_no_common_divisor(number, count)).collect();
    cofactors.sort_by(|a, b| (*a as f64 - best).abs().total_cmp(&(*b as f64 - best).abs()));
    if cofactors.is_empty() { vec![1] } else { cofactors }
}

fn have_no_common_divisor(a: usize, b: usize) -> bool {
    if b == 0 { a == 1 } else { have_no_common_divisor(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_epoch_has_each_subset_once_in_another_order() {
        for order in [DrawOrder::Random, DrawOrder::Cofactor] {
            for count in [1, 2, 7, 28, 30] {
                for epoch in 0..5 {
                    let mut drawn = order.of_epoch(epoch, count, 3);
                    assert_eq!(drawn, order.of_epoch(epoch, count, 3));
                    assert!(count < 7 || drawn != order.of_epoch(epoch + 1, count, 3), "{order:?} {count} {epoch}");
                    drawn.sort_unstable();
                    assert_eq!(drawn, (0..count).collect::<Vec<_>>());
                }
            }
        }
        assert_eq!(DrawOrder::Cofactor.of_epoch(0, 28, 0)[..3], [0, 11, 22]);
        assert_ne!(DrawOrder::Random.of_epoch(0, 28, 0), DrawOrder::Random.of_epoch(0, 28, 1));
    }
}
