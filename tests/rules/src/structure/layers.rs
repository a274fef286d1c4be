//! Folders in layers: each takes from those below it only.

use std::collections::{BTreeMap, BTreeSet};

use super::Crate;
use super::circles::{line, top_folder};

/// Each folder of a crate with those that it takes from; what these take from, it may as well. A file beside `lib.rs`
/// that is not named here is at the bottom: every folder may take from it, and it takes from no folder.
pub type Layers = &'static [(&'static str, &'static [&'static str])];

impl Crate {
    /// Every arrow that points upward, and every folder that has no layer.
    pub fn upward(&self, layers: Layers) -> Vec<String> {
        let layers: BTreeMap<_, _> = layers.iter().copied().collect();
        let files = self.files();
        let is_folder = |name: &str| files.iter().any(|file| file.starts_with(&format!("{name}/")));
        let folders: BTreeSet<_> = files.iter().filter_map(|file| top_folder(file)).collect();
        let unknown = folders
            .iter()
            .filter(|name| is_folder(name) && !layers.contains_key(*name));
        let mut wrong: Vec<_> = unknown
            .map(|folder| format!("`{folder}/` has no layer; give it one in this test"))
            .collect();
        for ((from, to), names) in self.arrows() {
            let (Some(above), Some(below)) = (top_folder(&from), top_folder(&to)) else {
                continue;
            };
            if above != below && is_folder(below) && !may_take(&layers, above, below) {
                wrong.push(line(&from, &to, &names));
            }
        }
        wrong
    }
}

fn may_take(layers: &BTreeMap<&str, &[&str]>, above: &str, below: &str) -> bool {
    let direct = layers.get(above).copied().unwrap_or_default();
    direct
        .iter()
        .any(|next| *next == below || may_take(layers, next, below))
}
