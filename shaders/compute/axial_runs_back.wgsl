// sums += A^T values for the LORs of axial_runs.wgsl.
@compute @workgroup_size(THREADS)
fn backproject(@builtin(local_invocation_index) thread: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    if number >= p.num_members {
        return;
    }
    let member = member_at(p.first_member + number);
    for (var which = member.paths.x; which < member.paths.y; which++) {
        let path = path_at(which);
        workgroupBarrier();
        for (var slot = thread; slot < NUM_SLOTS; slot += THREADS) {
            slots[slot] = 0.0;
        }
        workgroupBarrier();
        for (var plane = thread; plane < NUM_PLANES; plane += THREADS) {
            let bin = bin_of(member, plane) - p.bins_first;
            if bin >= p.bins_len {
                continue;
            }
            let value = values[bin];
            for (var layer = 0u; layer < NUM_LAYERS; layer++) {
                let entry = plan[OUTPUTS_AT + layer * NUM_PLANES + plane];
                if entry != NO_ENTRY {
                    let planes = group_at(path, entry >> 16u);
                    slots[entry & 0xffffu] = planes.sign * planes.scale * value;
                }
            }
        }
        workgroupBarrier();

        // What the planes bring in the rows in which they end, and what they bring through their crossings.
        var at_end: array<f32, COLUMN>;
        var rows: array<f32, COLUMN>;
        // The same of the row below the first class: the last class one place before.
        var rows_below: array<f32, REGISTERS>;
        for (var pass_number = 0u; pass_number < NUM_PASSES; pass_number++) {
            let at = ENDS_AT + (plan[PASSES_AT + pass_number] + passed(path, pass_number)) * END_WORDS;
            let end = vec4u(0u, plan[at], plan[at + 1u], plan[at + 2u]);
            for (var m = 0u; m < CLASSES; m++) {
                let flags = end.w >> (4u * m);
                let slot = slot_at(end, m, thread);
                // The slots hold the bins with the sign of their crossings, which the ends have not.
                let sign = select(0.0, select(1.0, -1.0, (flags & 4u) != 0u), (flags & 8u) != 0u);
                for (var r = 0u; r < REGISTERS; r++) {
                    let value = sign * slots[slot + THREADS * r];
                    for (var c = 0u; c < CLASSES; c++) {
                        at_end[c * REGISTERS + r] += select(0.0, value, (flags & 3u) == c);
                    }
                }
            }
        }

        var event = steps[path.first_step + path.num_steps].w;
        for (var s = path.num_steps; s > 0u; s--) {
            let step = steps[path.first_step + s - 1u];
            var sum = rows;
            var below = rows_below;
            while event > step.w {
                event--;
                let record = records[event];
                let fraction = fraction_of(path, step, bitcast<f32>(record.x));
                for (var c = 0u; c < CLASSES; c++) {
                    let slot = slot_at(record, c, thread);
                    for (var r = 0u; r < REGISTERS; r++) {
                        let value = slots[slot + THREADS * r];
                        sum[c * REGISTERS + r] = fma(fraction, value, sum[c * REGISTERS + r]);
                        rows[c * REGISTERS + r] += value;
                    }
                }
                let slot = slot_at(record, CLASSES - 1u, thread);
                for (var r = 0u; r < REGISTERS; r++) {
                    // Nothing lies below the first place.
                    if thread + THREADS * r > 0u {
                        let value = slots[slot + THREADS * r - 1u];
                        below[r] = fma(fraction, value, below[r]);
                        rows_below[r] += value;
                    }
                }
            }
            let length = bitcast<f32>(step.y);
            let column = u32(column_of(member, step)) - p.image_first;
            if length > 0.0 {
                for (var r = 0u; r < REGISTERS; r++) {
                    let place = thread + THREADS * r;
                    var before = below[r];
                    for (var c = 0u; c < CLASSES; c++) {
                        let k = c * REGISTERS + r;
                        let value = length * (at_end[k] + (sum[k] - before));
                        before = sum[k];
                        let z = i32(CLASSES * place + c) + i32(CLASSES) * FIRST_K;
                        let at = column + c * LANES + place;
                        if place < LANES && z >= 0 && z < i32(NZ) && (!IS_SPLIT || at < p.image_len) {
                            add(at, value);
                        }
                    }
                }
            }
        }
    }
}
