// sums += A^T values for the LORs of axial_runs.wgsl.
@compute @workgroup_size(ROWS * THREADS)
fn backproject(@builtin(local_invocation_index) thread_of_all: u32, @builtin(workgroup_id) group: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let number = group.x + group.y * groups.x;
    if number >= p.num_groups {
        return;
    }
    let thread = thread_of_all % THREADS;
    let row = thread_of_all / THREADS;
    let member = member_at((p.first_group + number) * ROWS + row);
    let paths = paths_at(p.first_group + number);
    let is_there = member.lor != NO_ENTRY;
    let first_slot = row * NUM_SLOTS;
    for (var which = paths.x; which < paths.y; which++) {
        let path = path_at(which);
        workgroupBarrier();
        prepare_groups(path, thread_of_all);
        for (var slot = thread_of_all; slot < ROWS * NUM_SLOTS; slot += ROWS * THREADS) {
            slots[slot] = 0.0;
        }
        workgroupBarrier();
        for (var plane = thread; plane < NUM_PLANES; plane += THREADS) {
            let bin = bin_of(member, plane) - p.bins_first;
            if bin >= p.bins_len || !is_there {
                continue;
            }
            let value = values[bin];
            for (var layer = 0u; layer < NUM_LAYERS; layer++) {
                let entry = plan[OUTPUTS_AT + layer * NUM_PLANES + plane];
                if entry != NO_ENTRY {
                    slots[first_slot + (entry & 0xffffu)] = shared_groups[entry >> 16u].signed_scale * value;
                }
            }
        }
        workgroupBarrier();

        // What the planes bring in the rows in which they end, and what they bring through their crossings.
        let bit = 1u << thread;
        var at_end: array<f32, COLUMN>;
        var rows: array<f32, COLUMN>;
        // The same of the row below the first class: the last class one place before.
        var rows_below: array<f32, REGISTERS>;
        for (var pass_number = 0u; pass_number < NUM_PASSES; pass_number++) {
            let at = ENDS_AT + (plan[PASSES_AT + pass_number] + passed(path, pass_number)) * END_WORDS;
            for (var m = 0u; m < CLASSES; m++) { // unrolled
                let end = plan[at + m * (1u + REGISTERS)];
                let slot = slot_at(end, 0u, first_slot + thread - BASE_OFFSET);
                // The slots hold the bins with the sign of their crossings, which the ends have not.
                let sign = select(1.0, -1.0, (end & 0x40000u) != 0u);
                for (var r = 0u; r < REGISTERS; r++) { // unrolled
                    if (plan[at + m * (1u + REGISTERS) + 1u + r] & bit) != 0u {
                        let value = sign * slots[slot + THREADS * r];
                        for (var c = 0u; c < CLASSES; c++) { // unrolled
                            at_end[c * REGISTERS + r] += select(0.0, value, ((end >> 16u) & 3u) == c);
                        }
                    }
                }
            }
        }

        var event = steps[path.first_step + path.num_steps].w;
        var record = record_at(max(event, 1u) - 1u);
        let last_batch = (path.num_steps - 1u) / BATCH;
        var next_step = step_of(path, last_batch, thread_of_all);
        for (var behind = path.num_steps; behind > 0u; behind--) {
            let s = behind - 1u;
            if s % BATCH == BATCH - 1u || behind == path.num_steps {
                workgroupBarrier();
                bring(path, s / BATCH, thread_of_all, next_step);
                workgroupBarrier();
                next_step = step_of(path, max(s / BATCH, 1u) - 1u, thread_of_all);
            }
            let step = ahead[s % (2u * BATCH)];
            let first_event = ahead_events[s % (2u * BATCH)];
            var sum = rows;
            var below = rows_below;
            while event > first_event {
                let added = record;
                event--;
                record = record_at(max(event, 1u) - 1u);
                let fraction = fraction_of(step, added[0]);
                for (var c = 0u; c < CLASSES; c++) { // unrolled
                    let slot = slot_at(added[(1u + c / 2u) / 4u][(1u + c / 2u) % 4u], c, first_slot + thread - BASE_OFFSET);
                    for (var r = 0u; r < REGISTERS; r++) { // unrolled
                        if (added[(MASKS_AT + c * REGISTERS + r) / 4u][(MASKS_AT + c * REGISTERS + r) % 4u] & bit) != 0u {
                            let value = slots[slot + THREADS * r];
                            sum[c * REGISTERS + r] = fma(fraction, value, sum[c * REGISTERS + r]);
                            rows[c * REGISTERS + r] += value;
                        }
                    }
                }
                if !KNOWS_NEIGHBOURS {
                    let slot = slot_at(added[((CLASSES - 1u) / 2u + 1u) / 4u][((CLASSES - 1u) / 2u + 1u) % 4u], CLASSES - 1u, first_slot + thread - BASE_OFFSET) - 1u;
                    for (var r = 0u; r < REGISTERS; r++) { // unrolled
                        // The thread before: of the first one the last of the register before.
                        let own = added[(MASKS_AT + (CLASSES - 1u) * REGISTERS + r) / 4u][(MASKS_AT + (CLASSES - 1u) * REGISTERS + r) % 4u];
                        var shifted = own << 1u;
                        if r > 0u {
                            shifted |= added[(MASKS_AT + (CLASSES - 1u) * REGISTERS + max(r, 1u) - 1u) / 4u][(MASKS_AT + (CLASSES - 1u) * REGISTERS + max(r, 1u) - 1u) % 4u] >> 31u;
                        }
                        if (shifted & bit) != 0u {
                            let value = slots[slot + THREADS * r];
                            below[r] = fma(fraction, value, below[r]);
                            rows_below[r] += value;
                        }
                    }
                }
            }
            let length = bitcast<f32>(step.y);
            let column = column_of(member, step);
            var under: array<f32, REGISTERS>;
            for (var r = 0u; r < REGISTERS; r++) { // unrolled
                let value = sum[(CLASSES - 1u) * REGISTERS + r];
                under[r] = of_thread_before(value, sum[(CLASSES - 1u) * REGISTERS + max(r, 1u) - 1u], thread, below[r]);
            }
            if length > 0.0 && is_there {
                for (var r = 0u; r < REGISTERS; r++) { // unrolled
                    let place = thread + THREADS * r;
                    // Nothing lies below the first place.
                    var before = select(under[r], 0.0, place == 0u);
                    for (var c = 0u; c < CLASSES; c++) { // unrolled
                        let k = c * REGISTERS + r;
                        let value = length * (at_end[k] + (sum[k] - before));
                        before = sum[k];
                        let z = i32(CLASSES * place + c) + i32(CLASSES) * FIRST_K;
                        let at = column - p.image_first + c * LANES + place;
                        if place < LANES && z >= 0 && z < i32(NZ) && (!IS_SPLIT || at < p.image_len) {
                            add(at, value);
                        }
                    }
                }
            }
        }
    }
}
