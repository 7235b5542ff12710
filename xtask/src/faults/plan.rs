//! What breaks in a case, and when: all of it follows from the seed.

use serde::Serialize;
use std::fmt;

/// What breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Kind {
    /// The cable is out for a while.
    LinkCut,
    /// The link carries little from here on.
    LinkSlow,
    /// Nothing passes for a while, and no connection ends.
    LinkStalls,
    /// Bytes are delayed and some are damaged, so that connections end at odd places.
    LinkLossy,
    /// latlab gets SIGKILL; `latlab resume` goes on.
    HostKilled,
    /// latlab gets SIGTERM, which stops its runs and brings them home.
    HostStopped,
    /// Every session of the SSH server ends, and the server with them; it comes back.
    ServerKilled,
    /// The board's reset button.
    BoardReset,
    /// A reset that wipes the work directory, as with a tmpfs.
    BoardWiped,
    /// The board is without power for a while.
    PowerLost,
    /// The measuring process gets SIGKILL.
    MeasurerKilled,
    /// The supervisor gets SIGKILL.
    SupervisorKilled,
    /// The supervisor's guard gets SIGKILL.
    GuardKilled,
    /// A load gets SIGKILL, as the out-of-memory killer does it.
    LoadKilled,
    /// The board's disk is full for a while.
    BoardDiskFull,
    /// The host's disk is full until latlab gives up.
    HostDiskFull,
    /// The end of the stream on the board is gone.
    StreamTorn,
    /// A bit of the stream on the board flips.
    StreamFlipped,
    /// Another host wants the board.
    SecondHost,
}

/// Every kind: as many cases in a row as there are kinds meet each of them.
pub(super) const KINDS: [Kind; 19] = [
    Kind::LinkCut,
    Kind::HostKilled,
    Kind::BoardReset,
    Kind::SupervisorKilled,
    Kind::LinkSlow,
    Kind::StreamFlipped,
    Kind::PowerLost,
    Kind::BoardDiskFull,
    Kind::LinkStalls,
    Kind::LoadKilled,
    Kind::HostDiskFull,
    Kind::BoardWiped,
    Kind::LinkLossy,
    Kind::MeasurerKilled,
    Kind::SecondHost,
    Kind::ServerKilled,
    Kind::GuardKilled,
    Kind::StreamTorn,
    Kind::HostStopped,
];

impl Kind {
    /// May come at any step of the host, not only while the board measures.
    fn comes_any_time(self) -> bool {
        matches!(
            self,
            Kind::LinkCut
                | Kind::LinkStalls
                | Kind::LinkLossy
                | Kind::HostKilled
                | Kind::ServerKilled
                | Kind::BoardReset
                | Kind::PowerLost
        )
    }

    /// What was measured before is all there will be.
    pub(super) fn ends_the_run(self) -> bool {
        matches!(self, Kind::MeasurerKilled | Kind::SupervisorKilled | Kind::HostStopped)
    }

    /// Samples may be missing from the stream.
    pub(super) fn damages(self) -> bool {
        matches!(self, Kind::StreamTorn | Kind::StreamFlipped)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words: String = format!("{self:?}")
            .chars()
            .flat_map(|c| c.is_ascii_uppercase().then_some(' ').into_iter().chain([c.to_ascii_lowercase()]))
            .collect();
        f.write_str(words.trim_start())
    }
}

/// When it breaks: never by the clock, so that a seed replays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum When {
    /// Once the host's journal holds this entry for the board.
    Step(&'static str, &'static str),
    /// Once the stream on the board holds so many records.
    Records(u64),
}

impl fmt::Display for When {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            When::Step(step, mark) => write!(f, "{step} {mark}"),
            When::Records(records) => write!(f, "record {records}"),
        }
    }
}

/// Journal entries that every run has, in order.
const STEPS: [(&str, &str); 12] = [
    ("connect", "done"),
    ("deploy", "intent"),
    ("deploy", "done"),
    ("lock", "done"),
    ("prepare", "intent"),
    ("submit", "intent"),
    ("submit", "done"),
    ("collect", "intent"),
    ("collect", "done"),
    ("judge", "done"),
    ("remove", "intent"),
    ("remove", "done"),
];
/// Header, set-up and the first checkpoints come at once; a case writes about this many.
const RECORDS: std::ops::Range<u64> = 6..24;

/// One thing that breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    pub(super) when: When,
}

/// All that breaks in one campaign.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Case {
    pub(super) seed: u64,
    pub(super) faults: Vec<Fault>,
}

impl Case {
    /// The case of a seed.
    pub(super) fn of(seed: u64) -> Self {
        let mut random = Random(seed);
        let first = KINDS[usize::try_from(seed % KINDS.len() as u64).unwrap_or(0)];
        let mut faults = vec![fault(first, &mut random)];
        // Two in five break in another way, too.
        if random.below(5) < 2 {
            let second = KINDS[usize::try_from(random.below(KINDS.len() as u64)).unwrap_or(0)];
            if second != first {
                faults.push(fault(second, &mut random));
            }
        }
        Self { seed, faults }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let faults: Vec<String> = self.faults.iter().map(|fault| format!("{} at {}", fault.kind, fault.when)).collect();
        write!(f, "seed {}: {}", self.seed, faults.join(", "))
    }
}

fn fault(kind: Kind, random: &mut Random) -> Fault {
    let record = RECORDS.start + random.below(RECORDS.end - RECORDS.start);
    let step = STEPS[usize::try_from(random.below(STEPS.len() as u64)).unwrap_or(0)];
    let when = match kind.comes_any_time() && random.below(2) == 0 {
        true => When::Step(step.0, step.1),
        false => When::Records(record),
    };
    Fault { kind, when }
}

/// SplitMix64: small, and the same everywhere for ever.
#[derive(Debug, Clone)]
pub(super) struct Random(pub(super) u64);

impl Random {
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// 0 to `n` − 1.
    pub(super) fn below(&mut self, n: u64) -> u64 {
        self.next() % n.max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_always_means_the_same_and_a_row_of_seeds_meets_every_kind() {
        assert_eq!(Case::of(7), Case::of(7));
        let firsts: std::collections::BTreeSet<Kind> = (0..19).map(|seed| Case::of(seed).faults[0].kind).collect();
        assert_eq!(firsts.len(), KINDS.len());
        assert!((0..100).any(|seed| Case::of(seed).faults.len() == 2));
    }
}
