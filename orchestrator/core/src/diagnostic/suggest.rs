//! The nearest known name.

/// The known name that `found` is most probably a slip of, if one is near enough.
pub fn nearest<'a>(found: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let found = fold(found);
    known
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(&found, &fold(name)), name))
        .filter(|(distance, name)| *distance <= name.chars().count() / 3)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Case and word separators are the commonest slips.
fn fold(name: &str) -> String {
    name.chars().take(80).filter(|c| !matches!(c, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn finds_slips_and_nothing_else() {
        let known = ["interval", "instrument", "cpus", "rr", "preempt-rt"];
        for (found, expected) in [
            ("intervall", Some("interval")),
            ("Interval", Some("interval")),
            ("PREEMPT_RT", Some("preempt-rt")),
            ("cpu", Some("cpus")),
            ("fifo", None),
            ("r", None),
            ("", None),
            ("colour", None),
        ] {
            assert_eq!(nearest(found, known), expected, "{found}");
        }
    }
}
