//! The modules of a crate, read from its files.
//!
//! *Invariant*: a file that the reader does not understand is an error, not a gap. Files of tests are
//! not opened. Blocks inside functions are left to [`super::imports`].

use std::collections::{BTreeMap, HashMap};

use syn::{Item, ItemMod};

use super::names::{Names, ROOT, ScopeId, plain};
use super::test_code;

/// Texts of a crate's files, by path below `src/`.
pub type Sources = BTreeMap<String, String>;

/// A file of a crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Below `src/`.
    pub path: String,
    /// All lines, those of tests included.
    pub lines: usize,
}

/// The modules of a crate.
#[derive(Default)]
pub struct Tree {
    /// Every file but those of tests.
    pub files: Vec<File>,
    /// The names of every module.
    pub names: Names,
    /// The items of each module that are no modules, without those of tests.
    pub bodies: Vec<(ScopeId, Vec<Item>)>,
    by_path: HashMap<String, usize>,
}

/// Reads the modules from `lib.rs` on.
pub fn read(sources: &Sources) -> Result<Tree, String> {
    let mut tree = Tree::default();
    let (_, text) = sources.get_key_value("lib.rs").ok_or("no lib.rs")?;
    let file = tree.add_file("lib.rs", text);
    let items = parse("lib.rs", text)?.items;
    let root = tree.names.add_module(file, None);
    debug_assert_eq!(root, ROOT);
    tree.declare(sources, root, items, "")?;
    Ok(tree)
}

fn parse(path: &str, text: &str) -> Result<syn::File, String> {
    syn::parse_file(text).map_err(|e| format!("{path}:{}: {e}", e.span().start().line))
}

impl Tree {
    fn add_file(&mut self, path: &str, text: &str) -> usize {
        if let Some(file) = self.by_path.get(path) {
            return *file;
        }
        self.files.push(File { path: path.to_owned(), lines: text.lines().count() });
        self.by_path.insert(path.to_owned(), self.files.len() - 1);
        self.files.len() - 1
    }

    /// Declares the items of a module. Files of the modules in it lie in `folder`.
    fn declare(
        &mut self,
        sources: &Sources,
        scope: ScopeId,
        items: Vec<Item>,
        folder: &str,
    ) -> Result<(), String> {
        let mut body = Vec::new();
        for item in items {
            if test_code::is_test(test_code::of_item(&item)) {
                continue;
            }
            match item {
                Item::Mod(module) => self.declare_module(sources, scope, module, folder)?,
                Item::Verbatim(_) => {
                    let path = &self.files[self.names.file_of(scope)].path;
                    return Err(format!("{path}: an item that the parser does not know"));
                }
                item => {
                    self.names.declare(scope, &item);
                    body.push(item);
                }
            }
        }
        self.bodies.push((scope, body));
        Ok(())
    }

    fn declare_module(
        &mut self,
        sources: &Sources,
        scope: ScopeId,
        module: ItemMod,
        folder: &str,
    ) -> Result<(), String> {
        let at = self.names.file_of(scope);
        let line = module.ident.span().start().line;
        let place = format!("{}:{line}", self.files[at].path);
        if has_path(&module) {
            return Err(format!("{place}: #[path] hides where a module's file is; move the file"));
        }
        let name = plain(&module.ident);
        let inner = format!("{folder}{name}/");
        let lifts = module.attrs.iter().any(|one| one.path().is_ident("macro_use"));
        let (file, items) = match module.content {
            Some((_, items)) => (at, items),
            None => {
                let (beside, inside) = (format!("{folder}{name}.rs"), format!("{inner}mod.rs"));
                let (path, text) = sources
                    .get_key_value(&beside)
                    .or_else(|| sources.get_key_value(&inside))
                    .ok_or_else(|| format!("{place}: neither {beside} nor {inside} exists"))?;
                let parsed = parse(path, text)?;
                if test_code::is_test(&parsed.attrs) {
                    return Ok(());
                }
                (self.add_file(path, text), parsed.items)
            }
        };
        let child = self.names.add_module(file, Some(scope));
        self.names.declare_module(scope, &module.ident, &module.vis, child);
        self.declare(sources, child, items, &inner)?;
        if lifts {
            self.names.lift_macros(child);
        }
        Ok(())
    }
}

/// Whether the module has `#[path]`, also by way of `cfg_attr`.
fn has_path(module: &ItemMod) -> bool {
    module.attrs.iter().any(|attribute| {
        attribute.path().is_ident("path")
            || attribute.path().is_ident("cfg_attr")
                && attribute.meta.require_list().is_ok_and(|list| {
                    let mut words = list.tokens.clone().into_iter();
                    words.any(|word| word.to_string() == "path")
                })
    })
}
