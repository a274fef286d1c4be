//! A synthetic guest as the program that a module of an SDK runs; `typescript/src/program.ts` has its types.

use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::Language;
use crate::guest::{Channel, Controller, Discovery, End, Flood, Guest, Program, ReplyBody, Step};

/// What a module in the language cannot do, with the reason.
type Cannot = &'static str;

const MANIFEST: Cannot = "the build of the SDK makes the manifest, which no code of the module changes or delays";
const CONTRACT: Cannot = "the SDK has the contract of its own version";
const START: Cannot = "no code of a module runs when an instance is made or its manifest is read: the build has run it";
const REPEATED: Cannot = "metadata is an object, which has a name once";
const TWO_NAMES: Cannot = "the SDK refuses two channels, or two listeners of one event, in the build";
const EMPTY: Cannot = "the SDK refuses a module without controllers and channels in the build";
const DETAILS: Cannot = "the body of an error is an object";
const VALUE: Cannot = "a handler returns a value, and the SDK writes its JSON";
const SLOW: Cannot = "a text of 16 MB takes longer to become bytes than a call may run";
const KEPT: Cannot = "the SDK closes the context and the delivery when the handler or listener has ended";
const TARGET: Cannot = "the lines of `log` have the target of the SDK";
const PRINTS: Cannot = "what a module prints goes to the log by the SDK, which ends the lines";
const NAME: Cannot = "a text that crosses the boundary is well-formed Unicode";
const HEADER: Cannot = "the value of a header is a text, which is sent as UTF-8";

/// # Errors
/// What the guest does that no module in the language can.
pub(super) fn of(guest: &Guest, language: Language) -> Result<Value, Cannot> {
    if language == Language::Rust {
        return in_rust(guest);
    }
    if guest.discovery != Discovery::Declares || guest.flood.is_some() {
        return Err(MANIFEST);
    }
    if guest.contract_version.is_some() || guest.foreign_import.is_some() {
        return Err(CONTRACT);
    }
    if !guest.described.is_empty() || !guest.started.is_empty() {
        return Err(START);
    }
    if guest.controllers.is_empty() && guest.channels.is_empty() {
        return Err(EMPTY);
    }
    are_distinct(guest.channels.iter().map(|channel| &channel.name))?;
    declared(guest, language)
}

/// The module in Rust makes its manifest when the host asks for the manifest, so it has all declarations that a case can have.
fn in_rust(guest: &Guest) -> Result<Value, Cannot> {
    let mut declared = declared(guest, Language::Rust)?;
    declared["discovery"] = match guest.discovery {
        Discovery::Declares => Value::Null,
        Discovery::Traps => json!("traps"),
        Discovery::Loops => json!("loops"),
        Discovery::Differs => json!("differs"),
    };
    declared["described"] = json!(steps(&guest.described, Language::Rust)?);
    declared["started"] = json!(steps(&guest.started, Language::Rust)?);
    if let Some((list, times)) = guest.flood {
        let last = last_entry(&mut declared, list);
        *last = repeated(last.take(), times);
    }
    Ok(declared)
}

/// An entry that is there so many times.
fn repeated(entry: Value, times: u32) -> Value {
    json!({ "times": times, "of": entry })
}

/// The entry that a flood repeats.
fn last_entry(declared: &mut Value, list: Flood) -> &mut Value {
    let path: &[&str] = match list {
        Flood::Controllers => &["controllers"],
        Flood::Routes => &["controllers", "routes"],
        Flood::Paths => &["controllers", "routes", "paths"],
        Flood::Channels => &["channels"],
        Flood::Listeners => &["channels", "listeners"],
        Flood::Events => &["uses"],
        Flood::Metadata => &["metadata"],
    };
    path.iter().fold(declared, |value, name| {
        let last = value[name].as_array_mut().and_then(|entries| entries.last_mut());
        last.expect("the list has an entry")
    })
}

fn declared(guest: &Guest, language: Language) -> Result<Value, Cannot> {
    let package = guest.package.as_ref();
    let package = package.map_or(json!({}), |(name, version)| json!({ "name": name, "version": version }));
    Ok(json!({
        "package": package,
        "uses": guest.uses,
        "metadata": metadata(&guest.metadata, language)?,
        "controllers": numbered(&guest.controllers).map(|of| controller(of, language)).collect::<Result<Vec<_>, _>>()?,
        "channels": guest.channels.iter().map(|of| channel(of, language)).collect::<Result<Vec<_>, _>>()?,
    }))
}

fn are_distinct<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), Cannot> {
    let mut names: Vec<_> = names.collect();
    names.sort_unstable();
    match names.windows(2).any(|two| two[0] == two[1]) {
        true => Err(TWO_NAMES),
        false => Ok(()),
    }
}

/// The controllers, each with the number of those before it that have the same name.
fn numbered(controllers: &[Controller]) -> impl Iterator<Item = (usize, &Controller)> {
    controllers.iter().enumerate().map(|(at, controller)| {
        let before = controllers[..at].iter().filter(|other| other.name == controller.name);
        (before.count(), controller)
    })
}

fn metadata(pairs: &[(String, String)], language: Language) -> Result<Value, Cannot> {
    if language == Language::Rust {
        return Ok(json!(pairs));
    }
    let values: Map<_, _> = pairs.iter().map(|(name, value)| (name.clone(), json!(value))).collect();
    match values.len() == pairs.len() {
        true => Ok(json!(pairs)),
        false => Err(REPEATED),
    }
}

fn controller((number, controller): (usize, &Controller), language: Language) -> Result<Value, Cannot> {
    let mut routes = Vec::new();
    for route in &controller.routes {
        let end = route.program.end;
        assert!(
            !matches!(end, End::Result(_) | End::Fail(..)),
            "a handler cannot end with {end:?}"
        );
        let mut told = json!({
            "name": route.name,
            "method": route.method,
            "paths": route.paths,
            "program": program(&route.program, language)?,
        });
        if route.body != "whole" {
            told["body"] = json!(route.body);
        }
        add_metadata(&mut told, &route.metadata, language)?;
        routes.push(told);
    }
    Ok(json!({
        // The SDKs of the other languages refuse two of one name.
        "name": match language {
            Language::Rust => controller.name.clone(),
            _ => format!("{}{}", controller.name, "'".repeat(number)),
        },
        "prefix": controller.prefix,
        "metadata": metadata(&controller.metadata, language)?,
        "routes": routes,
    }))
}

fn channel(channel: &Channel, language: Language) -> Result<Value, Cannot> {
    if language != Language::Rust {
        are_distinct(channel.listeners.iter().map(|listener| &listener.event))?;
    }
    let mut listeners = Vec::new();
    for listener in &channel.listeners {
        let end = listener.program.end;
        assert!(!matches!(end, End::Throw(_)), "a listener cannot end with {end:?}");
        let mut told = json!({ "event": listener.event, "program": program(&listener.program, language)? });
        add_metadata(&mut told, &listener.metadata, language)?;
        listeners.push(told);
    }
    Ok(json!({ "name": channel.name, "metadata": metadata(&channel.metadata, language)?, "listeners": listeners }))
}

fn add_metadata(told: &mut Value, pairs: &[(String, String)], language: Language) -> Result<(), Cannot> {
    if !pairs.is_empty() {
        told["metadata"] = metadata(pairs, language)?;
    }
    Ok(())
}

/// What is the default is left out: a case may have hundreds of programs.
fn program(program: &Program, language: Language) -> Result<Value, Cannot> {
    let mut told = json!({ "steps": steps(&program.steps, language)? });
    if program.status != 200 {
        told["status"] = json!(program.status);
    }
    if !program.headers.is_empty() {
        told["headers"] = headers(&program.headers, language)?;
    }
    if program.is_unchecked && language == Language::Rust {
        told["bytes"] = json!(true);
        told["details"] = json!(program.details);
    } else if let Some(details) = &program.details {
        let object = serde_json::from_str::<Map<String, Value>>(details);
        told["details"] = json!(object.map_err(|_| DETAILS)?);
    }
    if let (End::Reply(ReplyBody::Json), [Step::Say(text)]) = (program.end, &*program.steps)
        && language != Language::Rust
    {
        serde_json::from_str::<Value>(text).map_err(|_| VALUE)?;
    }
    let is_huge = program.steps.iter().any(|step| matches!(step, Step::Double(14..)));
    let is_slow = language == Language::TypeScript && is_huge;
    if is_slow && program.steps.iter().any(|step| matches!(step, Step::StreamText(_))) {
        return Err(SLOW);
    }
    if program.end != End::Reply(ReplyBody::Text) {
        told["end"] = end(program.end, language)?;
    }
    Ok(told)
}

/// A character for each byte.
fn latin1(bytes: &[u8]) -> String {
    bytes.iter().copied().map(char::from).collect()
}

/// In Rust and TypeScript, header values have a character for each byte.
fn headers(headers: &[(String, Vec<u8>)], language: Language) -> Result<Value, Cannot> {
    let text = |value: &[u8]| match language {
        Language::Rust | Language::TypeScript => Ok(latin1(value)),
        Language::Python => String::from_utf8(value.to_vec()).map_err(|_| HEADER),
    };
    let pairs = headers.iter().map(|(name, value)| Ok(json!([name, text(value)?])));
    pairs.collect()
}

fn end(end: End, language: Language) -> Result<Value, Cannot> {
    Ok(match end {
        End::Reply(ReplyBody::Empty) => json!(["reply", "empty"]),
        End::Reply(ReplyBody::Text) => json!(["reply", "text"]),
        End::Reply(ReplyBody::Json) => json!(["reply", "json"]),
        End::Reply(ReplyBody::Bytes) => json!(["reply", "bytes"]),
        End::Throw(status) => json!(["throw", status]),
        End::Result(content_type) => json!(["result", content_type]),
        End::Fail(code, status) => json!(["fail", code, status]),
        End::Deferred => json!(["deferred"]),
        End::Raise => json!(["raise"]),
        End::Trap => json!(["trap"]),
        End::Loop => json!(["loop"]),
        End::Hog => json!(["hog"]),
        End::Overflow => json!(["overflow"]),
        End::Keep if language == Language::Rust => json!(["keep"]),
        End::Keep => return Err(KEPT),
    })
}

fn steps(steps: &[Step], language: Language) -> Result<Vec<Value>, Cannot> {
    steps.iter().map(|of| step(of, language)).collect()
}

fn step(step: &Step, language: Language) -> Result<Value, Cannot> {
    Ok(match step {
        Step::Say(text) => json!(["say", text]),
        Step::Double(times) => json!(["double", times]),
        Step::Each(each) => json!(["each", steps(each, language)?]),
        Step::Method => json!(["method"]),
        Step::Path => json!(["path"]),
        Step::Query => json!(["query"]),
        Step::Scheme => json!(["scheme"]),
        Step::Authority => json!(["authority"]),
        Step::HttpVersion => json!(["http-version"]),
        Step::RemoteAddress => json!(["remote-address"]),
        Step::ReceivedAt => json!(["received-at"]),
        Step::Deadline => json!(["deadline"]),
        Step::Cancelled => json!(["cancelled"]),
        Step::Param(name) => json!(["param", name]),
        Step::Params => json!(["params"]),
        Step::Header(name) => json!(["header", name]),
        Step::Headers => json!(["headers"]),
        Step::RequestId => json!(["request-id"]),
        Step::Route => json!(["route"]),
        Step::Extension(key) => json!(["extension", key]),
        Step::SetExtension(key) => json!(["set-extension", key]),
        Step::Body => json!(["body"]),
        Step::BodyText => json!(["body-text"]),
        Step::Count => json!(["count"]),
        Step::Call(event) => json!(["call", event, "application/json"]),
        Step::CallAs(event, content_type) => json!(["call", event, content_type]),
        Step::CallBytes(event) if language == Language::Rust => json!(["call-bytes", latin1(event)]),
        Step::CallBytes(_) => return Err(NAME),
        Step::Emit(event) => json!(["emit", event]),
        Step::HandOver(event) => json!(["hand-over", event]),
        Step::Send(status) => json!(["send", status, []]),
        Step::SendWith(status, with) => json!(["send", status, headers(with, language)?]),
        Step::ThrowNow(status) => json!(["throw-now", status]),
        Step::Stream(status, chunks) => stream(*status, chunks),
        Step::StreamText(status) => json!(["stream-text", status]),
        Step::UseFirstDelivery => json!(["use-first-delivery"]),
        Step::Finish => json!(["finish"]),
        Step::Echo => json!(["echo"]),
        Step::TakeContext => json!(["take-context"]),
        Step::EventName => json!(["event-name"]),
        Step::PayloadType => json!(["payload-type"]),
        Step::EventId => json!(["event-id"]),
        Step::Attempt => json!(["attempt"]),
        Step::Now => json!(["now"]),
        Step::Monotonic => json!(["monotonic"]),
        Step::Random => json!(["random"]),
        Step::Variables => json!(["variables"]),
        Step::Print if language == Language::Rust => json!(["print"]),
        Step::PrintError if language == Language::Rust => json!(["print-error"]),
        Step::Print | Step::PrintError => return Err(PRINTS),
        Step::Log => json!(["log", []]),
        Step::LogFrom(_) if language == Language::TypeScript => return Err(TARGET),
        Step::LogFrom(target) => json!(["log-from", target]),
        Step::LogWith(fields) => json!(["log", fields]),
        Step::LogRepeated(field, times) if language == Language::Rust => {
            json!(["log", [repeated(json!(field), *times)]])
        }
        Step::LogRepeated(field, times) => json!(["log", vec![field; *times as usize]]),
        Step::Panicked => match language {
            Language::Rust => json!(["panicked"]),
            Language::TypeScript => json!(["panicked", "Error"]),
            Language::Python => json!(["panicked", "Exception"]),
        },
        Step::PanickedAt(exception, frames) if language == Language::Rust => json!(["panicked", exception, frames]),
        Step::PanickedAt(exception, _) => json!(["panicked", exception]),
    })
}

/// Chunks that are equal are there once.
fn stream(status: u16, chunks: &[String]) -> Value {
    let mut known = HashMap::new();
    let mut texts = Vec::new();
    let mut order = Vec::new();
    for chunk in chunks {
        let number = *known.entry(chunk).or_insert_with(|| {
            texts.push(chunk);
            texts.len() - 1
        });
        order.push(number);
    }
    json!(["stream", status, texts, order])
}
