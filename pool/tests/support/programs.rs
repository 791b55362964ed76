//! Real servers for the tests of the adapters: started on a free loopback port in a folder of their own, and
//! ended by their own pid, on a panic too.
#![allow(
    dead_code,
    unreachable_pub,
    missing_debug_implementations,
    reason = "each test file uses its own part"
)]

use std::fs;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a server may take to start on a busy machine.
const START: Duration = Duration::from_secs(60);

/// Where the program is. `None`, said loudly, if it is missing; a failure if `CI` is `true`.
pub fn find(program: &str, also_in: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(also_in.iter().map(PathBuf::from));
    let found = folders.map(|folder| folder.join(program)).find(|file| file.is_file());
    if found.is_none() {
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let message = format!("SKIPPED {test}: the program {program} is missing");
        assert!(std::env::var("CI").as_deref() != Ok("true"), "{message}");
        eprintln!("\n!!! {message}\n");
    }
    found
}

/// A folder that goes with its value.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(what: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("lease-pool-{what}-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

pub fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// Sends a signal by the system's own program, so that the tests need no unsafe code.
pub fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).stderr(Stdio::null()).status();
}

fn children_of(pid: u32) -> Vec<u32> {
    let listed = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    listed.split_whitespace().filter_map(|child| child.parse().ok()).collect()
}

fn with_children(pid: u32) -> Vec<u32> {
    let mut all = vec![pid];
    all.extend(children_of(pid));
    all
}

/// Runs `program` so that a server which refuses root does not see it, and which ends with this thread.
fn unprivileged(program: &Path, folder: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.arg("--pdeathsig").arg("KILL");
    if is_root() {
        command.args(["--reuid", "nobody", "--regid", "nogroup", "--clear-groups"]);
    }
    command.arg("env").arg(format!("HOME={}", folder.display())).arg(program);
    command.stdin(Stdio::null());
    command
}

fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

struct Process {
    child: Child,
}

impl Process {
    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn kill_all(&mut self) {
        for pid in with_children(self.pid()) {
            signal(pid, "KILL");
        }
        let _ = self.child.wait();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill_all();
    }
}

/// A PostgreSQL server with one database and the user `postgres`, without a password.
pub struct Postgres {
    process: Option<Process>,
    program: PathBuf,
    pub port: u16,
    options: Vec<String>,
    folder: Folder,
}

const POSTGRES_FOLDERS: &[&str] = &["/usr/lib/postgresql/15/bin", "/usr/lib/postgresql/16/bin"];

impl Postgres {
    /// Makes and starts one with these settings (`name=value`), or tells that it cannot.
    pub fn start(options: &[&str]) -> Option<Self> {
        let program = find("postgres", POSTGRES_FOLDERS)?;
        let initdb = find("initdb", POSTGRES_FOLDERS)?;
        let folder = Folder::new("postgres");
        if is_root() {
            let owned = Command::new("chown").arg("nobody:nogroup").arg(folder.path()).status().unwrap();
            assert!(owned.success());
        }
        let made = unprivileged(&initdb, folder.path())
            .arg("-D")
            .arg(folder.path().join("data"))
            .args(["-U", "postgres", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C"])
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {}", String::from_utf8_lossy(&made.stderr));
        let options = options.iter().map(|option| (*option).to_owned()).collect();
        let mut server = Postgres { process: None, program, port: free_port(), options, folder };
        server.start_again();
        Some(server)
    }

    /// Starts it on the same port with the same data.
    pub fn start_again(&mut self) {
        let folder = self.folder.path();
        let log = fs::File::options().create(true).append(true).open(folder.join("log")).unwrap();
        let mut command = unprivileged(&self.program, folder);
        command.arg("-D").arg(folder.join("data")).arg("-p").arg(self.port.to_string());
        for fixed in ["listen_addresses=127.0.0.1", "fsync=off", "unix_socket_directories="] {
            let value =
                if fixed.ends_with('=') { format!("{fixed}{}", folder.display()) } else { fixed.to_owned() };
            command.arg("-c").arg(value);
        }
        for option in &self.options {
            command.arg("-c").arg(option);
        }
        let child = command.stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        self.process = Some(Process { child });
        let start = Instant::now();
        // The file's eighth line says `ready` when connections are taken.
        let pid_file = folder.join("data/postmaster.pid");
        loop {
            let text = fs::read_to_string(&pid_file).unwrap_or_default();
            let mut lines = text.lines();
            let ours = lines.next().and_then(|pid| pid.trim().parse().ok()) == self.pid();
            if ours && lines.nth(6).is_some_and(|status| status.trim() == "ready") {
                return;
            }
            assert!(start.elapsed() < START, "PostgreSQL does not start:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// One more setting, from the next start on.
    pub fn set(&mut self, option: &str) {
        self.options.push(option.to_owned());
    }

    /// Copies a file into the data folder, readable by the server only.
    pub fn take_file(&self, file: &Path, name: &str) {
        let copy = self.folder.path().join("data").join(name);
        fs::copy(file, &copy).unwrap();
        let private = Command::new("chmod").arg("600").arg(&copy).status().unwrap();
        assert!(private.success());
        if is_root() {
            let owned = Command::new("chown").arg("nobody:nogroup").arg(&copy).status().unwrap();
            assert!(owned.success());
        }
    }

    fn pid(&self) -> Option<u32> {
        self.process.as_ref().map(Process::pid)
    }

    /// Kills the server and all its processes, as the end of the machine would.
    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill_all();
        }
    }

    /// Stops every process where it is: sockets stay open and nobody answers.
    pub fn freeze(&self) {
        self.pid().into_iter().flat_map(with_children).for_each(|pid| signal(pid, "STOP"));
    }

    pub fn thaw(&self) {
        self.pid().into_iter().flat_map(with_children).for_each(|pid| signal(pid, "CONT"));
    }

    pub fn url(&self) -> String {
        format!("host=127.0.0.1 port={} user=postgres dbname=postgres", self.port)
    }

    pub fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }
}

/// A Redis server that keeps nothing on disk.
pub struct Redis {
    process: Option<Process>,
    program: PathBuf,
    pub port: u16,
    folder: Folder,
}

impl Redis {
    /// Starts one, or tells that it cannot.
    pub fn start() -> Option<Self> {
        let program = find("redis-server", &[])?;
        let mut server = Redis { process: None, program, port: free_port(), folder: Folder::new("redis") };
        server.start_again();
        Some(server)
    }

    pub fn start_again(&mut self) {
        let child = Command::new("setpriv")
            .args(["--pdeathsig", "KILL"])
            .arg(&self.program)
            .args(["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--port"])
            .arg(self.port.to_string())
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        self.process = Some(Process { child });
        let start = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(start.elapsed() < START, "Redis does not start");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    pub fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill_all();
        }
    }

    pub fn freeze(&self) {
        self.process.iter().for_each(|process| signal(process.pid(), "STOP"));
    }

    pub fn thaw(&self) {
        self.process.iter().for_each(|process| signal(process.pid(), "CONT"));
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }
}
