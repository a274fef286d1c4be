//! Handlers that call the standard library. The guests of both forms have them.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant, SystemTime};
use std::{env, fs, io, thread};

use pointwork_guest::{Path, Variables, controller, events};
use uuid::Uuid;

events! {
    /// Returns after that number of milliseconds.
    pub Wait = "clock:wait": u64 => ();
}

/// The number of times that [`construct`] ran in this instance.
static CONSTRUCTED: AtomicU32 = AtomicU32::new(0);

// SAFETY: the linker collects such pointers into the constructors of the module.
#[cfg(target_arch = "wasm32")]
#[used]
#[unsafe(link_section = ".init_array")]
static CONSTRUCTOR: extern "C" fn() = construct;

/// A constructor, which runs before the first function of the instance: before `describe` or in a call.
#[cfg(target_arch = "wasm32")]
extern "C" fn construct() {
    CONSTRUCTED.fetch_add(1, Ordering::Relaxed);
    println!("constructed: {}, {}, {}", unix_time().as_nanos(), random(), variables());
}

fn unix_time() -> Duration {
    let time = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    time.expect("1970 has passed")
}

/// A random id, and a hash with random keys.
fn random() -> String {
    format!("{} {:x}", Uuid::new_v4(), RandomState::new().hash_one(1))
}

/// The numbers of variables and arguments, and the bytes of the standard input.
fn variables() -> String {
    let mut input = Vec::new();
    io::stdin().read_to_end(&mut input).expect("it is empty");
    assert_eq!(env::var("HOME"), Err(env::VarError::NotPresent));
    format!("{} {} {}", env::vars().count(), env::args().count(), input.len())
}

/// The first half of a line.
pub fn print_half(name: &str) {
    print!("first half of {name}, ");
    // Also what a guest flushes stays a half.
    io::stdout().flush().expect("the output is there");
    print!("second half of {name}, ");
}

/// The other half of it.
pub fn print_rest(name: &str) -> &'static str {
    println!("rest of {name}");
    "printed"
}

/// Variables that may be missing.
#[derive(Variables)]
pub struct Settings {
    /// The words of a greeting.
    greeting: Option<String>,
    #[variable(default = 20)]
    page_size: u32,
    offset: Option<i8>,
    rate: Option<f32>,
    mark: Option<char>,
}

/// A handler for each group of calls.
pub struct Std;

#[controller("std")]
impl Std {
    #[get("constructed")]
    fn constructed() -> String {
        CONSTRUCTED.load(Ordering::Relaxed).to_string()
    }

    #[get("random")]
    fn random() -> String {
        random()
    }

    #[get("variables")]
    fn variables() -> String {
        variables()
    }

    /// The variables by type, and one of them by the standard library.
    #[get("settings")]
    fn settings(settings: Settings) -> String {
        let Settings {
            greeting, page_size, ..
        } = settings;
        format!("{greeting:?} {page_size} {:?}", env::var("GREETING"))
    }

    #[get("types")]
    fn types(settings: Settings) -> String {
        let Settings { offset, rate, mark, .. } = settings;
        format!("{offset:?} {rate:?} {mark:?}")
    }

    /// The time, the time after some work, and what the monotonic clock says of that work, in nanoseconds.
    #[expect(
        clippy::disallowed_methods,
        reason = "the handler calls the clocks of its standard library"
    )]
    #[get("clocks")]
    fn clocks() -> String {
        let (time, instant) = (unix_time(), Instant::now());
        let mut numbers: HashMap<u32, u32> = (0..20_000).map(|number| (number, number)).collect();
        numbers.retain(|number, _| number % 2 == 0);
        assert_eq!(numbers.len(), 10_000);
        format!(
            "{} {} {}",
            time.as_nanos(),
            unix_time().as_nanos(),
            instant.elapsed().as_nanos()
        )
    }

    /// What is no error, of everything that must be one.
    #[get("outside")]
    fn outside() -> String {
        let address = "127.0.0.1:9";
        let attempts = [
            ("fs::read", fs::read("/etc/passwd").is_err()),
            ("fs::read of a relative path", fs::read("Cargo.toml").is_err()),
            ("fs::write", fs::write("folder/file", "text").is_err()),
            ("fs::File::create", fs::File::create("pointwork").is_err()),
            ("fs::metadata", fs::metadata("/").is_err()),
            ("fs::read_dir", fs::read_dir("/").is_err()),
            ("fs::create_dir", fs::create_dir("folder").is_err()),
            ("fs::remove_file", fs::remove_file("/etc/passwd").is_err()),
            ("fs::rename", fs::rename("/etc/passwd", "/etc/other").is_err()),
            ("TcpStream::connect", TcpStream::connect(address).is_err()),
            ("TcpListener::bind", TcpListener::bind(address).is_err()),
            ("UdpSocket::bind", UdpSocket::bind(address).is_err()),
            ("Command::spawn", Command::new("true").spawn().is_err()),
            ("thread::Builder::spawn", thread::Builder::new().spawn(|| ()).is_err()),
        ];
        let worked: Vec<_> = attempts
            .iter()
            .filter(|(_, failed)| !failed)
            .map(|(name, _)| *name)
            .collect();
        format!("{} attempts, worked: {worked:?}", attempts.len())
    }

    /// A line on each stream, and one without a newline.
    #[get("prints/:name")]
    fn prints(name: Path<String>) -> &'static str {
        let name = &*name;
        println!("whole line of {name}");
        eprintln!("error of {name}");
        print!("begun line of {name}");
        eprint!("begun error of {name}");
        "printed"
    }

    /// Panics within a line.
    #[get("panics")]
    fn panics() -> &'static str {
        print!("begun line before the panic");
        panic!("this handler panics on purpose")
    }

    /// Panics while the line is printed, when the standard library holds the output.
    #[get("panics-in-print")]
    fn panics_in_print() -> &'static str {
        struct Panics;

        impl std::fmt::Display for Panics {
            fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                panic!("this value panics on purpose")
            }
        }
        println!("a line with {Panics}");
        "printed"
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "the handler sleeps as its standard library does"
    )]
    #[get("sleeps")]
    fn sleeps() -> &'static str {
        thread::sleep(Duration::from_millis(1));
        "slept"
    }

    #[get("exits")]
    fn exits() -> &'static str {
        std::process::exit(0)
    }
}
