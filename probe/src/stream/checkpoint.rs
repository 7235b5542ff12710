//! Packed form of a [`Checkpoint`]: LEB128 varints, ascending indices and times as differences.
//! A 1 kHz thread costs about 100 bytes a checkpoint and 12 a block, 1.5 MB in twelve hours.

use super::{Block, Checkpoint, LoadDelta, Sample, SystemDelta, ThreadDelta};

pub(super) fn encode(checkpoint: &Checkpoint, out: &mut Vec<u8>) {
    put(out, u64::from(checkpoint.warm_up));
    put(out, checkpoint.mono_ns);
    put_len(out, checkpoint.threads.len());
    for thread in &checkpoint.threads {
        put(out, u64::from(thread.thread));
        put_counts(out, &thread.bins);
        put_counts(out, &thread.tail);
        put(out, u64::from(thread.negative));
        put(out, thread.missed);
        put_len(out, thread.blocks.len());
        let mut before = checkpoint.mono_ns;
        for block in &thread.blocks {
            put_signed(out, signed(block.end_mono_ns.wrapping_sub(before)));
            before = block.end_mono_ns;
            put(out, u64::from(block.cycles));
            put(out, u64::from(block.missed));
            put(out, block.min_ns);
            put(out, block.max_ns);
            put(out, block.sum_ns);
        }
        put_len(out, thread.worst.len());
        for sample in &thread.worst {
            put(out, sample.latency_ns);
            put(out, sample.cycle);
            put_signed(out, signed(sample.mono_ns.wrapping_sub(checkpoint.mono_ns)));
        }
        for value in [thread.minor_faults, thread.major_faults, thread.voluntary_switches, thread.involuntary_switches]
        {
            put(out, value);
        }
    }
    put_len(out, checkpoint.loads.len());
    for load in &checkpoint.loads {
        put(out, u64::from(load.load));
        put(out, load.active_ns);
        put(out, load.pause_ns);
        put(out, u64::from(load.starts));
        put(out, u64::from(load.failures));
    }
    let system = &checkpoint.system;
    put_len(out, system.interrupts.len());
    for (cpu, label, count) in &system.interrupts {
        put(out, u64::from(*cpu));
        put_len(out, label.len());
        out.extend_from_slice(label.as_bytes());
        put(out, *count);
    }
    put_len(out, system.temperatures_mc.len());
    for (zone, value) in &system.temperatures_mc {
        put(out, u64::from(*zone));
        put_signed(out, *value);
    }
    put_len(out, system.frequencies_khz.len());
    for (cpu, value) in &system.frequencies_khz {
        put(out, u64::from(*cpu));
        put(out, *value);
    }
    put(out, system.oom_kills);
}

/// `None` for anything that [`encode`] does not write.
pub(super) fn decode(payload: &[u8]) -> Option<Checkpoint> {
    let mut input = Input(payload);
    let mut checkpoint = Checkpoint { warm_up: input.get()? == 1, mono_ns: input.get()?, ..Default::default() };
    checkpoint.threads = input.list(|input| {
        Some(ThreadDelta {
            thread: input.small()?,
            bins: input.counts()?,
            tail: input.counts()?,
            negative: input.small()?,
            missed: input.get()?,
            blocks: {
                let mut before = checkpoint.mono_ns;
                input.list(|input| {
                    before = before.wrapping_add(unsigned(input.signed()?));
                    Some(Block {
                        end_mono_ns: before,
                        cycles: input.small()?,
                        missed: input.small()?,
                        min_ns: input.get()?,
                        max_ns: input.get()?,
                        sum_ns: input.get()?,
                    })
                })?
            },
            worst: input.list(|input| {
                Some(Sample {
                    latency_ns: input.get()?,
                    cycle: input.get()?,
                    mono_ns: checkpoint.mono_ns.wrapping_add(unsigned(input.signed()?)),
                })
            })?,
            minor_faults: input.get()?,
            major_faults: input.get()?,
            voluntary_switches: input.get()?,
            involuntary_switches: input.get()?,
        })
    })?;
    checkpoint.loads = input.list(|input| {
        Some(LoadDelta {
            load: input.small()?,
            active_ns: input.get()?,
            pause_ns: input.get()?,
            starts: input.small()?,
            failures: input.small()?,
        })
    })?;
    checkpoint.system = SystemDelta {
        interrupts: input.list(|input| Some((input.small()?, input.text()?, input.get()?)))?,
        temperatures_mc: input.list(|input| Some((input.small()?, input.signed()?)))?,
        frequencies_khz: input.list(|input| Some((input.small()?, input.get()?)))?,
        oom_kills: input.get()?,
    };
    input.0.is_empty().then_some(checkpoint)
}

fn put(out: &mut Vec<u8>, mut value: u64) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            out.push(low & 0x7F);
            return;
        }
        out.push(low | 0x80);
    }
}

fn put_len(out: &mut Vec<u8>, length: usize) {
    put(out, length as u64);
}

/// Same bits; `cast_signed` is newer than the probe's compiler.
fn signed(value: u64) -> i64 {
    i64::from_ne_bytes(value.to_ne_bytes())
}

fn unsigned(value: i64) -> u64 {
    u64::from_ne_bytes(value.to_ne_bytes())
}

/// Zigzag, so that small differences of either sign stay short.
fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, unsigned((value << 1) ^ (value >> 63)));
}

fn put_counts(out: &mut Vec<u8>, counts: &[(u32, u32)]) {
    put_len(out, counts.len());
    let mut before = 0;
    for (index, count) in counts {
        put(out, u64::from(index.wrapping_sub(before)));
        put(out, u64::from(*count));
        before = *index;
    }
}

struct Input<'a>(&'a [u8]);

impl Input<'_> {
    fn get(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let (first, rest) = self.0.split_first()?;
            self.0 = rest;
            let part = u64::from(first & 0x7F);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if first & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    fn small(&mut self) -> Option<u32> {
        self.get()?.try_into().ok()
    }

    fn signed(&mut self) -> Option<i64> {
        let value = self.get()?;
        Some(signed(value >> 1) ^ -signed(value & 1))
    }

    /// An element takes at least a byte, so a length beyond the rest is nonsense and reserves nothing.
    fn length(&mut self) -> Option<usize> {
        usize::try_from(self.get()?).ok().filter(|length| *length <= self.0.len())
    }

    fn list<T>(&mut self, mut element: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let length = self.length()?;
        (0..length).map(|_| element(self)).collect()
    }

    fn counts(&mut self) -> Option<Vec<(u32, u32)>> {
        let mut before = 0u32;
        self.list(|input| {
            before = before.checked_add(input.small()?)?;
            Some((before, input.small()?))
        })
    }

    fn text(&mut self) -> Option<String> {
        let length = self.length()?;
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8(text.to_vec()).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ascending() -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::btree_map(any::<u32>(), any::<u32>(), 0..8).prop_map(|m| m.into_iter().collect())
    }

    prop_compose! {
        fn thread()(thread: u32, bins in ascending(), tail in ascending(), negative: u32, missed: u64,
            blocks in prop::collection::vec(any::<(u64, u32, u32, u64, u64, u64)>(), 0..4),
            worst in prop::collection::vec(any::<(u64, u64, u64)>(), 0..4), faults: (u64, u64, u64, u64)) -> ThreadDelta {
            ThreadDelta {
                thread, bins, tail, negative, missed,
                blocks: blocks.into_iter().map(|(end_mono_ns, cycles, missed, min_ns, max_ns, sum_ns)| Block { end_mono_ns, cycles, missed, min_ns, max_ns, sum_ns }).collect(),
                worst: worst.into_iter().map(|(latency_ns, cycle, mono_ns)| Sample { latency_ns, cycle, mono_ns }).collect(),
                minor_faults: faults.0, major_faults: faults.1, voluntary_switches: faults.2, involuntary_switches: faults.3,
            }
        }
    }

    prop_compose! {
        fn checkpoint()(warm_up: bool, mono_ns: u64, threads in prop::collection::vec(thread(), 0..3),
            loads in prop::collection::vec(any::<(u32, u64, u64, u32, u32)>(), 0..3),
            interrupts in prop::collection::vec(any::<(u32, String, u64)>(), 0..3),
            temperatures_mc in prop::collection::vec(any::<(u32, i64)>(), 0..3),
            frequencies_khz in prop::collection::vec(any::<(u32, u64)>(), 0..3), oom_kills: u64) -> Checkpoint {
            let loads = loads.into_iter().map(|(load, active_ns, pause_ns, starts, failures)| LoadDelta { load, active_ns, pause_ns, starts, failures }).collect();
            Checkpoint { warm_up, mono_ns, threads, loads, system: SystemDelta { interrupts, temperatures_mc, frequencies_khz, oom_kills } }
        }
    }

    proptest! {
        #[test]
        fn reads_back(checkpoint in checkpoint()) {
            let mut bytes = Vec::new();
            encode(&checkpoint, &mut bytes);
            prop_assert_eq!(decode(&bytes), Some(checkpoint));
            prop_assert_eq!(decode(&bytes[..bytes.len() - 1]), None);
        }
    }
}
