// Load, add, store: what other threads add in between is lost (Belzunce et al. 2012, section 2.4). Each of the two accesses is
// atomic by itself, so that the race is defined.

@group(0) @binding(6) var<storage, read_write> sums: array<atomic<u32>>;

fn add(place: u32, value: f32) {
    if value != 0.0 {
        atomicStore(&sums[place], bitcast<u32>(bitcast<f32>(atomicLoad(&sums[place])) + value));
    }
}
