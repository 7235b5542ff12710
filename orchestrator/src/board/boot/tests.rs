//! Methods with the real programs of the boards, on files of this machine. Nothing is rebooted.

use super::{BootError, Restart};
use crate::board::Board;
use latlab_core::boot::{Arguments, Asked, boot_script};
use latlab_core::target::{self, BootMethod, Target, Transport};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// A program that boards have, as far as this machine has it.
fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file());
    let ci = std::env::var_os("CI").is_some_and(|ci| ci == "true");
    assert!(found.is_some() || !ci, "{name} is not installed, and CI=true");
    found
}

fn run(program: &Path, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}: {output:?}", program.display());
    String::from_utf8(output.stdout).unwrap()
}

/// This machine as a board. A target file cannot say so: it would be rebooted.
fn board(folder: &Path, method: BootMethod, file: Option<&str>) -> Board {
    let text = "name = 'b'\n[kernel.rt]\nlabel = 'rt'\nrelease = '*-rt*'\n[kernel.rt.set]\nimage = 'Image-rt'\n";
    let mut target: Target = target::load("b.toml", text).unwrap().target;
    target.boot_method = method;
    target.boot.file = file.map(|name| folder.join(name).to_string_lossy().into_owned());
    let path = format!("PATH={}/bin:{}", folder.display(), std::env::var("PATH").unwrap());
    target.transport = Transport::Local { r#become: Some(vec!["env".into(), path]) };
    Board::new(&target, Arc::default()).unwrap()
}

fn asked(kernel: bool) -> Asked {
    let append = vec!["threadirqs".to_owned()];
    Asked {
        kernel: kernel.then(|| "rt".to_owned()),
        label: kernel.then(|| "rt".to_owned()),
        set: kernel.then(|| ("image".to_owned(), "Image-rt".to_owned())).into_iter().collect(),
        arguments: Arguments { isolcpus: Some("1".to_owned()), append },
        ..Asked::default()
    }
}

/// A board whose `fw_printenv` and `fw_setenv` are the real ones, on a file.
fn environment_board(folder: &Path, content: Option<&str>) -> Option<Board> {
    let tools = [program("fw_printenv")?, program("fw_setenv")?];
    let image = folder.join("env.bin");
    match content {
        None => std::fs::write(&image, vec![0; 0x4000]).unwrap(),
        Some(content) => {
            let text = folder.join("env.txt");
            std::fs::write(&text, content).unwrap();
            let to = ["-s", "0x4000", "-o", image.to_str().unwrap(), text.to_str().unwrap()];
            run(&program("mkenvimage")?, &to);
        }
    }
    std::fs::write(folder.join("fw_env.config"), format!("{} 0x0 0x4000\n", image.display())).unwrap();
    std::fs::create_dir(folder.join("bin")).unwrap();
    for tool in tools {
        let wrapper = folder.join("bin").join(tool.file_name().unwrap());
        let text = format!("#!/bin/sh\nexec {} -c {}/fw_env.config \"$@\"\n", tool.display(), folder.display());
        std::fs::write(&wrapper, text).unwrap();
        run(Path::new("chmod"), &["755", wrapper.to_str().unwrap()]);
    }
    Some(board(folder, BootMethod::UbootEnv, None))
}

const ENVIRONMENT: &str = "bootcmd=run mmcargs; run loadimage\nimage=Image\nmmcargs=setenv bootargs ${jh_clk} console=${console} root=${mmcroot}\n";

#[tokio::test]
async fn uboots_environment_is_changed_and_put_back_by_the_real_tools() {
    let folder = tempfile::tempdir().unwrap();
    let Some(board) = environment_board(folder.path(), Some(ENVIRONMENT)) else { return };
    let print = || run(&folder.path().join("bin/fw_printenv"), &[]);
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let before = sorted(print());
    let choice = board.boot_choice();
    assert_eq!(choice.choose(&asked(true), "").await.unwrap(), Restart::Reboot);
    let text = print();
    assert!(text.contains("\nimage=Image-rt\n"), "{text}");
    let line = "\nmmcargs=setenv bootargs ${jh_clk} console=${console} root=${mmcroot} isolcpus=1 threadirqs\n";
    assert!(text.contains(line), "{text}");
    assert!(choice.is_changed().await.unwrap());
    choice.choose(&asked(false), "").await.unwrap();
    assert!(print().contains("\nimage=Image\n"), "{}", print());
    assert!(choice.put_back().await.unwrap());
    assert_eq!(sorted(print()), before);
    assert!(!choice.put_back().await.unwrap());
}

#[tokio::test]
async fn an_environment_with_a_bad_checksum_is_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let Some(board) = environment_board(folder.path(), None) else { return };
    let error = board.boot_choice().choose(&asked(true), "").await.unwrap_err();
    assert!(matches!(error, BootError::BadEnvironment { .. }), "{error}");
    assert!(std::fs::read(folder.path().join("env.bin")).unwrap().iter().all(|byte| *byte == 0));
}

#[tokio::test]
async fn grub_boots_an_entry_of_ours_once() {
    let Some(editenv) = program("grub-editenv") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("grub.cfg"), include_str!("../../../core/src/boot/testdata/grub.cfg")).unwrap();
    run(&editenv, &[path("grubenv").to_str().unwrap(), "create"]);
    let board = board(folder.path(), BootMethod::Grub, Some("grub.cfg"));
    let choice = board.boot_choice();
    assert!(!choice.is_changed().await.unwrap());
    let mut asked = asked(false);
    asked.label = Some("gnulinux-6.1.0-39-rt-amd64-advanced-1c2d".to_owned());
    choice.choose(&asked, "").await.unwrap();
    let list = || run(&editenv, &[path("grubenv").to_str().unwrap(), "list"]);
    assert_eq!(list(), "next_entry=latlab\n");
    let custom = std::fs::read_to_string(path("custom.cfg")).unwrap();
    assert!(custom.contains("root=UUID=1c2d ro quiet isolcpus=1 threadirqs"), "{custom}");
    assert!(choice.is_changed().await.unwrap());
    assert!(choice.put_back().await.unwrap());
    assert_eq!(list(), "");
    assert!(!path("custom.cfg").exists());
}

#[tokio::test]
async fn a_script_image_is_still_one_for_mkimage() {
    let Some(dumpimage) = program("dumpimage") else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boot.scr");
    let original = include_bytes!("../../../core/src/boot/testdata/boot.scr");
    std::fs::write(&path, original).unwrap();
    let board = board(folder.path(), BootMethod::BootScript, Some("boot.scr"));
    board.boot_choice().choose(&asked(false), "").await.unwrap();
    let listed = run(&dumpimage, &["-l", path.to_str().unwrap()]);
    assert!(listed.contains("ARM Linux Script"), "{listed}");
    let source = boot_script::source(&std::fs::read(&path).unwrap()).unwrap();
    assert!(source.contains("rw isolcpus=1 threadirqs\n"), "{source}");
    assert!(board.boot_choice().put_back().await.unwrap());
    assert_eq!(std::fs::read(&path).unwrap(), original);
}

#[tokio::test]
async fn a_pxe_file_of_this_host_and_a_uenv_are_put_back() {
    for (method, name, text, expected) in [
        (
            BootMethod::Pxe,
            "01-aa",
            "DEFAULT a\nLABEL a\nKERNEL a\nAPPEND ro\nLABEL rt\nKERNEL b\nAPPEND rw\n",
            "APPEND rw isolcpus=1 threadirqs\n",
        ),
        (
            BootMethod::Uenv,
            "uEnv.txt",
            "image=Image\ncmdline=ro\n",
            "image=Image-rt\ncmdline=ro isolcpus=1 threadirqs\n",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let board = board(folder.path(), method, Some(name));
        board.boot_choice().choose(&asked(true), "").await.unwrap();
        let edited = std::fs::read_to_string(&path).unwrap();
        assert!(edited.contains(expected), "{edited}");
        assert!(board.boot_choice().put_back().await.unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    }
}

#[tokio::test]
async fn a_raspberry_pi_keeps_its_own_files() {
    let folder = tempfile::tempdir().unwrap();
    let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap_or_default();
    for (name, text) in [("cmdline.txt", "root=PARTUUID=1 rootwait\n"), ("config.txt", "arm_64bit=1\n")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let board = board(folder.path(), BootMethod::Raspberrypi, Some("cmdline.txt"));
    let choice = board.boot_choice();
    assert_eq!(choice.choose(&asked(true), "").await.unwrap(), Restart::Tryboot);
    assert_eq!(read("cmdline-latlab.txt"), "root=PARTUUID=1 rootwait isolcpus=1 threadirqs\n");
    assert!(read("tryboot.txt").ends_with("[all]\ncmdline=cmdline-latlab.txt\nkernel=rt\n"), "{}", read("tryboot.txt"));
    assert_eq!(
        (read("cmdline.txt").as_str(), read("config.txt").as_str()),
        ("root=PARTUUID=1 rootwait\n", "arm_64bit=1\n")
    );
    assert!(choice.put_back().await.unwrap());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    // Somebody's own trial is not touched.
    std::fs::write(folder.path().join("tryboot.txt"), "kernel=update.img\n").unwrap();
    assert!(matches!(choice.choose(&asked(true), "").await, Err(BootError::Edit { .. })));
    assert!(!choice.put_back().await.unwrap());
    assert_eq!(read("tryboot.txt"), "kernel=update.img\n");
}

#[tokio::test]
async fn commands_of_the_target_file_get_what_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let note = folder.path().join("note");
    let mut target = board(folder.path(), BootMethod::Command, None).target.clone();
    let script = format!("echo \"$0 $1\" >>{}", note.display());
    let argv = |words: &[&str]| Some([&["sh", "-c", &script], words].concat().into_iter().map(str::to_owned).collect());
    target.boot.command = argv(&["{kernel}", "{arguments}"]);
    target.boot.put_back = argv(&["own", "choice"]);
    let board = Board::new(&target, Arc::default()).unwrap();
    board.boot_choice().choose(&asked(true), "").await.unwrap();
    assert!(board.boot_choice().put_back().await.unwrap());
    assert_eq!(std::fs::read_to_string(&note).unwrap(), "rt isolcpus=1 threadirqs\nown choice\n");
    target.boot.command = Some(vec!["sh".into(), "-c".into(), "echo no such server >&2; exit 4".into()]);
    let board = Board::new(&target, Arc::default()).unwrap();
    let error = board.boot_choice().choose(&asked(true), "").await.unwrap_err().to_string();
    assert_eq!(error, "`boot.command` on this host failed: no such server");
}

#[tokio::test]
async fn power_is_cut_by_commands_that_are_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let mut target = board(folder.path(), BootMethod::Command, None).target.clone();
    let power = async |target: &Target| Board::new(target, Arc::default()).unwrap().power_cycle().await;
    assert!(power(&target).await.unwrap_err().to_string().contains("names no `power.cycle`"));
    target.power_cycle = Some(vec!["sleep".into(), "60".into()]);
    target.power_timeout_ns = 300_000_000;
    let error = power(&target).await.unwrap_err().to_string();
    assert!(error.starts_with("`power.cycle` on this host failed: no answer within"), "{error}");
    target.power_cycle = Some(vec!["no-such-program-of-a-lab".into()]);
    assert!(power(&target).await.unwrap_err().to_string().contains("no-such-program-of-a-lab"));
    target.power_cycle = Some(vec!["true".into()]);
    power(&target).await.unwrap();
}

/// `rename` is not safe on FAT: there a file must be written in place. The board's `stat` says what it is.
#[tokio::test]
async fn on_fat_files_are_written_in_place() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("uEnv.txt");
    let text = "image=Image\ncmdline=ro\n";
    std::fs::write(&path, text).unwrap();
    let inode = || std::fs::metadata(&path).unwrap().ino();
    let before = inode();
    let board = board(folder.path(), BootMethod::Uenv, Some("uEnv.txt"));
    let change = async || {
        board.boot_choice().choose(&asked(true), "").await.unwrap();
        assert!(std::fs::read_to_string(&path).unwrap().contains("isolcpus=1"));
        let changed = inode();
        assert!(board.boot_choice().put_back().await.unwrap());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        (changed, inode())
    };
    let (renamed, _) = change().await;
    assert_ne!(renamed, before);
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    let stat = folder.path().join("bin/stat");
    std::fs::write(&stat, "#!/bin/sh\necho msdos\n").unwrap();
    run(Path::new("chmod"), &["755", stat.to_str().unwrap()]);
    let before = inode();
    assert_eq!(change().await, (before, before));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2, "only uEnv.txt and bin are left");
}

/// Deployed by its hash, named as the boot loader sees it, listed, and removed with its modules.
#[tokio::test]
async fn a_kernel_is_installed_once_beside_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let boot = folder.path().join("boot");
    std::fs::create_dir(&boot).unwrap();
    for (name, text) in [("zImage", "kernel"), (".config", "CONFIG_PREEMPT_RT=y\n")] {
        std::fs::write(folder.path().join(name), text).unwrap();
    }
    let conf = "DEFAULT a\nLABEL a\nKERNEL /a\nAPPEND ro\n";
    std::fs::write(boot.join("extlinux.conf"), conf).unwrap();
    let mut target = board(folder.path(), BootMethod::Extlinux, Some("boot/extlinux.conf")).target.clone();
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let install = target::Install {
        image: at("zImage"),
        initrd: None,
        device_tree: None,
        modules: None,
        config: Some(at(".config")),
    };
    let variant = target.kernels.get_mut("rt").unwrap();
    (variant.label, variant.install) = (None, Some(install));
    let board = Board::new(&target, Arc::default()).unwrap();
    let mut asked = asked(true);
    asked.label = None;
    for _ in 0..2 {
        board.boot_choice().choose(&asked, "").await.unwrap();
    }
    let kernels = board.installed_kernels().await.unwrap();
    let [kernel] = &kernels[..] else { panic!("{kernels:?}") };
    let own = boot.join("latlab").join(&kernel.hash);
    assert_eq!(std::fs::read_to_string(own.join("image")).unwrap(), "kernel");
    let edited = std::fs::read_to_string(boot.join("extlinux.conf")).unwrap();
    let loader_path = edited.lines().find_map(|line| line.trim().strip_prefix("LINUX ")).unwrap();
    // The loader sees the file system from its root, not from where it is mounted.
    assert!(own.join("image").ends_with(loader_path.trim_start_matches('/')), "{loader_path}");
    assert_eq!(board.installed_config("rt").unwrap().text.as_deref(), Some("CONFIG_PREEMPT_RT=y\n"));
    std::fs::write(folder.path().join("zImage"), "another kernel").unwrap();
    board.boot_choice().choose(&asked, "").await.unwrap();
    assert_eq!(board.installed_kernels().await.unwrap().len(), 2);
    for kernel in board.installed_kernels().await.unwrap() {
        board.remove_kernel(&kernel).await.unwrap();
    }
    assert!(!boot.join("latlab").exists());
}
