//! A command line as a shell parts it.

use super::CannotConvert;

/// Words as a shell parts them, up to a pipe, redirection or the end of the command.
pub(super) fn shell_words(line: &str) -> Result<Vec<String>, CannotConvert> {
    let (mut words, mut word, mut has_word) = (Vec::new(), String::new(), false);
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                has_word = true;
                loop {
                    match chars.next() {
                        None => return Err(CannotConvert::OpenQuote),
                        Some(end) if end == c => break,
                        Some('\\') if c == '"' => word.extend(chars.next()),
                        Some(inner) => word.push(inner),
                    }
                }
            }
            '\\' => {
                // A backslash before the end of a line joins it with the next.
                let next = chars.next().filter(|next| *next != '\n');
                has_word |= next.is_some();
                word.extend(next);
            }
            '|' | ';' | '&' | '>' | '<' => {
                // `2>` is part of the redirection.
                if matches!(c, '>' | '<') && word.chars().all(|c| c.is_ascii_digit()) {
                    has_word = false;
                }
                break;
            }
            c if c.is_whitespace() => {
                if has_word {
                    words.push(std::mem::take(&mut word));
                }
                has_word = false;
            }
            c => {
                has_word = true;
                word.push(c);
            }
        }
    }
    if has_word {
        words.push(word);
    }
    Ok(words)
}
