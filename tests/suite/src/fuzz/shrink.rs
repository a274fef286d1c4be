use super::{Line, Request};

/// Requests that are a little simpler than a failing one, the simplest first.
pub(super) fn simpler(request: &Request) -> Vec<Request> {
    let mut found = Vec::new();
    let mut propose = |simpler: Request| {
        if simpler != *request && !found.contains(&simpler) {
            found.push(simpler);
        }
    };
    propose(request.clone().without_body());
    propose(Request {
        method: b"GET".to_vec(),
        ..request.clone()
    });
    propose(Request {
        old: false,
        ..request.clone()
    });
    for at in 0..request.headers.len() {
        let framing = [b"content-length".as_slice(), b"transfer-encoding"];
        if !framing
            .iter()
            .any(|name| request.headers[at].0.eq_ignore_ascii_case(name))
        {
            let mut simpler = request.clone();
            simpler.headers.remove(at);
            propose(simpler);
        }
    }
    for target in shorter(&request.target) {
        propose(Request {
            target,
            ..request.clone()
        });
    }
    found
}

/// The target without its query, without one of its segments, or without one of its bytes.
fn shorter(target: &[u8]) -> Vec<Vec<u8>> {
    let mut found = Vec::new();
    if let Some(query) = target.iter().position(|byte| *byte == b'?') {
        found.push(target[..query].to_vec());
    }
    let slashes: Vec<_> = (0..target.len()).filter(|at| target[*at] == b'/').collect();
    for (nth, from) in slashes.iter().enumerate() {
        let to = slashes.get(nth + 1).copied().unwrap_or(target.len());
        found.push([&target[..*from], &target[to..]].concat());
    }
    // Single bytes are removed only from a short target, so that the shrinking ends soon.
    if target.len() <= 64 {
        found.extend((0..target.len()).map(|at| [&target[..at], &target[at + 1..]].concat()));
    }
    found.retain(|target| !target.is_empty());
    found
}

/// The table without one of its routes.
pub(super) fn smaller(lines: &[Line]) -> Vec<Vec<Line>> {
    (0..lines.len())
        .map(|at| {
            let mut smaller = lines.to_vec();
            smaller.remove(at);
            smaller
        })
        .collect()
}
