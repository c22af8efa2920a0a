//! Imports, rooms and circles in small crates that are held in memory.

use super::imports::Graph;
use super::rules::{self, Rules};
use super::tree::Sources;

fn read(files: &[(&str, &str)]) -> Result<Graph, String> {
    let owned = files.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    super::graph(&owned.collect::<Sources>())
}

fn graph(files: &[(&str, &str)]) -> Graph {
    read(files).unwrap()
}

/// The imports, as `a.rs -> b.rs`; every path must resolve.
fn imports(files: &[(&str, &str)]) -> Vec<String> {
    let graph = graph(files);
    assert_eq!(graph.unresolved, []);
    let path = |file: usize| graph.files[file].path.as_str();
    graph.imports.keys().map(|(from, to)| format!("{} -> {}", path(*from), path(*to))).collect()
}

/// The imports of `user.rs`, in a crate of it and the files.
fn imported_by(user: &str, files: &[(&str, &str)]) -> Vec<String> {
    let mut all = vec![("user.rs", user)];
    all.extend(files);
    let mut found: Vec<String> = imports(&all)
        .iter()
        .filter_map(|import| import.strip_prefix("user.rs -> ").map(str::to_owned))
        .collect();
    found.sort();
    found
}

fn parse(text: &str) -> Result<Rules, String> {
    rules::parse(text, &["some"]).map(|mut rules| rules.remove("some").unwrap())
}

fn check(rules: &str, files: &[(&str, &str)]) -> Vec<String> {
    parse(rules).unwrap().check("some", "some/src", &graph(files))
}

/// A ring of so many files in one folder.
fn ring(count: usize) -> Vec<(String, String)> {
    let mut files = vec![("lib.rs".to_owned(), "mod a;".to_owned())];
    let modules: Vec<String> = (0..count).map(|file| format!("mod f{file};")).collect();
    files.push(("a/mod.rs".into(), modules.concat()));
    for file in 0..count {
        let next = (file + 1) % count;
        let text = format!("use super::f{next}::F{next}; pub struct F{file}(Box<F{next}>);");
        files.push((format!("a/f{file}.rs"), text));
    }
    files
}

fn check_ring(rules: &str, count: usize) -> Vec<String> {
    let files = ring(count);
    let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, &**text)).collect();
    check(rules, &files)
}

/// Two folders: `node` with a clock, `net` with a peer that uses it.
const FOLDERS: [(&str, &str); 5] = [
    ("lib.rs", "mod net;\nmod node;"),
    ("net/mod.rs", "pub mod peer;"),
    ("net/peer.rs", "//! A peer.\n\nuse crate::node::clock::Clock;\npub struct Peer(Clock);"),
    ("node/mod.rs", "pub mod clock;"),
    ("node/clock.rs", "pub struct Clock;"),
];

#[test]
fn edge_through_reexport_names_the_defining_file() {
    let files = [
        ("lib.rs", "mod node; mod user;"),
        ("node/mod.rs", "mod clock; pub use clock::Clock;"),
        ("node/clock.rs", "mod real; pub use self::real::Clock;"),
        ("node/clock/real.rs", "pub struct Clock;"),
    ];
    assert_eq!(imported_by("use crate::node::Clock;", &files), ["node/clock/real.rs"]);
    assert_eq!(imported_by("fn f(_: crate::node::Clock) {}", &files), ["node/clock/real.rs"]);
}

#[test]
fn edge_through_private_alias_names_the_defining_file() {
    let files = [
        ("lib.rs", "mod a; mod user;"),
        ("a.rs", "mod b; use b::Long as Short; mod c;"),
        ("a/b.rs", "pub struct Long;"),
        ("a/c.rs", "pub fn f(_: super::Short) {}"),
    ];
    let found = imports(&[&files[..], &[("user.rs", "")]].concat());
    assert_eq!(found, ["a.rs -> a/b.rs", "a/c.rs -> a/b.rs"]);
}

#[test]
fn glob_import_names_the_file_of_the_used_item() {
    let files = [
        ("lib.rs", "mod a; mod user;"),
        ("a/mod.rs", "mod b; mod c; pub use b::*; pub use c::*;"),
        ("a/b.rs", "pub struct B; pub fn both() {} pub fn shadowed() {}"),
        ("a/c.rs", "use std::fmt; pub struct C(fmt::Error); pub fn call() {}"),
    ];
    let user = "use crate::a::*; fn f(_: C) {}";
    assert_eq!(imported_by(user, &files), ["a/c.rs"]);
    assert_eq!(imported_by("use crate::a::*; fn f() { both() }", &files), ["a/b.rs"]);
    let local = "use crate::a::*; fn f() { let shadowed = 1; drop(shadowed) }";
    assert_eq!(imported_by(local, &files), [""; 0]);
    assert_eq!(imported_by("use crate::a::*; struct B; fn f(_: B) {}", &files), [""; 0]);
}

#[test]
fn glob_does_not_bring_private_imports() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod user;"),
        ("a.rs", "use crate::c::Name;"),
        ("b.rs", "pub struct Name;"),
        ("c.rs", "pub struct Name;"),
    ];
    assert_eq!(imported_by("use crate::a::*; use crate::b::*; type T = Name;", &files), ["b.rs"]);
}

#[test]
fn glob_of_an_enum_names_the_file_of_the_enum() {
    let files = [
        ("lib.rs", "mod a; mod b; mod user;"),
        ("a.rs", "pub enum Kind { One, Two(u8) }"),
        ("b.rs", "pub use crate::a::Kind::*;"),
    ];
    let user = "fn f(k: u8) { use super::a::Kind::*; let _ = One; let _ = Two(k); }";
    assert_eq!(imported_by(user, &files), ["a.rs"]);
    assert_eq!(imported_by("use crate::a::Kind::{One, Two as Second};", &files), ["a.rs"]);
    assert_eq!(imported_by("use crate::b::Two;", &files), ["a.rs"]);
}

#[test]
fn alias_of_a_module_leads_to_its_items() {
    let files = [
        ("lib.rs", "mod node; mod user;"),
        ("node/mod.rs", "pub mod clock; pub mod timer;"),
        ("node/clock.rs", "pub struct Clock; impl Clock { pub const MS: u8 = 1; }"),
        ("node/timer.rs", "pub fn start() {}"),
    ];
    let user = "use crate::node::{self as house, clock}; const A: u8 = clock::Clock::MS;
                fn f() { house::timer::start() }";
    assert_eq!(imported_by(user, &files), ["node/clock.rs", "node/timer.rs"]);
}

#[test]
fn import_in_a_block_holds_inside_the_block_only() {
    let files = [
        ("lib.rs", "mod a; mod b; mod user;"),
        ("a.rs", "pub mod inner { pub fn f() {} }"),
        ("b.rs", "pub mod inner { pub fn f() {} }"),
    ];
    let inside = "fn g() { inner::f(); use crate::a::inner; }";
    assert_eq!(imported_by(inside, &files), ["a.rs"]);
    let shadowed = "use crate::b::inner; fn g() { { inner::f(); use crate::a::inner; } }";
    assert_eq!(imported_by(shadowed, &files), ["a.rs"]);
    let outside = "use crate::b::inner; fn g() { { use crate::a::inner; } inner::f(); }";
    assert_eq!(imported_by(outside, &files), ["b.rs"]);
}

#[test]
fn import_of_a_module_alone_is_no_edge() {
    let files = [("lib.rs", "mod a; mod user;"), ("a.rs", "pub struct A;")];
    assert_eq!(imported_by("use crate::a; pub(in crate::user) struct U;", &files), [""; 0]);
}

#[test]
fn name_in_two_namespaces_resolves_to_both() {
    let files = [
        ("lib.rs", "mod a; mod user;"),
        ("a/mod.rs", "mod append; pub use append::append;"),
        ("a/append.rs", "pub fn append() {}"),
    ];
    assert_eq!(imported_by("fn f() { crate::a::append() }", &files), ["a/append.rs"]);
}

#[test]
fn super_and_self_paths_resolve_from_inline_modules() {
    let files = [
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "mod c; mod inner { pub mod deep { pub fn f() { super::super::super::b::f() } } }",
        ),
        ("a/c.rs", "fn g() { self::h::i(); super::inner::deep::f(); } mod h { pub fn i() {} }"),
        ("b.rs", "pub fn f() {}"),
    ];
    assert_eq!(imports(&files), ["a.rs -> b.rs", "a/c.rs -> a.rs"]);
}

#[test]
fn paths_in_types_patterns_bounds_and_traits_are_edges() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod d; mod e; mod user;"),
        ("a.rs", "pub struct A<T>(T);"),
        ("b.rs", "pub trait B { type Out; }"),
        ("c.rs", "pub enum C { One }"),
        ("d.rs", "pub trait D { fn d(); }"),
        ("e.rs", "pub struct E;"),
    ];
    let user = "struct U; impl crate::d::D for U { fn d() {} }
        fn f<T: crate::b::B>(x: Vec<crate::a::A<u8>>) -> <T as crate::b::B>::Out { todo() }
        fn g(c: u8) { match c { crate::c::C::One => {}, _ => { <crate::e::E>::new(); } } }";
    assert_eq!(imported_by(user, &files), ["a.rs", "b.rs", "c.rs", "d.rs", "e.rs"]);
}

#[test]
fn paths_in_macro_calls_are_edges() {
    let files = [
        ("lib.rs", "mod a; mod b; mod c; mod user;"),
        ("a.rs", "pub const A: u8 = 1;"),
        ("b.rs", "pub fn b() {}"),
        ("c.rs", "pub struct C; pub fn hidden() {}"),
    ];
    let user = "use crate::b; fn f(x: X) { println!(\"{}\", crate::a::A); vec![b::b()];
                join!({ use crate::c::C; x.hidden() }); }";
    assert_eq!(imported_by(user, &files), ["a.rs", "b.rs", "c.rs"]);
    let user = "use crate::{b, c::*}; fn f(x: X) { any!(x.hidden(), Y::<u8>::b::b(), $b::b) }";
    assert_eq!(imported_by(user, &files), [""; 0]);
    assert_eq!(imported_by("use crate::c::*; fn f() { any!(0..hidden()) }", &files), ["c.rs"]);
}

#[test]
fn macro_resolves_to_the_file_of_its_rules() {
    let files = [
        ("lib.rs", "#[macro_use] mod a; mod b; mod user;"),
        ("a.rs", "macro_rules! by_text { () => {}; }"),
        ("b.rs", "macro_rules! by_name { () => { $crate::c::none() }; } pub(crate) use by_name;"),
    ];
    let graph = graph(&[&files[..], &[("user.rs", "fn f() { by_text!() }")]].concat());
    assert_eq!(graph.imports.len(), 1, "{:?}", graph.imports);
    assert_eq!(graph.unresolved.len(), 1, "a path of the crate in the rules of a macro");
    let files = [files[0], files[1], ("b.rs", "macro_rules! m { () => {}; } pub(crate) use m;")];
    assert_eq!(imported_by("fn f() { by_text!() }", &files), ["a.rs"]);
    assert_eq!(imported_by("use crate::b::m; m!();", &files), ["b.rs"]);
    let lib = "#[macro_use] mod a; mod b; mod user; fn f() { struct S; by_text!() }";
    let found = imports(&[("lib.rs", lib), files[1], files[2], ("user.rs", "")]);
    assert_eq!(found, ["lib.rs -> a.rs"]);
    assert_eq!(imported_by("crate::b::m!();", &files), ["b.rs"]);
}

#[test]
fn item_made_by_a_macro_belongs_to_the_file_of_the_call() {
    let files = [
        ("lib.rs", "mod a; mod user;"),
        (
            "a.rs",
            "macro_rules! kinds { ($n:ident) => { pub enum $n {} pub fn fixed() {} }; }
             kinds!(Kind); thread_local! { pub static LOCAL: u8 = 1; }",
        ),
    ];
    for name in ["Kind", "fixed", "LOCAL"] {
        assert_eq!(imported_by(&format!("use crate::a::{name};"), &files), ["a.rs"], "{name}");
    }
    let graph = graph(&[&files[..], &[("user.rs", "use crate::a::Other;")]].concat());
    assert_eq!(graph.unresolved.len(), 1);
}

#[test]
fn code_under_cfg_test_has_no_edges() {
    let files = [("lib.rs", "mod a; mod user;"), ("a.rs", "pub struct A; pub fn f() {}")];
    for user in [
        "#[cfg(test)] use crate::a::A;",
        "#[cfg(test)] fn g(_: crate::a::A) {}",
        "#[cfg(test)] mod tests { use crate::a::A; }",
        "#[cfg(test)] mod tests;",
        "#[cfg(all(test, unix))] use crate::a::A;",
        "#[test] fn g() { crate::a::f() }",
        "struct S { #[cfg(test)] a: crate::a::A }",
        "enum E { #[cfg(test)] A(crate::a::A) }",
        "fn g() { #[cfg(test)] crate::a::f(); }",
        "fn g() { #[cfg(test)] let x = crate::a::f(); }",
        "fn g() { #[cfg(test)] { crate::a::f() } }",
        "fn g() { #[cfg(test)] use crate::a::A; }",
        "fn g() { h(#[cfg(test)] crate::a::f()); }",
        "fn g() { S { #[cfg(test)] a: crate::a::f() }; }",
        "fn g() { match 1 { #[cfg(test)] 1 => crate::a::f(), _ => {} } }",
        "fn g(#[cfg(test)] a: crate::a::A) {}",
        "struct S; impl S { #[cfg(test)] fn g() { crate::a::f() } }",
        "trait T { #[cfg(test)] fn g() { crate::a::f() } }",
    ] {
        assert_eq!(imported_by(user, &files), [""; 0], "{user}");
        // The same without the condition, or the line above could not fail.
        let shown = user.replace("#[cfg(test)] mod tests;", "");
        let shown = ["#[cfg(test)]", "#[test]", "#[cfg(all(test, unix))]"]
            .iter()
            .fold(shown, |text, attribute| text.replace(attribute, ""));
        if !shown.is_empty() {
            assert_eq!(imported_by(&shown, &files), ["a.rs"], "{shown}");
        }
    }
}

#[test]
fn code_for_a_feature_or_without_tests_has_edges() {
    let files = [("lib.rs", "mod a; mod user;"), ("a.rs", "pub struct A;")];
    for condition in ["not(test)", "any(test, unix)", "feature = \"x\"", "all(unix, not(test))"] {
        let user = format!("#[cfg({condition})] use crate::a::A;");
        assert_eq!(imported_by(&user, &files), ["a.rs"], "{condition}");
    }
}

#[test]
fn file_that_is_all_test_code_is_left_out() {
    let graph = graph(&[
        ("lib.rs", "#[cfg(test)] mod testing; mod a;"),
        ("a.rs", "#![cfg(test)] use crate::b::B;"),
    ]);
    assert_eq!(graph.files.len(), 1);
}

#[test]
fn other_crates_have_no_edges() {
    let files = [
        ("lib.rs", "mod a; mod bytes; mod user;"),
        ("a.rs", "pub use other::Thing; pub use other::all::*;"),
        ("bytes.rs", "pub struct Buf;"),
    ];
    let user = "use crate::a::Thing; use crate::a::Unknown;";
    assert_eq!(imported_by(user, &files), [""; 0]);
    let lib = "mod bytes; fn f(_: ::bytes::Other) { any!(::bytes::Other) } use ::bytes::Buf;";
    assert_eq!(imports(&[("lib.rs", lib), files[2]]), [""; 0]);
}

#[test]
fn unresolved_crate_path_is_a_violation() {
    let lib = ("lib.rs", "mod a; mod b;");
    let a = ("a.rs", "pub struct A;");
    for text in ["\nuse crate::a::Gone;", "\nfn f() { super::a::gone() }", "\nf!(crate::a::Gone);"]
    {
        let wrong = check("", &[lib, a, ("b.rs", text)]);
        assert_eq!(wrong.len(), 1, "{text}");
        assert!(wrong[0].starts_with("cannot resolve "), "{wrong:?}");
        assert!(wrong[0].ends_with(" in some/src/b.rs:2"), "{wrong:?}");
    }
    assert_eq!(check("", &[lib, a, ("b.rs", "\nuse crate::a::A;")]), [""; 0]);
}

#[test]
fn path_attribute_is_refused() {
    let wrong = read(&[("lib.rs", "\n#[path = \"b.rs\"] mod a;"), ("a.rs", ""), ("b.rs", "")]);
    assert!(wrong.unwrap_err().starts_with("lib.rs:2: #[path]"));
    let wrong = read(&[("lib.rs", "#[cfg_attr(unix, path = \"b.rs\")] mod a;"), ("a.rs", "")]);
    assert!(wrong.unwrap_err().contains("#[path]"));
}

#[test]
fn file_that_is_missing_or_broken_is_an_error() {
    assert!(read(&[("lib.rs", "mod a;")]).unwrap_err().contains("neither a.rs nor a/mod.rs"));
    assert!(read(&[("lib.rs", "mod a;"), ("a.rs", "\nfn (")]).unwrap_err().starts_with("a.rs:2: "));
    assert!(read(&[("lib.rs", "fn f() { mod a {} }")]).unwrap_err().starts_with("lib.rs:1: "));
}

#[test]
fn import_against_the_table_names_line_and_file() {
    assert_eq!(check("some: node ->\nsome: net -> node\n", &FOLDERS), [""; 0]);
    let wrong = ["some/src/net/peer.rs:3: net must not import node (node/clock.rs)"];
    assert_eq!(check("some: node ->\nsome: net ->\n", &FOLDERS), wrong);
    // Several imports of a file are one, at the first line.
    let mut files = FOLDERS;
    let text = format!("{}\nfn f(_: crate::node::clock::Clock) {{}}", files[2].1);
    files[2].1 = &text;
    assert_eq!(check("some: node ->\nsome: net ->\n", &files), wrong);
}

#[test]
fn exception_permits_one_import() {
    let table = "some: node ->\nsome: net ->\n";
    let exception = "except some: net/peer.rs -> node/clock.rs\n";
    assert_eq!(check(&format!("{table}{exception}"), &FOLDERS), [""; 0]);
}

#[test]
fn stale_exception_is_a_violation() {
    let table = "some: node ->\nsome: net -> node\n";
    // The first import is permitted by now, the second no longer exists.
    for files in ["net/peer.rs -> node/clock.rs", "node/clock.rs -> net/peer.rs"] {
        let wrong = check(&format!("{table}except some: {files}\n"), &FOLDERS);
        assert_eq!(wrong.len(), 1);
        assert!(wrong[0].ends_with("is listed, and gone: delete the line"), "{wrong:?}");
    }
}

#[test]
fn room_without_a_line_is_a_violation() {
    assert_eq!(check("some: net ->\n", &FOLDERS).len(), 2);
    let wrong = check("some: node ->\n", &FOLDERS);
    assert_eq!(wrong, ["xtask/rooms.txt: room net of some has no line"]);
    assert_eq!(check("some: node ->\nunplaced some: net\n", &FOLDERS), [""; 0]);
    let wrong = check("some: node ->\nunplaced some: net attic\n", &FOLDERS);
    assert_eq!(wrong, ["xtask/rooms.txt: unplaced some: attic is listed, and gone: delete it"]);
    let wrong = check("some: node ->\nsome: net ->\nsome: attic ->\n", &FOLDERS);
    let gone = "xtask/rooms.txt: `some: attic ->` names a room without files: delete the line";
    assert!(wrong.iter().any(|one| one == gone), "{wrong:?}");
}

#[test]
fn lib_imports_everything_and_is_imported_by_permission() {
    let files =
        [("lib.rs", "mod a; pub struct L; fn f(_: a::A) {}"), ("a.rs", "pub struct A(crate::L);")];
    // The circle of the two has an import against the table, so it is a violation, too.
    assert_eq!(check("some: a ->\n", &files).len(), 2);
    assert_eq!(check("some: a -> lib\n", &files), [""; 0]);
}

#[test]
fn room_is_the_longest_folder_of_the_table() {
    let rules = parse("some: core ->\nsome: core/fetch ->\n").unwrap();
    assert_eq!(rules.room("core/fetch/plan/a.rs"), "core/fetch");
    assert_eq!(rules.room("core/fetch.rs"), "core/fetch");
    assert_eq!(rules.room("core/group/mod.rs"), "core");
    assert_eq!(rules.room("other/fetch.rs"), "other");
    assert_eq!(rules.room("lib.rs"), "lib");
}

#[test]
fn circle_of_eight_files_in_a_room_needs_no_line() {
    assert_eq!(check_ring("", 8), [""; 0]);
    let wrong = check_ring("", 9);
    assert_eq!(wrong.len(), 1);
    assert!(
        wrong[0].contains("a circle of 9 files, which xtask/rooms.txt does not list"),
        "{wrong:?}"
    );
}

#[test]
fn circle_that_grew_lists_its_files() {
    assert_eq!(check_ring("circle some: 10\n", 10), [""; 0]);
    let wrong = check_ring("circle some: 10\n", 11);
    assert_eq!(wrong.len(), 1);
    assert!(
        wrong[0].contains("a circle of 11 files, where xtask/rooms.txt permits 10"),
        "{wrong:?}"
    );
    assert!(wrong[0].contains("\n  a/f10.rs"), "{wrong:?}");
}

#[test]
fn circle_that_shrank_names_the_new_number() {
    let wrong = check_ring("circle some: 10\n", 9);
    assert_eq!(wrong, ["xtask/rooms.txt: `circle some: 10` has 9 files now: write 9"]);
    let wrong = check_ring("circle some: 10\n", 8);
    assert_eq!(wrong, ["xtask/rooms.txt: `circle some: 10` is listed, and gone: delete the line"]);
}

#[test]
fn circle_against_the_table_needs_a_line() {
    let mut files = FOLDERS;
    files[4].1 = "pub struct Clock; fn f(_: crate::net::peer::Peer) {}";
    let rules = "some: node ->\nsome: net -> node\nexcept some: node/clock.rs -> net/peer.rs\n";
    let wrong = check(rules, &files);
    assert_eq!(wrong.len(), 1);
    assert!(wrong[0].contains("a circle of 2 files"), "{wrong:?}");
    assert_eq!(check(&format!("{rules}circle some: 2\n"), &files), [""; 0]);
}

#[test]
fn rules_are_parsed_strictly() {
    parse("# A comment.\n\nsome: a ->\nsome: b -> a lib\nexcept some: b.rs -> a.rs\n").unwrap();
    for (text, why) in [
        ("other: a ->", "xtask/rooms.txt:1: no crate other"),
        ("some: a", "xtask/rooms.txt:1: not of the form"),
        ("some: a b -> c", "xtask/rooms.txt:1: not of the form"),
        ("sometimes some: a", "xtask/rooms.txt:1: not of the form"),
        ("except some: a.rs ->", "xtask/rooms.txt:1: not of the form"),
        ("circle some: many", "xtask/rooms.txt:1: many: "),
        ("some: a ->\nsome: a ->", "xtask/rooms.txt:2: room a has a line already"),
        ("some: lib ->", "xtask/rooms.txt: some: lib.rs may import everything"),
        ("some: a -> b", "xtask/rooms.txt: some: a may import b, which has no line"),
        (
            "some: a ->\nunplaced some: a",
            "xtask/rooms.txt: some: room a has a line, and is unplaced",
        ),
        ("except some: a.rs -> b.rs", "xtask/rooms.txt: some: exceptions and unplaced rooms need"),
    ] {
        let found = parse(text).unwrap_err();
        assert!(found.starts_with(why), "{text}: {found}");
    }
}
