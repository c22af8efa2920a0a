//! The items of the workspace by their modules, and the members of its types.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use syn::visit::{self, Visit};
use syn::{
    Field, ImplItem, Item, ItemEnum, ItemImpl, ItemMod, ItemStruct, ItemTrait, TraitItem, Type,
    UseTree, Variant,
};

use crate::codegen::FOLDERS;

/// What the map may name.
#[derive(Default)]
pub struct Items {
    /// Items, modules and re-exports of each module. Its path begins with the crate's folder.
    modules: BTreeMap<Vec<String>, BTreeSet<String>>,
    /// Fields, variants, methods and constants of each type, by the type's name.
    members: BTreeMap<String, BTreeSet<String>>,
    /// All of these, and parameters of functions.
    names: BTreeSet<String>,
    error: Option<String>,
}

impl Items {
    /// Reads every source and test of the crates.
    pub fn read(root: &Path, files: &[String]) -> Result<Items, String> {
        let mut items = Items::default();
        // The map does not name generated code.
        let is_generated = |file: &str| FOLDERS.iter().any(|folder| file.starts_with(folder));
        for file in files.iter().filter(|file| !is_generated(file)) {
            if module_of(file).is_some() {
                let text =
                    fs::read_to_string(root.join(file)).map_err(|e| format!("{file}: {e}"))?;
                items.add(file, &text);
            }
        }
        items.checked()
    }

    /// Adds the items of a file.
    pub fn add(&mut self, file: &str, text: &str) {
        let Some(module) = module_of(file) else { return };
        match syn::parse_file(text) {
            Ok(parsed) => {
                for depth in 1..module.len() {
                    let inner = module[depth].clone();
                    self.modules.entry(module[..depth].to_vec()).or_default().insert(inner);
                }
                self.modules.entry(module.clone()).or_default();
                Finder { items: self, module }.visit_file(&parsed);
            }
            Err(e) => self.error = Some(format!("{file}:{}: {e}", e.span().start().line)),
        }
    }

    /// The items, if every file could be read.
    fn checked(self) -> Result<Items, String> {
        self.error.clone().map_or(Ok(self), Err)
    }

    #[cfg(test)]
    pub fn unwrap(self) -> Items {
        self.checked().unwrap()
    }

    /// Whether anything has the name.
    pub fn has_name(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether `Type::member` or `module::item` exists, with every segment.
    pub fn has_item(&self, path: &str) -> bool {
        let segments: Vec<&str> = path.split("::").collect();
        let Some((last, before)) = segments.split_last() else { return false };
        let Some((kind, outer)) = before.split_last() else { return false };
        if kind.starts_with(|c: char| c.is_ascii_uppercase()) {
            let is_member = self.members.get(*kind).is_some_and(|all| all.contains(*last));
            return is_member && (outer.is_empty() || self.in_module(outer, kind));
        }
        self.in_module(before, last)
    }

    /// Whether a module whose path ends so, or begins so if the first segment is a crate, has the item.
    fn in_module(&self, path: &[&str], item: &str) -> bool {
        let is_crate = self.modules.contains_key(&vec![path[0].to_owned()]);
        self.modules.iter().any(|(module, items)| {
            let matches = match is_crate {
                true => module == path,
                false => module.iter().map(String::as_str).collect::<Vec<_>>().ends_with(path),
            };
            matches && items.contains(item)
        })
    }
}

/// The module of a file of a crate: the crate's folder, `tests` for integration tests, then its path.
fn module_of(file: &str) -> Option<Vec<String>> {
    let mut parts = file.strip_prefix("crates/")?.strip_suffix(".rs")?.split('/');
    let mut module = vec![parts.next()?.to_owned()];
    match parts.next()? {
        "src" => {}
        "tests" => module.push("tests".to_owned()),
        _ => return None,
    }
    module.extend(parts.map(str::to_owned));
    if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        module.pop();
    }
    Some(module)
}

struct Finder<'a> {
    items: &'a mut Items,
    module: Vec<String>,
}

impl Finder<'_> {
    fn item(&mut self, name: &syn::Ident) {
        let name = name.to_string();
        self.items.names.insert(name.clone());
        self.items.modules.entry(self.module.clone()).or_default().insert(name);
    }

    fn member(&mut self, of: &str, name: &syn::Ident) {
        let name = name.to_string();
        self.items.names.insert(name.clone());
        self.items.members.entry(of.to_owned()).or_default().insert(name);
    }

    fn fields<'f>(&mut self, of: &str, fields: impl IntoIterator<Item = &'f Field>) {
        for field in fields {
            if let Some(name) = &field.ident {
                self.member(of, name);
            }
        }
    }

    /// The names that a `use` brings into the module.
    fn brought(&mut self, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.brought(&path.tree),
            UseTree::Name(name) => self.item(&name.ident),
            UseTree::Rename(rename) => self.item(&rename.rename),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.brought(tree)),
            UseTree::Glob(_) => {}
        }
    }
}

impl<'a> Visit<'a> for Finder<'_> {
    fn visit_item(&mut self, item: &'a Item) {
        match item {
            Item::Const(one) => self.item(&one.ident),
            Item::Enum(one) => self.item(&one.ident),
            Item::Fn(one) => self.item(&one.sig.ident),
            Item::Static(one) => self.item(&one.ident),
            Item::Struct(one) => self.item(&one.ident),
            Item::Trait(one) => self.item(&one.ident),
            Item::Type(one) => self.item(&one.ident),
            Item::Use(one) if !matches!(one.vis, syn::Visibility::Inherited) => {
                self.brought(&one.tree);
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'a ItemMod) {
        self.item(&module.ident);
        self.module.push(module.ident.to_string());
        self.items.modules.entry(self.module.clone()).or_default();
        visit::visit_item_mod(self, module);
        self.module.pop();
    }

    fn visit_item_struct(&mut self, one: &'a ItemStruct) {
        self.fields(&one.ident.to_string(), &one.fields);
    }

    fn visit_item_enum(&mut self, one: &'a ItemEnum) {
        let name = one.ident.to_string();
        for Variant { ident, fields, .. } in &one.variants {
            self.member(&name, ident);
            self.fields(&ident.to_string(), fields);
        }
    }

    fn visit_item_trait(&mut self, one: &'a ItemTrait) {
        for item in &one.items {
            match item {
                TraitItem::Fn(method) => self.member(&one.ident.to_string(), &method.sig.ident),
                TraitItem::Const(constant) => self.member(&one.ident.to_string(), &constant.ident),
                _ => {}
            }
        }
        visit::visit_item_trait(self, one);
    }

    fn visit_item_impl(&mut self, one: &'a ItemImpl) {
        if let Type::Path(path) = &*one.self_ty
            && let Some(of) = path.path.segments.last()
        {
            let of = of.ident.to_string();
            for item in &one.items {
                match item {
                    ImplItem::Fn(method) => self.member(&of, &method.sig.ident),
                    ImplItem::Const(constant) => self.member(&of, &constant.ident),
                    _ => {}
                }
            }
        }
        visit::visit_item_impl(self, one);
    }

    fn visit_signature(&mut self, signature: &'a syn::Signature) {
        for input in &signature.inputs {
            if let syn::FnArg::Typed(parameter) = input
                && let syn::Pat::Ident(name) = &*parameter.pat
            {
                self.items.names.insert(name.ident.to_string());
            }
        }
    }
}
