//! A tolerant JSON reader that takes bytes as they come and keeps nothing but the path to the current value.
//!
//! rt-tests print the command line unescaped (a quote in it ends the string too early) and `nan` where there is no
//! mean; both are read here.

use crate::formats::number::take_count;

/// Deeper nesting than any of the formats has.
const MAX_DEPTH: usize = 16;
/// Longer keys and strings are cut.
const MAX_TOKEN: usize = 1 << 16;

/// Receives what a document holds.
pub(super) trait Sink {
    /// An object or array opens at `path`.
    fn open(&mut self, path: &[Frame]);
    /// A number, string or word at `path`, as written.
    fn value(&mut self, path: &[Frame], text: &[u8]);
    /// Are the values in the object at `path` whole numbers with whole numbers as keys? Then most come by
    /// [`Sink::numbers`], the others as text.
    fn holds_numbers(&self, path: &[Frame]) -> bool;
    /// Entries of such an object.
    fn numbers(&mut self, path: &[Frame], entries: &[(u64, u64)]);
}

/// One step of the path: a key of an object, or a place in an array.
#[derive(Debug, Default)]
pub(super) struct Frame {
    array: bool,
    key: Vec<u8>,
    index: u64,
}

impl Frame {
    /// The key, without rt-tests' stray colon; empty in an array.
    pub(super) fn key(&self) -> &[u8] {
        let key = if self.array { &[] } else { self.key.as_slice() };
        key.strip_suffix(b":").unwrap_or(key).trim_ascii()
    }

    /// The place in an array.
    pub(super) fn index(&self) -> Option<u64> {
        self.array.then_some(self.index)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    KeyOrEnd,
    Key,
    Colon,
    Text,
    /// After a quote: does it end the string, or is it an unescaped part of it?
    Quote,
    Word,
    CommaOrEnd,
    Ended,
    Broken,
}

/// The reader.
#[derive(Debug)]
pub(super) struct Reader {
    state: State,
    frames: Vec<Frame>,
    token: Vec<u8>,
    escaped: bool,
    blanks: usize,
    /// An object's entry begins here.
    at_entry: bool,
    entries: Vec<(u64, u64)>,
    /// Line within the stream.
    pub(super) line: u64,
}

impl Reader {
    pub(super) fn new(line: u64) -> Self {
        Self {
            state: State::Value,
            frames: Vec::new(),
            token: Vec::new(),
            escaped: false,
            blanks: 0,
            at_entry: false,
            entries: Vec::new(),
            line,
        }
    }

    /// Takes bytes until the document ends; gives how many.
    pub(super) fn push(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match self.state {
                State::Ended | State::Broken => return at,
                State::KeyOrEnd if std::mem::take(&mut self.at_entry) && sink.holds_numbers(&self.frames) => {
                    at += self.numbers(&bytes[at..], sink);
                    continue;
                }
                _ => {}
            }
            self.byte(byte, sink);
            self.line += u64::from(byte == b'\n');
            at += 1;
        }
        bytes.len()
    }

    /// Takes `"KEY": VALUE,` as long as both are whole numbers; gives how many bytes. A histogram is nearly all this.
    fn numbers(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let mut taken = 0;
        let mut entries = std::mem::take(&mut self.entries);
        entries.clear();
        while let Some(entry) = number_entry(&bytes[taken..]) {
            entries.push((entry.key, entry.value));
            taken += entry.length;
            self.line += entry.lines;
        }
        sink.numbers(&self.frames, &entries);
        self.entries = entries;
        taken
    }

    /// Has the document ended, well or not?
    pub(super) fn ended(&self) -> bool {
        matches!(self.state, State::Ended | State::Broken)
    }

    /// Did it end with its last brace?
    pub(super) fn whole(&self) -> bool {
        self.state == State::Ended
    }

    fn byte(&mut self, byte: u8, sink: &mut impl Sink) {
        match self.state {
            State::Text | State::Key => self.text(byte, sink),
            State::Quote => self.quote(byte, sink),
            State::Word => match byte {
                b',' | b'}' | b']' | b' ' | b'\t' | b'\r' | b'\n' => {
                    self.word(sink);
                    self.byte(byte, sink);
                }
                _ => self.keep(byte),
            },
            _ if byte.is_ascii_whitespace() => {}
            State::Value => self.begin(byte, sink),
            State::KeyOrEnd => match byte {
                b'"' => self.start(State::Key),
                b'}' => self.close(false),
                _ => self.state = State::Broken,
            },
            State::Colon => self.state = if byte == b':' { State::Value } else { State::Broken },
            State::CommaOrEnd => self.after_value(byte),
            State::Ended | State::Broken => {}
        }
    }

    fn begin(&mut self, byte: u8, sink: &mut impl Sink) {
        match byte {
            b'{' | b'[' if self.frames.len() < MAX_DEPTH => {
                sink.open(&self.frames);
                let array = byte == b'[';
                self.frames.push(Frame { array, ..Frame::default() });
                self.at_entry = !array;
                self.state = if array { State::Value } else { State::KeyOrEnd };
            }
            b']' if self.frames.last().is_some_and(|frame| frame.array) => self.close(true),
            b'"' => self.start(State::Text),
            b'{' | b'[' | b'}' | b']' | b',' | b':' => self.state = State::Broken,
            _ => {
                self.start(State::Word);
                self.keep(byte);
            }
        }
    }

    fn start(&mut self, state: State) {
        self.token.clear();
        self.escaped = false;
        self.state = state;
    }

    fn keep(&mut self, byte: u8) {
        if self.token.len() < MAX_TOKEN {
            self.token.push(byte);
        }
    }

    fn text(&mut self, byte: u8, sink: &mut impl Sink) {
        if self.escaped {
            self.escaped = false;
            self.keep(byte);
        } else if byte == b'\\' {
            self.escaped = true;
        } else if byte == b'"' && self.state == State::Key {
            if let Some(frame) = self.frames.last_mut() {
                std::mem::swap(&mut frame.key, &mut self.token);
            }
            self.state = State::Colon;
        } else if byte == b'"' {
            self.blanks = 0;
            self.state = State::Quote;
        } else if byte == b'\n' {
            // No string goes over a line end: its closing quote is missing.
            self.value(sink);
        } else {
            self.keep(byte);
        }
    }

    fn quote(&mut self, byte: u8, sink: &mut impl Sink) {
        match byte {
            b' ' | b'\t' | b'\r' => self.blanks += 1,
            b',' | b'}' | b']' | b'\n' => {
                self.value(sink);
                self.byte(byte, sink);
            }
            _ => {
                self.keep(b'"');
                (0..self.blanks.min(MAX_TOKEN)).for_each(|_| self.keep(b' '));
                self.state = State::Text;
                self.text(byte, sink);
            }
        }
    }

    fn word(&mut self, sink: &mut impl Sink) {
        self.value(sink);
    }

    fn value(&mut self, sink: &mut impl Sink) {
        sink.value(&self.frames, &self.token);
        self.state = State::CommaOrEnd;
    }

    fn after_value(&mut self, byte: u8) {
        let Some(frame) = self.frames.last_mut() else {
            self.state = State::Broken;
            return;
        };
        match (byte, frame.array) {
            (b',', true) => {
                frame.index += 1;
                self.state = State::Value;
            }
            (b',', false) => {
                self.at_entry = true;
                self.state = State::KeyOrEnd;
            }
            (b'}', false) => self.close(false),
            (b']', true) => self.close(true),
            _ => self.state = State::Broken,
        }
    }

    fn close(&mut self, array: bool) {
        let matches = self.frames.pop().is_some_and(|frame| frame.array == array);
        self.state = match (matches, self.frames.is_empty()) {
            (false, _) => State::Broken,
            (true, true) => State::Ended,
            (true, false) => State::CommaOrEnd,
        };
    }
}

struct NumberEntry {
    key: u64,
    value: u64,
    length: usize,
    lines: u64,
}

/// `"KEY": VALUE,` with blanks before it.
#[inline]
fn number_entry(bytes: &[u8]) -> Option<NumberEntry> {
    let (mut at, mut lines) = (0, 0);
    loop {
        match bytes.get(at)? {
            b'"' => break,
            b'\n' => lines += 1,
            b' ' | b'\t' | b'\r' => {}
            _ => return None,
        }
        at += 1;
        if bytes.get(at..at + 8) == Some(b"        ") {
            at += 8;
        }
    }
    let (key, width) = take_count(&bytes[at + 1..])?;
    at += 1 + width;
    at += bytes.get(at..)?.strip_prefix(b"\":").map(|_| 2)?;
    at += usize::from(bytes.get(at) == Some(&b' '));
    let (value, width) = take_count(bytes.get(at..)?)?;
    at += width;
    (bytes.get(at) == Some(&b',')).then_some(NumberEntry { key, value, length: at + 1, lines })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Default)]
    struct Values(Vec<String>);

    impl Sink for Values {
        fn open(&mut self, _: &[Frame]) {}
        fn holds_numbers(&self, path: &[Frame]) -> bool {
            matches!(path, [histogram, _] if histogram.key() == b"h")
        }
        fn numbers(&mut self, _: &[Frame], entries: &[(u64, u64)]) {
            self.0.extend(entries.iter().map(|(key, value)| format!("h.{key}={value}")));
        }
        fn value(&mut self, path: &[Frame], text: &[u8]) {
            let steps = path.iter().map(|frame| match frame.index() {
                Some(index) => index.to_string(),
                None => String::from_utf8_lossy(frame.key()).into_owned(),
            });
            self.0.push(format!("{}={}", steps.collect::<Vec<_>>().join("."), String::from_utf8_lossy(text)));
        }
    }

    fn read(text: &str, size: usize) -> (Vec<String>, bool) {
        let (mut reader, mut values) = (Reader::new(1), Values::default());
        for chunk in text.as_bytes().chunks(size) {
            reader.push(chunk, &mut values);
        }
        (values.0, reader.whole())
    }

    #[test]
    fn tolerant_where_the_tools_are_wrong() {
        let text = "{\"cmdline:\": \"cyclictest --x=\"a b\" -q\",\n \"a\": {\"0\": {\"avg\": -nan, \"n\": [1, [2, 3], {}]}},\n\"e\":\"\"}";
        let expected =
            ["cmdline=cyclictest --x=\"a b\" -q", "a.0.avg=-nan", "a.0.n.0=1", "a.0.n.1.0=2", "a.0.n.1.1=3", "e="];
        for size in [1, 3, 1000] {
            assert_eq!(read(text, size), (expected.map(str::to_owned).to_vec(), true), "chunks of {size}");
        }
    }

    #[test]
    fn numbers_come_in_order_however_they_are_printed() {
        let text =
            "{\"h\": {\"1\": 2,\n          \"3\":4 , \"5\": 6, \"7.5\": 1,\"8\" : 9,\"10\":nan}, \"a\": {\"1\": 2}}";
        let expected = ["h.1=2", "h.3=4", "h.5=6", "h.7.5=1", "h.8=9", "h.10=nan", "a.1=2"];
        for size in [1, 5, 1000] {
            assert_eq!(read(text, size), (expected.map(str::to_owned).to_vec(), true), "chunks of {size}");
        }
    }

    #[test]
    fn what_is_broken_does_not_end_well() {
        for text in ["{\"a\": 1", "{a: 1}", "{\"a\": 1]", "{\"a\" 1}", "{,}", &"{\"a\":[".repeat(100)] {
            assert!(!read(text, 7).1, "{text}");
        }
    }
}
