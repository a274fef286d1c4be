//! The time from a save to the first new answer of `pointwork dev`, for a project that `pointwork new` made.
//!
//! `cargo bench -p pointwork-cli --bench dev`, or `… --bench dev -- ts` for a project in TypeScript, `-- python` in Python. It builds the
//! command and the project first, which takes minutes. The goal is a median of 0.9 s on two quiet cores, in TypeScript of 1.5 s, in
//! Python of 3 s.

#![expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const SAVES: usize = 20;

/// The time after which a save is lost.
const LONGEST: Duration = Duration::from_secs(60);

/// The file of the template that is saved. Its greeting is a text in these quotes, and ends with `end`.
struct Greeting {
    lang: &'static str,
    file: &'static str,
    quote: char,
    end: &'static str,
}

const RUST: Greeting = Greeting {
    lang: "rust",
    file: "src/lib.rs",
    quote: '"',
    end: "{name}!",
};
const TYPESCRIPT: Greeting = Greeting {
    lang: "ts",
    file: "src/greetings.ts",
    quote: '`',
    end: "${name}!",
};
const PYTHON: Greeting = Greeting {
    lang: "python",
    file: "src/greetings.py",
    quote: '"',
    end: "{name}!",
};

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let named = |greeting: &Greeting| std::env::args().any(|argument| argument == greeting.lang);
    let greeting = [TYPESCRIPT, PYTHON].into_iter().find(named).unwrap_or(RUST);
    let folder = tempfile::tempdir()?;
    let pointwork = || Command::new(env!("CARGO_BIN_EXE_pointwork"));
    let made = pointwork()
        .args(["new", "shop", "--lang", greeting.lang])
        .current_dir(folder.path())
        .status()?;
    assert!(made.success(), "`pointwork new` failed");
    let project = folder.path().join("shop");
    let mut server = pointwork()
        .args(["dev", "--listen", "127.0.0.1:0"])
        .current_dir(&project)
        .env_remove("CARGO_TARGET_DIR")
        .stdout(Stdio::piped())
        .spawn()?;
    let output = BufReader::new(server.stdout.take().ok_or("it is piped")?);
    let _server = Server(server);
    let address = output.lines().find_map(|line| {
        let line = line.ok()?;
        Some(line.strip_prefix("listening on http://")?.to_owned())
    });
    let address = address.ok_or("the server ended")?;

    let mut times = Vec::new();
    for count in 0..SAVES {
        let text = format!("Hello {count}, ");
        save(&project, &greeting, &text)?;
        let saved = Instant::now();
        while !answer(&address)?.contains(&text) {
            assert!(saved.elapsed() < LONGEST, "the change is not served");
            std::thread::sleep(Duration::from_millis(2));
        }
        times.push(saved.elapsed());
        // Files of the build are still written.
        std::thread::sleep(Duration::from_millis(500));
    }
    times.sort();
    let [least, median, most] = [0, SAVES / 2, SAVES - 1].map(|place| times[place].as_secs_f64());
    let mut output = std::io::stdout();
    writeln!(
        output,
        "from a save to the first new answer, {SAVES} saves: median {median:.2} s, {least:.2} to {most:.2} s"
    )?;
    Ok(())
}

/// Puts another text before the name that is greeted.
fn save(project: &Path, greeting: &Greeting, text: &str) -> Result<(), Box<dyn Error>> {
    let file = project.join(greeting.file);
    let code = std::fs::read_to_string(&file)?;
    let end = code.find(greeting.end).ok_or("the template greets by name")?;
    let begin = code[..end].rfind(greeting.quote).ok_or("in a text")? + 1;
    std::fs::write(file, format!("{}{text}{}", &code[..begin], &code[end..]))?;
    Ok(())
}

fn answer(address: &str) -> Result<String, Box<dyn Error>> {
    let mut stream = TcpStream::connect(address)?;
    write!(
        stream,
        "GET /greetings/Ada HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n"
    )?;
    let mut reply = String::new();
    stream.read_to_string(&mut reply)?;
    Ok(reply)
}
