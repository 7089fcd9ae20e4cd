// f32 by one instruction: every addition arrives, in any order.

@group(0) @binding(6) var<storage, read_write> sums: array<atomic<f32>>;

fn add(place: u32, value: f32) {
    atomicAdd(&sums[place], value);
}
