//! Circles: files that reach each other, within a folder and between folders.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Crate;
use super::arrows::Arrows;

/// The most files of one folder that may reach each other.
const LARGEST: usize = 4;

/// Files or folders that all reach each other.
#[derive(Debug)]
pub struct Circle {
    /// Where it is, and of which kind.
    pub place: String,
    /// Its members.
    pub members: BTreeSet<String>,
    /// Its arrows, each as `from -> to: names`.
    pub arrows: Vec<String>,
}

impl std::fmt::Display for Circle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let members: Vec<_> = self.members.iter().map(String::as_str).collect();
        writeln!(f, "{}: {}", self.place, members.join(", "))?;
        for arrow in &self.arrows {
            writeln!(f, "    {arrow}")?;
        }
        Ok(())
    }
}

impl Crate {
    /// The circles between the folders of the crate. A file beside `lib.rs` counts as a folder of its own where a folder
    /// takes part in the circle. The level below has a circle where two folders or more take part in it.
    pub fn folder_circles(&self) -> Vec<Circle> {
        let arrows = self.arrows();
        let place = format!("{}: folders", self.folder);
        let folders = self.folders();
        let mut circles = circles_of(&place, &arrows, |file| Some(top_folder(file)?.to_owned()));
        circles.retain(|circle| circle.members.iter().any(|name| folders.contains(name)));
        for folder in folders {
            let place = format!("{}: folders within {folder}/", self.folder);
            let within = |file: &str| {
                let rest = file.strip_prefix(&folder)?.strip_prefix('/')?;
                Some(top_folder(rest)?.to_owned())
            };
            let is_folder = |name: &String| {
                let start = format!("{folder}/{name}/");
                self.files().iter().any(|file| file.starts_with(&start))
            };
            let inner = circles_of(&place, &arrows, within).into_iter();
            circles.extend(inner.filter(|circle| circle.members.iter().filter(|name| is_folder(name)).count() > 1));
        }
        circles
    }

    /// The circles within each folder that are larger than they may be.
    pub fn large_circles(&self) -> Vec<Circle> {
        let mut circles = self.circles_within_folders();
        circles.retain(|circle| circle.members.len() > LARGEST);
        circles
    }

    /// The circles of files within each folder, `src/` itself included, whatever their size.
    pub fn circles_within_folders(&self) -> Vec<Circle> {
        let arrows = self.arrows();
        let folders = self.folders();
        let is_root_file = |file: &str| top_folder(file).is_some_and(|name| !folders.contains(name));
        let place = format!("{}: files of src/", self.folder);
        let root_files = circles_of(&place, &arrows, |file| is_root_file(file).then(|| file.to_owned()));
        let within = |folder: &String| {
            let place = format!("{}: files of {folder}/", self.folder);
            circles_of(&place, &arrows, |file| {
                (top_folder(file) == Some(folder.as_str())).then(|| file.to_owned())
            })
        };
        root_files.into_iter().chain(folders.iter().flat_map(within)).collect()
    }

    /// The circles of files of the whole crate, whatever their size.
    pub fn all_circles(&self) -> Vec<Circle> {
        circles_of(&self.folder, &self.arrows(), |file| Some(file.to_owned()))
    }

    fn folders(&self) -> BTreeSet<String> {
        let files = self.files().into_iter();
        files
            .filter(|file| file.contains('/'))
            .filter_map(|file| top_folder(file).map(str::to_owned))
            .collect()
    }
}

/// The folder below `src/` in which a file stands, or its own name; none for the root of a crate.
pub(super) fn top_folder(file: &str) -> Option<&str> {
    match file {
        "lib.rs" | "main.rs" | "mod.rs" => None,
        _ => {
            let top = file.split('/').next()?;
            Some(top.trim_end_matches(".rs"))
        }
    }
}

/// The circles among what files belong to.
fn circles_of(place: &str, arrows: &Arrows, belongs: impl Fn(&str) -> Option<String>) -> Vec<Circle> {
    let mut reach: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (from, to) in arrows.keys() {
        if let (Some(from), Some(to)) = (belongs(from), belongs(to))
            && from != to
        {
            reach.entry(from).or_default().insert(to);
        }
    }
    let next = reach.clone();
    for (start, reached) in &mut reach {
        let mut left: Vec<_> = next[start].iter().collect();
        while let Some(at) = left.pop() {
            reached.insert(at.clone());
            let further = next.get(at).into_iter().flatten();
            left.extend(further.filter(|node| !reached.contains(*node)));
        }
    }
    let mut circles = Vec::new();
    let mut seen = BTreeSet::new();
    for (start, reached) in &reach {
        if !reached.contains(start) || seen.contains(start) {
            continue;
        }
        let comes_back = |node: &&String| reach.get(*node).is_some_and(|reached| reached.contains(start));
        let members: BTreeSet<_> = reached.iter().filter(comes_back).cloned().collect();
        seen.extend(members.clone());
        circles.push(Circle {
            place: place.to_owned(),
            arrows: lines(arrows, &members, &belongs),
            members,
        });
    }
    circles
}

/// The arrows from one member to another.
fn lines(arrows: &Arrows, members: &BTreeSet<String>, belongs: impl Fn(&str) -> Option<String>) -> Vec<String> {
    let is_inside = |from: &str, to: &str| {
        let (from, to) = (belongs(from), belongs(to));
        let is_member = |node: &Option<String>| node.as_ref().is_some_and(|node| members.contains(node));
        from != to && is_member(&from) && is_member(&to)
    };
    let inside = arrows.iter().filter(|((from, to), _)| is_inside(from, to));
    inside.map(|((from, to), names)| line(from, to, names)).collect()
}

/// An arrow, as a failure shows it.
pub(super) fn line(from: &str, to: &str, names: &BTreeSet<String>) -> String {
    let mut line = format!("{from} takes from {to}:");
    for name in names {
        let _ = write!(line, " {name}");
    }
    line
}
