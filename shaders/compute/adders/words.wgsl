// 64-bit fixed point in two words of 32 bits, low word first: each carry of the low word is seen by the one thread that makes it,
// so that the sum is the same in any order.

@group(0) @binding(6) var<storage, read_write> sums: array<atomic<u32>>;

fn add(place: u32, value: f32) {
    let units = trunc(value * p.scale);
    if units != 0.0 {
        // Both words of the magnitude are exact: they have its 24 bits.
        let magnitude = abs(units);
        let upper = floor(magnitude * 0x1p-32);
        var low = u32(magnitude - upper * 0x1p32);
        var high = u32(upper);
        if units < 0.0 {
            high = ~high + u32(low == 0u);
            low = ~low + 1u;
        }
        let before = atomicAdd(&sums[2u * place], low);
        high += u32(before + low < before);
        if high != 0u {
            atomicAdd(&sums[2u * place + 1u], high);
        }
    }
}
