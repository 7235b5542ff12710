//! Text from boards, files and users as it may be shown anywhere.

use std::borrow::Cow;

/// `text` with everything visible: control characters, and marks that hide or turn round what stands beside them, are
/// written as escapes (`\u{1b}`, `\u{202e}`), so that nothing can pretend to be something else.
pub fn plain(text: &str) -> Cow<'_, str> {
    if !text.chars().any(hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\t' | '\n' | '\r' => shown.extend(c.escape_default()),
            c if hidden(c) => shown.extend(c.escape_unicode()),
            c => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

/// Controls, directional and zero-width marks, line separators, and what no XML may hold.
fn hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
        || matches!(c, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn nothing_hides() {
        assert!(matches!(plain("CPU 1, 12.5 µs → ≤ 20"), Cow::Borrowed(_)));
        assert_eq!(plain("a\u{1b}[31mb\n\u{202e}c\0"), "a\\u{1b}[31mb\\n\\u{202e}c\\u{0}");
        assert_eq!(plain("<script>\"'&"), "<script>\"'&", "markup is for the writer of the format to escape");
    }

    proptest! {
        #[test]
        fn what_is_shown_stays_as_it_is(text in ".{0,60}") {
            let shown = plain(&text).into_owned();
            prop_assert!(!shown.chars().any(hidden));
            prop_assert_eq!(plain(&shown), shown.as_str());
        }
    }
}
