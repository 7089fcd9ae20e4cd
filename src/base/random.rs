//! Counter-based random streams: the numbers of a bin depend on the seed and the bin alone, never on how many threads
//! share the work (Philox4x32-10; Salmon et al. 2011, SC'11).

use rand_philox::Philox;

/// Returns the random stream number `index` of `seed`: one stream for each bin, ray or photon.
pub fn stream(seed: u64, index: u64) -> Philox {
    Philox::from_u64_seed_stream(seed, index)
}

/// Returns the numbers below `num` in a random order (Fisher and Yates; a bias of 2⁻³² does not matter here).
pub fn shuffled(num: u32, random: &mut Philox) -> Vec<u32> {
    let mut order: Vec<u32> = (0..num).collect();
    for last in (1..order.len()).rev() {
        order.swap(last, ((u64::from(random.next_u32()) * (last as u64 + 1)) >> 32) as usize);
    }
    order
}

/// Returns the key of all streams of `seed`. The counter of stream `index` begins at index · 2⁶⁴.
pub fn key(seed: u64) -> [u32; 2] {
    stream(seed, 0).key()
}
