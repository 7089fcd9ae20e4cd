// 64-bit fixed point by one instruction: integers add up to the same sum in any order.

@group(0) @binding(6) var<storage, read_write> sums: array<atomic<u64>>;

fn add(place: u32, value: f32) {
    atomicAdd(&sums[place], bitcast<u64>(i64(value * p.scale)));
}
