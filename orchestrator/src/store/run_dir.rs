use super::manifest::{self, MANIFEST_FORMAT};
use super::{Manifest, Plan, PlannedRun, StoreError, files};
use latlab_core::facts::Facts;
use latlab_core::judgement::{JUDGEMENT_FORMAT, Judgement};
use latlab_core::recipe::Recipe;
use latlab_core::verdict::Files;
use latprobe::spec::{SPEC_FORMAT, Spec};
use latprobe::status::Capture;
use latprobe::stream::{self, Folded, fold};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// The directory of one run.
#[derive(Debug, Clone)]
pub struct RunDir {
    path: PathBuf,
}

/// Which facts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FactsWhen {
    /// Before the settings were applied and the loads started.
    Before,
    /// After a reset in mid-run, before this segment.
    Boot(u32),
    /// After everything was put back.
    After,
}

/// One line of `contacts.jsonl`: the host talked to the board, so a spike at that time may be the host's doing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contact {
    /// The board's `CLOCK_MONOTONIC` when it answered, in ns.
    pub mono_ns: u64,
    /// The board's boot at that time.
    pub boot_id: String,
    /// How long the host waited for the answer, in ns.
    pub took_ns: u64,
    /// Bytes of stream brought home.
    pub bytes: u64,
    /// How long a new connection took just before, in ns; 0: there was one. A login costs the board more than a question.
    #[serde(default)]
    pub connect_ns: u64,
}

impl RunDir {
    /// The directory at `path`, whether or not it is there.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }

    /// Where.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Name of the run.
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// The spec; `None` before the run was prepared.
    pub fn spec(&self) -> Result<Option<Spec>, StoreError> {
        let path = self.path.join("spec.json");
        if !path.exists() {
            return Ok(None);
        }
        files::read_json(&path, Some(SPEC_FORMAT)).map(Some)
    }

    /// The spec of the newest segment: what was left after the last reset, or the whole.
    pub fn latest_spec(&self) -> Result<Option<Spec>, StoreError> {
        match self.numbered("spec-", ".json")?.last() {
            Some(segment) => files::read_json(&self.segment_spec_path(*segment), Some(SPEC_FORMAT)).map(Some),
            None => self.spec(),
        }
    }

    /// The board after each reset in mid-run.
    fn boots(&self) -> Result<Vec<Facts>, StoreError> {
        let segments = self.numbered("facts-boot-", "")?;
        segments.into_iter().map(|segment| Ok(Facts::parse(&self.facts(FactsWhen::Boot(segment))?))).collect()
    }

    /// The captured facts of the newest boot that was measured on.
    pub fn facts_of_last_boot(&self) -> Result<Vec<Capture>, StoreError> {
        match self.numbered("facts-boot-", "")?.last() {
            Some(segment) => self.facts(FactsWhen::Boot(*segment)),
            None => self.facts(FactsWhen::Before),
        }
    }

    /// Captured facts; empty when none were taken.
    pub fn facts(&self, when: FactsWhen) -> Result<Vec<Capture>, StoreError> {
        files::read_lines(&self.facts_path(when))
    }

    /// Segments present, ascending.
    pub fn segments(&self) -> Result<Vec<u32>, StoreError> {
        self.numbered("stream-", "")
    }

    /// Numbers in the names of files, ascending.
    fn numbered(&self, before: &str, behind: &str) -> Result<Vec<u32>, StoreError> {
        let mut segments = Vec::new();
        let entries = match std::fs::read_dir(&self.path) {
            Ok(entries) => entries,
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(segments),
            Err(source) => return Err(StoreError::read(&self.path, source)),
        };
        for entry in entries {
            let name = entry.map_err(|source| StoreError::read(&self.path, source))?.file_name();
            let name = name.to_string_lossy();
            let number = name.strip_prefix(before).and_then(|name| name.strip_suffix(behind));
            segments.extend(number.and_then(|number| number.parse::<u32>().ok()));
        }
        segments.sort_unstable();
        Ok(segments)
    }

    /// Raw stream of a segment.
    pub fn segment_bytes(&self, segment: u32) -> Result<Vec<u8>, StoreError> {
        files::read(&self.segment_path(segment))
    }

    /// What each segment says, ascending.
    pub fn fold(&self) -> Result<Vec<Folded>, StoreError> {
        let segments = self.segments()?;
        segments.into_iter().map(|segment| Ok(fold::fold_bytes(&self.segment_bytes(segment)?))).collect()
    }

    /// Everything that a judgement rests on; `None` before the run was prepared.
    pub fn files(&self) -> Result<Option<Files>, StoreError> {
        let Some(spec) = self.spec()? else { return Ok(None) };
        let after = self.facts(FactsWhen::After)?;
        Ok(Some(Files {
            spec,
            segments: self.fold()?,
            before: Facts::parse(&self.facts(FactsWhen::Before)?),
            boots: self.boots()?,
            after: (!after.is_empty()).then(|| Facts::parse(&after)),
        }))
    }

    /// When the host talked to the board.
    pub fn contacts(&self) -> Result<Vec<Contact>, StoreError> {
        files::read_lines(&self.path.join("contacts.jsonl"))
    }

    /// Kernel messages of the run; `None` when they were not collected.
    pub fn kernel_log(&self) -> Result<Option<String>, StoreError> {
        let content = files::read_optional(&self.path.join("kernel.log"))?;
        Ok(content.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// The stored judgement; `None` before the run was judged.
    pub fn judgement(&self) -> Result<Option<Judgement>, StoreError> {
        let path = self.path.join("verdict.json");
        if !path.exists() {
            return Ok(None);
        }
        files::read_json(&path, Some(JUDGEMENT_FORMAT)).map(Some)
    }

    /// The manifest; `None` before the run was closed.
    pub fn manifest(&self) -> Result<Option<Manifest>, StoreError> {
        let path = self.path.join("manifest.json");
        if !path.exists() {
            return Ok(None);
        }
        files::read_json(&path, Some(MANIFEST_FORMAT)).map(Some)
    }

    /// SHA-256 of the manifest; `None` where it cannot be read.
    pub(crate) fn manifest_hash(&self) -> Option<String> {
        files::read(&self.path.join("manifest.json")).ok().map(|content| manifest::sha256_hex(&content))
    }

    /// Files that differ from the manifest (changed, missing or added), in plain words; empty for a sound run.
    pub fn verify(&self) -> Result<Vec<String>, StoreError> {
        let Some(manifest) = self.manifest()? else { return Ok(vec!["manifest.json: missing".to_owned()]) };
        let found = manifest::list(&self.path)?;
        let mut differences = Vec::new();
        for listed in &manifest.files {
            match found.iter().find(|file| file.path == listed.path) {
                None => differences.push(format!("{}: missing", listed.path)),
                Some(file) if file != listed => differences.push(format!("{}: changed since the run", listed.path)),
                Some(_) => {}
            }
        }
        let added = found.iter().filter(|file| !manifest.files.iter().any(|listed| listed.path == file.path));
        differences.extend(added.map(|file| format!("{}: not of the run", file.path)));
        Ok(differences)
    }

    /// Stores the spec as submitted.
    pub fn write_spec(&self, spec: &Spec) -> Result<(), StoreError> {
        files::write_json(&self.path.join("spec.json"), spec)
    }

    /// Stores what a segment after a reset was told to do.
    pub fn write_segment_spec(&self, spec: &Spec) -> Result<(), StoreError> {
        files::write_json(&self.segment_spec_path(spec.first_segment), spec)
    }

    /// Puts everything of the run aside, into a directory of its own: it begins again.
    pub fn set_aside(&self) -> Result<(), StoreError> {
        if self.segments()?.is_empty() {
            return Ok(());
        }
        let aside = |number: u32| self.path.join(format!("before-reset-{number}"));
        let last = self.numbered("before-reset-", "")?.last().copied().unwrap_or(0);
        // Without a stream it was begun by a process that did not get to the end.
        let begun = last > 0 && Self::at(aside(last)).segments()?.is_empty();
        let aside = aside(if begun { last } else { last + 1 });
        let failed = |source| StoreError::write(&aside, source);
        std::fs::create_dir_all(&aside).map_err(failed)?;
        let entries = std::fs::read_dir(&self.path).map_err(|source| StoreError::read(&self.path, source))?;
        let names = entries.flatten().map(|entry| entry.file_name());
        let mut names: Vec<_> = names.filter(|name| !name.to_string_lossy().starts_with("before-reset-")).collect();
        // Streams last: as long as one is there, this is not finished.
        names.sort_by_key(|name| name.to_string_lossy().starts_with("stream-"));
        for name in names {
            std::fs::rename(self.path.join(&name), aside.join(&name)).map_err(failed)?;
        }
        Ok(())
    }

    /// Stores captured facts.
    pub fn write_facts(&self, when: FactsWhen, captures: &[Capture]) -> Result<(), StoreError> {
        let path = self.facts_path(when);
        let mut text = Vec::new();
        for capture in captures {
            serde_json::to_writer(&mut text, capture)
                .map_err(|e| StoreError::Damaged { path: path.clone(), reason: e.to_string() })?;
            text.push(b'\n');
        }
        files::write_whole(&path, &text)
    }

    /// Stores the kernel's messages.
    pub fn write_kernel_log(&self, text: &[u8]) -> Result<(), StoreError> {
        files::write_whole(&self.path.join("kernel.log"), text)
    }

    /// Stores the output of a load. `load` is fit for a file name by the campaign's rules.
    pub fn write_load_log(&self, load: &str, text: &[u8]) -> Result<(), StoreError> {
        files::write_whole(&self.path.join("loads").join(format!("{load}.log")), text)
    }

    /// Stores what the kernel traced of a hunt.
    pub fn write_trace(&self, text: &[u8]) -> Result<(), StoreError> {
        files::write_whole(&self.path.join("trace.txt"), text)
    }

    /// Stores the judgement.
    pub fn write_judgement(&self, judgement: &Judgement) -> Result<(), StoreError> {
        files::write_json(&self.path.join("verdict.json"), judgement)
    }

    /// Stores the recipe's checks of the board before the run.
    pub fn write_recipe(&self, recipe: &Recipe) -> Result<(), StoreError> {
        files::write_json(&self.path.join("recipe.json"), recipe)
    }

    /// Adds a contact.
    pub fn add_contact(&self, contact: &Contact) -> Result<(), StoreError> {
        let path = self.path.join("contacts.jsonl");
        files::append_line(&mut files::append_open(&path)?, &path, contact)
    }

    /// Closes the run: hashes every file. Nothing is written after it.
    pub fn close(&self, plan: &Plan, run: &PlannedRun) -> Result<(), StoreError> {
        let manifest = Manifest {
            format: MANIFEST_FORMAT,
            execution: plan.execution.clone(),
            run: run.name.clone(),
            cell: run.cell.clone(),
            target: run.target.clone(),
            closed: super::execution::now(),
            files: manifest::list(&self.path)?,
        };
        files::write_json(&self.path.join("manifest.json"), &manifest)
    }

    /// The local copy of a segment, ready to be continued.
    pub fn mirror(&self, segment: u32) -> Result<StreamMirror, StoreError> {
        StreamMirror::open(&self.segment_path(segment))
    }

    /// A captured board: the lines that `latprobe facts` printed.
    pub fn read_captures(path: &Path) -> Result<Vec<Capture>, StoreError> {
        files::read_lines(path)
    }

    fn facts_path(&self, when: FactsWhen) -> PathBuf {
        let directory = match when {
            FactsWhen::Before => "facts-before".to_owned(),
            FactsWhen::Boot(segment) => format!("facts-boot-{segment}"),
            FactsWhen::After => "facts-after".to_owned(),
        };
        self.path.join(directory).join("captures.jsonl")
    }

    fn segment_spec_path(&self, segment: u32) -> PathBuf {
        self.path.join(format!("spec-{segment}.json"))
    }

    fn segment_path(&self, segment: u32) -> PathBuf {
        self.path.join(format!("stream-{segment}"))
    }
}

/// The local copy of a segment that grows behind the board's file.
#[derive(Debug)]
pub struct StreamMirror {
    path: PathBuf,
    file: File,
    bytes: u64,
    decoder: stream::Decoder,
    fold: stream::Fold,
}

impl StreamMirror {
    /// Opens the copy. What lies behind the last sound record is dropped and fetched again:
    /// the host may have been killed, or lost its power, in the middle of a write.
    fn open(path: &Path) -> Result<Self, StoreError> {
        let mut file = files::append_open(path)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content).map_err(|source| StoreError::read(path, source))?;
        let sound = sound_length(&content);
        if sound < content.len() {
            let shortened = file.set_len(sound as u64).and_then(|()| file.sync_data());
            shortened.map_err(|source| StoreError::write(path, source))?;
            content.truncate(sound);
        }
        let mut mirror =
            Self { path: path.to_owned(), file, bytes: 0, decoder: stream::Decoder::new(), fold: stream::Fold::new() };
        mirror.digest(&content);
        Ok(mirror)
    }

    /// Length so far: where the next fetch begins.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// What the stream says so far, without its series over time.
    pub fn so_far(&self) -> &Folded {
        self.fold.so_far()
    }

    /// Stretches that could not be used so far.
    pub fn damage(&self) -> &[stream::Damage] {
        self.decoder.damage()
    }

    /// Appends what follows; on storage when it returns.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), StoreError> {
        if bytes.is_empty() {
            return Ok(());
        }
        if let Err(source) = self.file.write_all(bytes).and_then(|()| self.file.sync_data()) {
            // Half a piece would shift everything behind it: back to what is known to be there.
            let _ = self.file.set_len(self.bytes);
            return Err(StoreError::write(&self.path, source));
        }
        self.digest(bytes);
        Ok(())
    }

    fn digest(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.decoder.push(bytes);
        while let Some(record) = self.decoder.next_record() {
            self.fold.push(record);
        }
        // Sixty boards over a night would fill the memory with what nobody looks at before the end.
        self.fold.forget_series();
    }
}

/// Bytes from the start that are whole, undamaged records.
fn sound_length(content: &[u8]) -> usize {
    let mut decoder = stream::Decoder::new();
    decoder.push(content);
    let mut sound = 0;
    while decoder.next_record().is_some() && decoder.damage().is_empty() {
        sound = usize::try_from(decoder.offset()).unwrap_or(0);
    }
    sound
}

#[cfg(test)]
mod tests {
    use super::*;
    use latprobe::stream::{Event, EventKind, Record, wire};

    fn note(n: u64) -> Record {
        Record::Event(Event { mono_ns: n, kind: EventKind::Note, subject: "x".into(), detail: "y".repeat(40) })
    }

    #[test]
    fn a_mirror_cut_anywhere_goes_on_from_a_whole_record() {
        let records: Vec<Record> = (0..4).map(note).collect();
        let bytes = wire::encode_all(&records);
        for cut in 0..bytes.len() {
            let directory = tempfile::tempdir().unwrap();
            let run = RunDir::at(directory.path());
            run.mirror(0).unwrap().append(&bytes[..cut]).unwrap();
            let mut mirror = run.mirror(0).unwrap();
            let from = usize::try_from(mirror.bytes()).unwrap();
            assert!(from <= cut && cut - from < bytes.len() / 3, "{cut} {from}");
            mirror.append(&bytes[from..]).unwrap();
            assert_eq!(run.segment_bytes(0).unwrap(), bytes);
            assert_eq!(mirror.so_far().events.len(), 4);
            assert_eq!(run.segments().unwrap(), [0]);
        }
    }

    #[test]
    fn a_damaged_local_copy_is_fetched_again_from_the_damage() {
        let bytes = wire::encode_all(&(0..4).map(note).collect::<Vec<_>>());
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        let mut copy = bytes.clone();
        copy[bytes.len() / 2 + 30] ^= 1;
        std::fs::write(run.segment_path(0), copy).unwrap();
        let mut mirror = run.mirror(0).unwrap();
        let from = usize::try_from(mirror.bytes()).unwrap();
        mirror.append(&bytes[from..]).unwrap();
        assert_eq!(run.segment_bytes(0).unwrap(), bytes);
        assert!(mirror.damage().is_empty());
    }

    #[test]
    fn verify_names_what_differs() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        run.write_kernel_log(b"quiet\n").unwrap();
        run.write_load_log("dd", b"1+0 records in\n").unwrap();
        let files = manifest::list(run.path()).unwrap();
        let manifest = Manifest {
            format: MANIFEST_FORMAT,
            execution: "e".into(),
            run: "r".into(),
            cell: "c".into(),
            target: "t".into(),
            closed: "now".into(),
            files,
        };
        files::write_json(&run.path().join("manifest.json"), &manifest).unwrap();
        assert_eq!(run.verify().unwrap(), Vec::<String>::new());
        std::fs::write(run.path().join("kernel.log"), "louder\n").unwrap();
        std::fs::remove_file(run.path().join("loads/dd.log")).unwrap();
        std::fs::write(run.path().join("extra"), "").unwrap();
        let expected = ["kernel.log: changed since the run", "loads/dd.log: missing", "extra: not of the run"];
        assert_eq!(run.verify().unwrap(), expected);
    }

    #[test]
    fn a_fifo_does_not_hang_the_reader() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        for name in ["spec.json", "stream-0", "kernel.log", "contacts.jsonl", "manifest.json", "extra"] {
            let made = std::process::Command::new("mkfifo").arg(directory.path().join(name)).status().unwrap();
            assert!(made.success());
        }
        let refused = [
            run.spec().map(drop),
            run.fold().map(drop),
            run.kernel_log().map(drop),
            run.contacts().map(drop),
            run.manifest().map(drop),
            run.mirror(0).map(drop),
        ];
        for refused in refused {
            let said = refused.unwrap_err().to_string();
            assert!(said.contains("is damaged: it is not a regular file"), "{said}");
        }
        assert_eq!(run.manifest_hash(), None);
        assert_eq!(manifest::list(run.path()).unwrap(), []);
    }

    #[test]
    fn a_newer_format_is_refused_by_its_version() {
        let directory = tempfile::tempdir().unwrap();
        let run = RunDir::at(directory.path());
        std::fs::write(directory.path().join("spec.json"), r#"{"format": 99, "new": true}"#).unwrap();
        let error = run.spec().unwrap_err().to_string();
        assert!(error.contains("has format 99; this latlab reads up to 1"), "{error}");
    }
}
