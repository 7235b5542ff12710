//! No bytes panic the readers, and garbage is bounded.

use super::overrides;
use crate::campaign::{Overrides, load};
use crate::diagnostic::{Diagnostics, Style};
use crate::document::{LARGEST_FILE, decode};
use crate::target;
use proptest::prelude::*;

const SHIPPED: &[&str] = &[
    include_str!("../../../../../campaigns/cyclone-v-12h.toml"),
    include_str!("../../../../../campaigns/nightly.toml"),
    include_str!("../../../../../campaigns/bbb-idle-loaded.toml"),
    include_str!("../../../../../targets/cyclone-v.toml"),
];

/// Reads a text as everything, and shows what was found.
fn try_all(text: &str, overrides: &Overrides) {
    let show = |found: &Diagnostics| {
        assert!(!found.render(Style::Plain).is_empty());
        assert!(found.to_json().iter().all(|d| d.at.line >= 1 && d.at.column >= 1));
    };
    if let Err(found) = load("x.toml", text, overrides) {
        show(&found);
    }
    if let Err(found) = target::load("x.toml", text) {
        show(&found);
    }
}

#[test]
fn files_that_are_no_text_are_refused_in_one_line() {
    let message = |bytes: &[u8]| {
        let found = decode("x.toml", bytes).unwrap_err();
        found.render(Style::Plain)
    };
    assert_eq!(
        message(&vec![b'x'; 10 << 20]),
        "error: file of more than 1048576 bytes (1 MiB)\n--> x.toml\n = help: campaign and target files are smaller; is this the right file?"
    );
    assert_eq!(
        message(b"name = \"\xff\""),
        "error: not a text file: byte 8 is not valid UTF-8\n--> x.toml\n = help: campaign and target files are TOML, in UTF-8; is this the right file?"
    );
    assert_eq!(message(b"a\0"), "error: not a text file: byte 1 is NUL\n--> x.toml\n = help: is this the right file?");
}

#[test]
fn the_largest_garbage_is_answered_shortly() {
    for piece in ["= \n", "[[", "[a]\n", "{", "a.", "\"", "é", "a=[", "x = 1\n"] {
        let size = if piece == "= \n" { LARGEST_FILE } else { LARGEST_FILE / 8 };
        let text = piece.repeat(size / piece.len());
        let found = load("x.toml", &text, &Overrides::default()).unwrap_err();
        let shown = found.render(Style::Plain);
        assert!(shown.len() < 64 << 10, "{piece:?}: {}", shown.len());
    }
}

#[test]
fn large_files_of_sound_toml_are_answered_shortly() {
    let many = |count: usize, piece: &dyn Fn(usize) -> String| (0..count).map(piece).collect::<String>();
    let head = "name = \"t\"\nduration = \"1s\"\n";
    for (text, message) in [
        (format!("{head}load = [{}]", many(90_000, &|n| format!("\"l{n}\","))), "`load` has 90000 values"),
        (format!("{head}targets = [{}]", many(90_000, &|n| format!("\"t{n}\","))), "`targets` has 90000 values"),
        (format!("{head}{}", many(70_000, &|n| format!("k{n} = 1\n"))), "unknown key `k0`"),
        (
            format!("{head}[matrix]\ninterval = [{}]", many(90_000, &|_| "\"1ms\",".to_owned())),
            "axis `interval` has 90000 values",
        ),
        (
            format!("{head}{}", many(25_000, &|n| format!("[[cell]]\nname = \"c{n}\"\n"))),
            "the campaign has 25000 cells, more than 10000",
        ),
        (
            format!(
                "{head}description = '{}'\n[matrix]\nmeasure.worst = [{}]",
                "x".repeat(900_000),
                many(1000, &|n| format!("{n},"))
            ),
            "1000 cells of a file of 903961 bytes are too much",
        ),
    ] {
        let found = load("x.toml", &text, &Overrides::default()).unwrap_err();
        assert_eq!(found.iter().next().unwrap().message, message);
        assert!(found.len() <= 400 && found.render(Style::Plain).len() < 64 << 10);
    }
}

proptest! {
    #[test]
    fn no_text_panics(text in "\\PC{0,200}") {
        try_all(&text, &Overrides::default());
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(text) = decode("x", &bytes) {
            try_all(text, &Overrides::default());
        }
    }

    #[test]
    fn no_damage_to_a_file_panics(which in 0..SHIPPED.len(), at in any::<prop::sample::Index>(), cut in 0usize..40, put in "[\\PC\n]{0,12}") {
        let text = SHIPPED[which];
        let boundary = |from: usize| (from..=text.len()).find(|i| text.is_char_boundary(*i)).unwrap_or(text.len());
        let start = boundary(at.index(text.len()));
        let end = boundary((start + cut).min(text.len()));
        try_all(&format!("{}{put}{}", &text[..start], &text[end..]), &Overrides::default());
    }

    #[test]
    fn no_option_panics(key in "\\PC{0,30}", value in "\\PC{0,30}", from_file in any::<bool>()) {
        let key = if from_file { "measure.priority" } else { key.as_str() };
        try_all(SHIPPED[0], &overrides(&[(key, &value)], &[]));
        try_all(SHIPPED[0], &overrides(&[], &[(key, &value)]));
    }
}
