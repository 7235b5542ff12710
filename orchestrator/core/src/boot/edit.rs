/// A boot configuration cannot be changed to what was asked for.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The variant does not say what the method needs.
    #[error(
        "kernel variant `{kernel}` has no `{key}`, which boot method `{method}` needs; add it to [kernel.{kernel}] of the target file"
    )]
    Missing {
        /// Variant.
        kernel: String,
        /// Key of the target file.
        key: &'static str,
        /// Method.
        method: &'static str,
    },
    /// No such entry.
    #[error(
        "no entry `{label}`; there are: {}; correct `label` of the kernel variant in the target file",
        listed(known)
    )]
    NoEntry {
        /// Asked for.
        label: String,
        /// Those that are there.
        known: Vec<String>,
    },
    /// Nothing is there to be booted.
    #[error("it has no entry at all")]
    Empty,
    /// Nothing holds the kernel's arguments.
    #[error(
        "nothing in it sets `{variable}`; say with `boot.arguments` of the target file which variable holds the kernel's arguments"
    )]
    NoArguments {
        /// Variable looked for.
        variable: String,
    },
    /// It is no such file.
    #[error("{0}")]
    Format(&'static str),
}

fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
