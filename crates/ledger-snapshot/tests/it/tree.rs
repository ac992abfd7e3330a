//! Trees.

use std::collections::BTreeSet;

use ledger_core::{Digest, Mode};
use ledger_snapshot::{FileEntry, Tree};
use proptest::prelude::*;

use crate::support::path;

fn any_tree() -> impl Strategy<Value = Tree> {
    let entry = (0..3u8, prop::bool::ANY).prop_map(|(content, exec)| FileEntry {
        mode: if exec { Mode::Executable } else { Mode::File },
        hash: Digest::of(&[content]),
        size: 1,
    });
    prop::collection::btree_map("[a-c]{1,2}", entry, 0..8).prop_map(|map| {
        map.into_iter()
            .map(|(name, entry)| (path(name), entry))
            .collect()
    })
}

proptest! {
    #[test]
    fn a_difference_turns_one_tree_into_the_other(a in any_tree(), b in any_tree()) {
        let mut turned = a.clone();
        for (path, left, right) in a.diff(&b) {
            prop_assert_ne!(left, right);
            prop_assert_eq!(left, a.get(path));
            match right {
                Some(entry) => turned.insert(path.clone(), *entry),
                None => turned.remove(path),
            };
        }
        prop_assert_eq!(turned, b);
    }

    #[test]
    fn a_difference_is_in_path_order_and_names_each_path_once(a in any_tree(), b in any_tree()) {
        let paths: Vec<_> = a.diff(&b).map(|(path, ..)| path).collect();
        let set: BTreeSet<_> = paths.iter().copied().collect();
        prop_assert!(paths.into_iter().eq(set));
    }
}
