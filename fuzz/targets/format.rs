//! One parser, named as the binary is, on any bytes: it must neither panic nor grow, and its sums must hold.
#![no_main]

use latlab_core::formats::{Format, Options, import};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // `any` recognises the format itself.
    let only = Format::ALL.into_iter().find(|format| format.name() == env!("CARGO_BIN_NAME"));
    let Ok(measurements) = import(bytes, Options { only, ..Options::default() }) else { return };
    for thread in measurements.iter().flat_map(|measurement| &measurement.threads) {
        let sum: u128 = thread.bins.iter().map(|(_, samples)| u128::from(*samples)).sum();
        assert!(thread.bins.is_empty() || sum == u128::from(thread.binned));
    }
});
