//! A board as small as they come: dropbear without sftp in a root that holds BusyBox and nothing else.

use super::sshd::{free_port, keygen};
use super::{Workplace, processes, wait_for, which};
use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

pub(crate) const NEEDS: [&str; 7] = ["dropbear", "dropbearkey", "busybox", "ssh", "ssh-keygen", "unshare", "ldd"];

/// A running server in its root; ends with its sessions when dropped.
pub(crate) struct Dropbear {
    child: Child,
    directory: PathBuf,
    port: u16,
    host_key: String,
}

impl Dropbear {
    pub(crate) fn start(workplace: &Workplace) -> Self {
        let directory = workplace.path().join("dropbear");
        let root = directory.join("root");
        for name in ["bin", "sbin", "etc", "dev", "proc", "sys", "tmp", "var/tmp", "var/lib", "root/.ssh"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        keygen(&directory.join("id"));
        fs::copy(directory.join("id.pub"), root.join("root/.ssh/authorized_keys")).unwrap();
        for private in ["root", "root/.ssh"] {
            fs::set_permissions(root.join(private), fs::Permissions::from_mode(0o700)).unwrap();
        }
        fs::set_permissions(root.join("root/.ssh/authorized_keys"), fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(root.join("etc/passwd"), "root::0:0:root:/root:/bin/sh\n").unwrap();
        fs::write(root.join("etc/shells"), "/bin/sh\n").unwrap();
        busybox(&root);
        with_libraries(&which("dropbear").unwrap(), &root.join("sbin/dropbear"), &root);
        let host_key = host_key(&root.join("etc/host_key"));
        let port = free_port();
        let at = root.display();
        let serve = format!(
            "mount -t proc proc {at}/proc && mount --rbind /dev {at}/dev && mount --rbind /sys {at}/sys && \
             exec chroot {at} /sbin/dropbear -F -E -s -r /etc/host_key -p 127.0.0.1:{port}"
        );
        let log = fs::File::create(directory.join("log")).unwrap();
        let mut child = Command::new("unshare")
            .args(["--mount", "sh", "-e", "-c", &serve])
            .env_clear()
            .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        wait_for("dropbear", 20, || {
            if let Some(status) = child.try_wait().unwrap() {
                panic!("dropbear ended: {status}: {}", fs::read_to_string(directory.join("log")).unwrap());
            }
            let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()?;
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            let mut banner = [0; 4];
            stream.read_exact(&mut banner).ok().filter(|()| &banner == b"SSH-")
        });
        Self { child, directory, port, host_key }
    }

    /// Its root directory, as seen from outside.
    pub(crate) fn root(&self) -> PathBuf {
        self.directory.join("root")
    }

    /// `[ssh]`.
    pub(crate) fn target(&self) -> String {
        let (port, key, identity) = (self.port, &self.host_key, self.directory.join("id"));
        format!(
            "[ssh]\ndestination = \"root@127.0.0.1\"\nport = {port}\nidentity = {identity:?}\nhost_keys = [{key:?}]\n"
        )
    }
}

impl Drop for Dropbear {
    fn drop(&mut self) {
        let sessions = processes::descendants(self.child.id());
        let _ = self.child.kill();
        let _ = self.child.wait();
        sessions.into_iter().for_each(processes::kill);
    }
}

fn busybox(root: &Path) {
    let busybox = which("busybox").unwrap();
    fs::copy(&busybox, root.join("bin/busybox")).unwrap();
    let applets = Command::new(&busybox).arg("--list").output().unwrap().stdout;
    for applet in String::from_utf8(applets).unwrap().lines().filter(|applet| *applet != "busybox") {
        symlink("busybox", root.join("bin").join(applet)).unwrap();
    }
}

/// Copies a program and the libraries that `ldd` finds for it.
fn with_libraries(program: &Path, to: &Path, root: &Path) {
    let (program, search) = behind_wrapper(program);
    fs::copy(&program, to).unwrap();
    let listed = Command::new("ldd").arg(&program).env("LD_LIBRARY_PATH", search).output().unwrap().stdout;
    for library in String::from_utf8(listed).unwrap().split_whitespace().filter(|word| word.starts_with('/')) {
        let library = Path::new(library);
        let standard = library.starts_with("/lib") || library.starts_with("/lib64") || library.starts_with("/usr/lib");
        let to = match standard {
            true => root.join(library.strip_prefix("/").unwrap()),
            false => root.join("lib").join(library.file_name().unwrap()),
        };
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(library, to).unwrap();
    }
}

/// A program that `cargo xtask test` has fetched is a script that sets LD_LIBRARY_PATH='…' and does exec '…'.
fn behind_wrapper(program: &Path) -> (PathBuf, String) {
    let bytes = fs::read(program).unwrap();
    let quoted = |text: &str, before: &str| Some(text.split_once(before)?.1.split_once('\'')?.0.to_owned());
    let parts = std::str::from_utf8(&bytes)
        .ok()
        .filter(|text| text.starts_with("#!"))
        .and_then(|text| Some((quoted(text, "\nexec '")?.into(), quoted(text, "\nLD_LIBRARY_PATH='")?)));
    parts.unwrap_or_else(|| (program.to_owned(), String::new()))
}

fn host_key(path: &Path) -> String {
    let made = Command::new("dropbearkey").args(["-t", "ed25519", "-f"]).arg(path).output().unwrap();
    let text = String::from_utf8(made.stdout).unwrap();
    let line = text.lines().find(|line| line.starts_with("ssh-")).unwrap_or_else(|| panic!("no key in {text}"));
    line.split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}
