//! Pages for people: one file each that needs nothing else, made of templates (`assets/templates`) and figures.

mod campaign;
mod comparison;
mod run;
mod state;

use askama::filters::Escaper;
use latlab_core::figure::Figure;
use latlab_core::plain::plain;
use std::fmt::{self, Write};

pub use campaign::campaign;
pub use comparison::comparison;
pub use run::run;
pub(crate) use state::{State, validity, verdict};

/// Apache ECharts as published (`assets/README.md`).
const LIBRARY: &str = include_str!("../../../assets/echarts/echarts.min.js");
const SCRIPT: &str = include_str!("../../../assets/report.js");
const STYLE: &str = include_str!("../../../assets/report.css");

/// How text goes into a page: markup is escaped, and what hides is made visible ([`plain`]).
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown;

impl Escaper for Shown {
    fn write_escaped_str<W: Write>(&self, mut dest: W, string: &str) -> fmt::Result {
        // Settings and other text of several lines keep them.
        for (number, line) in string.split('\n').enumerate() {
            if number > 0 {
                dest.write_char('\n')?;
            }
            askama::filters::Html.write_escaped_str(&mut dest, &plain(line))?;
        }
        Ok(())
    }
}

/// What all pages share.
#[derive(Debug)]
pub(crate) struct Page {
    pub(in crate::report) title: String,
    pub(in crate::report) version: &'static str,
    pub(in crate::report) style: &'static str,
    pub(in crate::report) library: &'static str,
    pub(in crate::report) script: &'static str,
    /// The figures as JSON that can stand in a page.
    pub(in crate::report) figures: String,
    list: Vec<Figure>,
}

impl Page {
    /// A page of this title that shows these figures.
    pub(crate) fn new(title: String, list: Vec<Figure>) -> Self {
        let by_id: serde_json::Map<String, serde_json::Value> =
            list.iter().map(|figure| (figure.id.clone(), serde_json::to_value(figure).unwrap_or_default())).collect();
        // Within a script element only `<` could end it.
        let figures = serde_json::Value::Object(by_id).to_string().replace('<', "\\u003c");
        let version = env!("CARGO_PKG_VERSION");
        Self { title, version, style: STYLE, library: LIBRARY, script: SCRIPT, figures, list }
    }

    pub(in crate::report) fn has_figures(&self) -> bool {
        !self.list.is_empty()
    }

    pub(in crate::report) fn figure(&self, id: &str) -> Option<&Figure> {
        self.list.iter().find(|figure| figure.id == id)
    }
}

/// A table of a page.
#[derive(Debug, Default)]
pub(crate) struct Grid {
    pub(in crate::report) caption: String,
    pub(in crate::report) head: Vec<String>,
    pub(in crate::report) rows: Vec<GridRow>,
    /// Its cells are sentences rather than figures: on a narrow screen they stand below each other.
    prose: bool,
}

/// A row of it.
#[derive(Debug)]
pub(crate) struct GridRow {
    cells: Vec<String>,
    /// It is what is wrong; a word in it says so too.
    bad: bool,
}

impl Grid {
    pub(crate) fn new<H: Into<String>>(caption: &str, head: impl IntoIterator<Item = H>) -> Self {
        let head = head.into_iter().map(Into::into).collect();
        Self { caption: caption.to_owned(), head, rows: Vec::new(), prose: false }
    }

    /// One of sentences.
    pub(crate) fn prose<H: Into<String>>(caption: &str, head: impl IntoIterator<Item = H>) -> Self {
        Self { prose: true, ..Self::new(caption, head) }
    }

    /// By reference, as templates call it.
    pub(in crate::report) fn head_of(&self, column: &usize) -> &str {
        self.head.get(*column).map_or("", String::as_str)
    }

    pub(crate) fn row<C: Into<String>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.marked(false, cells);
    }

    pub(crate) fn marked<C: Into<String>>(&mut self, bad: bool, cells: impl IntoIterator<Item = C>) {
        self.rows.push(GridRow { cells: cells.into_iter().map(Into::into).collect(), bad });
    }
}

/// Something that is named and said, such as a rule and why it does not hold.
#[derive(Debug)]
pub(crate) struct Reason {
    rule: String,
    detail: String,
}

/// A command to copy.
#[derive(Debug)]
pub(crate) struct Command {
    text: String,
    purpose: &'static str,
}

impl Command {
    /// `words` as a shell takes them.
    pub(crate) fn new(words: &[&str], purpose: &'static str) -> Self {
        let quoted = |word: &&str| shlex::try_quote(word).map_or_else(|_| "?".to_owned(), |word| word.into_owned());
        Self { text: words.iter().map(quoted).collect::<Vec<_>>().join(" "), purpose }
    }
}

/// A figure in a box.
#[derive(Debug)]
pub(crate) struct Tile {
    name: &'static str,
    value: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The file is the published one (`assets/README.md`).
    #[test]
    fn the_library_is_unchanged() {
        let expected = "b66b25aeb4df84e33199dc21694014d336d222cbd9deb0e5a7c14bd6aa0d0fd0";
        assert_eq!(crate::store::sha256_hex(LIBRARY.as_bytes()), expected);
        assert!(include_str!("../../../assets/README.md").contains(expected));
    }

    #[test]
    fn text_stays_text() {
        let mut out = String::new();
        Shown.write_escaped_str(&mut out, "<b>\"'&\u{202e}\u{7}\nnext").unwrap();
        assert_eq!(out, "&#60;b&#62;&#34;&#39;&#38;\\u{202e}\\u{7}\nnext");
        assert_eq!(Command::new(&["latlab", "show", "a b;c"], "").text, "latlab show 'a b;c'");
    }
}
