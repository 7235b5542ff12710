//! Who uses the board: `lock.json` in the work directory.

use crate::{
    args::Args,
    error::{Doing, Error, Result},
    rt::{clock, fd},
    supervise::boot_id,
};
use latprobe::status::Lock;
use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// Changes to the lock file take microseconds; a board under load may stretch them.
const PATIENCE: Duration = Duration::from_secs(30);

/// `latprobe lock take|show|release WORKDIR …`: prints the lock as it stands then (`null`: free).
pub(crate) fn lock(mut args: Args) -> Result<()> {
    let action = args.word("take, show or release")?;
    let workdir = args.path("WORKDIR")?;
    match action.to_str() {
        Some("show") => {
            args.finish()?;
            crate::print_json(&valid(read(&workdir)?))
        }
        Some("take") => {
            let (holder, execution) = (args.required("--holder")?, args.required("--execution")?);
            let (run_id, steal) = (args.option("--run")?, args.flag("--steal"));
            args.finish()?;
            let _turn = turn(&workdir)?;
            if let Some(other) = valid(read(&workdir)?).filter(|lock| !steal && lock.execution != execution) {
                return held(other);
            }
            let lock = Lock { holder, execution, run_id, boot_id: boot_id(), since_mono_ns: clock::now_ns() };
            write(&workdir, &lock)?;
            crate::print_json(&lock)
        }
        Some("release") => {
            let (_, execution) = (args.required("--holder")?, args.required("--execution")?);
            args.finish()?;
            let _turn = turn(&workdir)?;
            match valid(read(&workdir)?) {
                Some(other) if other.execution != execution => return held(other),
                _ => remove(&workdir)?,
            }
            crate::print_json(&None::<Lock>)
        }
        _ => Err(Error::Usage(format!(
            "latprobe lock: unknown `{}`, expected take, show or release",
            action.to_string_lossy()
        ))),
    }
}

fn held(lock: Lock) -> Result<()> {
    crate::print_json(&lock)?;
    Err(Error::Held(Box::new(lock)))
}

/// A lock of an earlier boot holds nothing any more.
fn valid(lock: Option<Lock>) -> Option<Lock> {
    lock.filter(|lock| lock.boot_id == boot_id())
}

fn path(workdir: &Path) -> PathBuf {
    workdir.join("lock.json")
}

fn read(workdir: &Path) -> Result<Option<Lock>> {
    let path = path(workdir);
    match fs::read(&path) {
        Ok(text) => {
            serde_json::from_slice(&text).map(Some).map_err(|error| Error::Damaged { path, problem: error.to_string() })
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && workdir.is_dir() => Ok(None),
        Err(error) => Err(Error::io(path.display().to_string(), error)),
    }
}

fn write(workdir: &Path, lock: &Lock) -> Result<()> {
    let (path, temporary) = (path(workdir), workdir.join("lock.json.new"));
    let write = || {
        let mut file = File::create(&temporary)?;
        file.write_all(&serde_json::to_vec(lock)?)?;
        file.sync_all()?;
        fs::rename(&temporary, &path)
    };
    write().doing(|| format!("cannot write {}", path.display()))
}

fn remove(workdir: &Path) -> Result<()> {
    let path = path(workdir);
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io(format!("cannot remove {}", path.display()), error))
        }
        _ => Ok(()),
    }
}

/// One change at a time: the kernel drops this lock with its process, however that ends.
fn turn(workdir: &Path) -> Result<File> {
    let path = workdir.join("lock.turn");
    let open = || File::options().read(true).write(true).create(true).truncate(false).open(&path);
    let file = open().doing(|| format!("cannot open {}", path.display()))?;
    let deadline = Instant::now() + PATIENCE;
    while !fd::try_lock(&file).doing(|| path.display().to_string())? {
        if Instant::now() >= deadline {
            return Err(Error::io(path.display().to_string(), io::ErrorKind::TimedOut.into()));
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    Ok(file)
}
