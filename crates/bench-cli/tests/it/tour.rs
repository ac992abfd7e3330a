//! `bench tour`, which runs everything.

use crate::sandbox::Sandbox;

#[test]
fn the_tour_is_given_in_an_empty_directory() {
    let sandbox = Sandbox::empty();
    let told = sandbox.run(&["tour"]);
    assert!(
        told.contains("\ntour complete: 17 commands over 9 events"),
        "{told}"
    );
    assert_eq!(std::fs::read_dir(sandbox.root()).unwrap().count(), 0);
}

#[test]
fn the_tour_copies_a_project_and_leaves_it_alone() {
    let sandbox = Sandbox::empty();
    sandbox.write("sub/code.py", "def f():\n    return 1\n");
    let told = sandbox.run(&["tour", "."]);
    assert!(told.contains("sub/code.py -m 'Mark what"), "{told}");
    assert!(told.contains("\ntour complete: "), "{told}");
    assert_eq!(sandbox.read("sub/code.py"), "def f():\n    return 1\n");
}
