//! Resolves paths to files with definitions, through imports, re-exports and globs.
//!
//! A scope is a module, or a block with items of its own. *Invariants*: a definition or an import by
//! name hides a glob; a glob brings only names that its module may see; a circle of imports ends the
//! search. Types of expressions are not inferred, so the file of a method that is called on a value
//! stays unknown.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{ForeignItem, Item, ItemUse, UseTree, Visibility};

/// A scope, by its place in [`Names`].
pub type ScopeId = usize;

/// The module of `lib.rs`.
pub const ROOT: ScopeId = 0;

/// The namespaces of Rust.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Namespace {
    /// Modules, types and traits.
    Type,
    /// Functions, constants and constructors.
    Value,
    /// Macros.
    Macro,
}

/// Every namespace.
pub const EVERY: [Namespace; 3] = [Namespace::Type, Namespace::Value, Namespace::Macro];

/// The thing that a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A module of this crate.
    Module(ScopeId),
    /// A definition in a file of this crate, by its place in [`Names`].
    Definition(usize),
    /// Something of another crate.
    Outside,
}

/// The result for a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resolved {
    /// The first segment is no name of this crate.
    Outside,
    /// The path leads into this crate, where a segment is missing.
    Missing,
    /// The path names these; several if they differ by namespace or condition.
    Found(Vec<Target>),
}

/// A definition of an item.
#[derive(Debug, Default)]
struct Definition {
    file: usize,
    /// The variants of an enum.
    variants: Vec<String>,
    /// Names that items in the body of a macro have.
    makes: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug)]
enum Binding {
    Is(Target),
    Import(usize),
}

#[derive(Clone, Copy, Debug)]
struct Named {
    binding: Binding,
    namespaces: [bool; 3],
    /// The module within which the name is visible; all if there is none.
    sight: Option<ScopeId>,
}

#[derive(Debug)]
struct Import {
    scope: ScopeId,
    path: Vec<String>,
    is_absolute: bool,
    sight: Option<ScopeId>,
}

/// A macro called in place of an item, which may define names.
#[derive(Debug)]
struct MacroCall {
    path: Vec<String>,
    words: BTreeSet<String>,
    definition: usize,
}

#[derive(Debug)]
struct Scope {
    file: usize,
    /// The scope around a block.
    outer: Option<ScopeId>,
    module: ScopeId,
    /// The module around a module.
    parent: Option<ScopeId>,
    named: HashMap<String, Vec<Named>>,
    globs: Vec<usize>,
    /// Macros by order of text, which modules inside see, too.
    macros: HashMap<String, usize>,
    calls: Vec<MacroCall>,
}

/// One import of a `use` item.
#[derive(Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The path, without the star of a glob.
    pub path: Vec<String>,
    /// The line where the last segment stands.
    pub line: usize,
    name: LeafName,
}

#[derive(Debug, PartialEq, Eq)]
enum LeafName {
    /// A name for all that the path names.
    Name(String),
    /// A name for the module only: `{self}`.
    Module(String),
    /// No name: `as _`.
    Hidden,
    Glob,
}

impl Leaf {
    /// Whether the leaf is a star.
    pub fn is_glob(&self) -> bool {
        self.name == LeafName::Glob
    }
}

/// The text of an identifier, without `r#`.
pub fn plain(ident: &Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map(str::to_owned).unwrap_or(text)
}

/// The imports of a `use` item, one by one.
pub fn leaves(item: &ItemUse) -> Vec<Leaf> {
    fn collect(tree: &UseTree, path: &mut Vec<String>, line: usize, into: &mut Vec<Leaf>) {
        let mut leaf = |ident: &Ident, name: Option<&Ident>| {
            let is_module = ident == "self" && !path.is_empty();
            let mut path = path.clone();
            if !is_module {
                path.push(plain(ident));
            }
            let name = name.map(plain).or_else(|| path.last().cloned()).unwrap_or_default();
            let name = match name.as_str() {
                "_" => LeafName::Hidden,
                _ if is_module => LeafName::Module(name),
                _ => LeafName::Name(name),
            };
            into.push(Leaf { path, line: ident.span().start().line, name });
        };
        match tree {
            UseTree::Path(one) => {
                path.push(plain(&one.ident));
                collect(&one.tree, path, one.ident.span().start().line, into);
                path.pop();
            }
            UseTree::Name(one) => leaf(&one.ident, None),
            UseTree::Rename(one) => leaf(&one.ident, Some(&one.rename)),
            UseTree::Glob(_) => {
                into.push(Leaf { path: path.clone(), line, name: LeafName::Glob });
            }
            UseTree::Group(group) => {
                for one in &group.items {
                    collect(one, path, line, into);
                }
            }
        }
    }
    let mut found = Vec::new();
    collect(&item.tree, &mut Vec::new(), 0, &mut found);
    found
}

/// Adds every word of the tokens.
fn words(tokens: &TokenStream, into: &mut BTreeSet<String>) {
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) => {
                into.insert(plain(&ident));
            }
            TokenTree::Group(group) => words(&group.stream(), into),
            _ => {}
        }
    }
}

/// Adds every name that stands behind a keyword of a definition.
fn defined(tokens: &TokenStream, into: &mut BTreeSet<String>) {
    const KEYWORDS: [&str; 9] =
        ["struct", "enum", "union", "fn", "const", "static", "type", "trait", "mod"];
    let mut is_next = false;
    for token in tokens.clone() {
        match token {
            TokenTree::Ident(ident) => {
                if is_next {
                    into.insert(plain(&ident));
                }
                is_next = KEYWORDS.iter().any(|keyword| ident == keyword);
            }
            TokenTree::Group(group) => defined(&group.stream(), into),
            _ => is_next = false,
        }
    }
}

/// Names of a scope that were looked up before.
type Known = HashMap<String, Vec<Target>>;

/// Imports that are being resolved, against circles.
type Open = Vec<(usize, Namespace, String)>;

/// The scopes of a crate, and the names in them.
#[derive(Debug, Default)]
pub struct Names {
    scopes: Vec<Scope>,
    definitions: Vec<Definition>,
    imports: Vec<Import>,
    known: RefCell<HashMap<(ScopeId, Namespace), Known>>,
}

impl Names {
    /// Adds a module.
    pub fn add_module(&mut self, file: usize, parent: Option<ScopeId>) -> ScopeId {
        self.add_scope(file, None, self.scopes.len(), parent)
    }

    /// Adds a block inside a scope.
    pub fn add_block(&mut self, outer: ScopeId) -> ScopeId {
        let Scope { file, module, parent, .. } = self.scopes[outer];
        self.add_scope(file, Some(outer), module, parent)
    }

    fn add_scope(
        &mut self,
        file: usize,
        outer: Option<ScopeId>,
        module: ScopeId,
        parent: Option<ScopeId>,
    ) -> ScopeId {
        self.scopes.push(Scope {
            file,
            outer,
            module,
            parent,
            named: HashMap::new(),
            globs: Vec::new(),
            macros: HashMap::new(),
            calls: Vec::new(),
        });
        self.scopes.len() - 1
    }

    /// The file that has the scope.
    pub fn file_of(&self, scope: ScopeId) -> usize {
        self.scopes[scope].file
    }

    /// The file that has the target's definition; `None` for modules and other crates.
    pub fn definition_file(&self, target: Target) -> Option<usize> {
        match target {
            Target::Definition(definition) => Some(self.definitions[definition].file),
            Target::Module(_) | Target::Outside => None,
        }
    }

    /// Declares a module in the one around it.
    pub fn declare_module(
        &mut self,
        scope: ScopeId,
        name: &Ident,
        visibility: &Visibility,
        module: ScopeId,
    ) {
        self.bind(scope, plain(name), visibility, Target::Module(module), [true, false, false]);
    }

    /// Passes the macros of a module on to the module around it: `#[macro_use]`.
    pub fn lift_macros(&mut self, module: ScopeId) {
        let Some(parent) = self.scopes[module].parent else { return };
        let macros = self.scopes[module].macros.clone();
        self.scopes[parent].macros.extend(macros);
    }

    /// Declares an item that is no module.
    pub fn declare(&mut self, scope: ScopeId, item: &Item) {
        const TYPE: [bool; 3] = [true, false, false];
        const VALUE: [bool; 3] = [false, true, false];
        match item {
            Item::Const(item) => self.define(scope, &item.ident, &item.vis, VALUE),
            Item::Enum(item) => {
                let variants = item.variants.iter().map(|variant| plain(&variant.ident)).collect();
                let definition = self.add_definition(scope);
                self.definitions[definition].variants = variants;
                let target = Target::Definition(definition);
                self.bind(scope, plain(&item.ident), &item.vis, target, TYPE);
            }
            Item::ExternCrate(item) => {
                let name = item.rename.as_ref().map_or(&item.ident, |(_, name)| name);
                let target =
                    if item.ident == "self" { Target::Module(ROOT) } else { Target::Outside };
                self.bind(scope, plain(name), &item.vis, target, TYPE);
            }
            Item::Fn(item) => self.define(scope, &item.sig.ident, &item.vis, VALUE),
            Item::ForeignMod(block) => {
                for item in &block.items {
                    match item {
                        ForeignItem::Fn(item) => {
                            self.define(scope, &item.sig.ident, &item.vis, VALUE);
                        }
                        ForeignItem::Static(item) => {
                            self.define(scope, &item.ident, &item.vis, VALUE)
                        }
                        ForeignItem::Type(item) => self.define(scope, &item.ident, &item.vis, TYPE),
                        _ => {}
                    }
                }
            }
            Item::Macro(item) => match &item.ident {
                Some(name) => {
                    let definition = self.add_definition(scope);
                    defined(&item.mac.tokens, &mut self.definitions[definition].makes);
                    self.scopes[scope].macros.insert(plain(name), definition);
                    if item.attrs.iter().any(|one| one.path().is_ident("macro_export")) {
                        let named = Named {
                            binding: Binding::Is(Target::Definition(definition)),
                            namespaces: [false, false, true],
                            sight: None,
                        };
                        self.scopes[ROOT].named.entry(plain(name)).or_default().push(named);
                    }
                }
                None => {
                    let definition = self.add_definition(scope);
                    let path = item.mac.path.segments.iter().map(|one| plain(&one.ident)).collect();
                    let mut found = BTreeSet::new();
                    words(&item.mac.tokens, &mut found);
                    let call = MacroCall { path, words: found, definition };
                    self.scopes[scope].calls.push(call);
                }
            },
            Item::Static(item) => self.define(scope, &item.ident, &item.vis, VALUE),
            // The name may be the constructor's, too.
            Item::Struct(item) => self.define(scope, &item.ident, &item.vis, [true, true, false]),
            Item::Trait(item) => self.define(scope, &item.ident, &item.vis, TYPE),
            Item::TraitAlias(item) => self.define(scope, &item.ident, &item.vis, TYPE),
            Item::Type(item) => self.define(scope, &item.ident, &item.vis, TYPE),
            Item::Union(item) => self.define(scope, &item.ident, &item.vis, TYPE),
            Item::Use(item) => self.import(scope, item),
            _ => {}
        }
    }

    fn import(&mut self, scope: ScopeId, item: &ItemUse) {
        let sight = self.sight(scope, &item.vis);
        for leaf in leaves(item) {
            let is_absolute = item.leading_colon.is_some();
            let import = self.imports.len();
            let (name, namespaces) = match leaf.name {
                LeafName::Hidden => continue,
                LeafName::Glob => (None, [false; 3]),
                LeafName::Module(name) => (Some(name), [true, false, false]),
                LeafName::Name(name) => (Some(name), [true; 3]),
            };
            self.imports.push(Import { scope, path: leaf.path, is_absolute, sight });
            match name {
                None => self.scopes[scope].globs.push(import),
                Some(name) => {
                    let named = Named { binding: Binding::Import(import), namespaces, sight };
                    self.scopes[scope].named.entry(name).or_default().push(named);
                }
            }
        }
    }

    fn add_definition(&mut self, scope: ScopeId) -> usize {
        let file = self.scopes[scope].file;
        self.definitions.push(Definition { file, ..Definition::default() });
        self.definitions.len() - 1
    }

    fn define(
        &mut self,
        scope: ScopeId,
        name: &Ident,
        visibility: &Visibility,
        namespaces: [bool; 3],
    ) {
        let target = Target::Definition(self.add_definition(scope));
        self.bind(scope, plain(name), visibility, target, namespaces);
    }

    fn bind(
        &mut self,
        scope: ScopeId,
        name: String,
        visibility: &Visibility,
        target: Target,
        namespaces: [bool; 3],
    ) {
        let sight = self.sight(scope, visibility);
        let named = Named { binding: Binding::Is(target), namespaces, sight };
        self.scopes[scope].named.entry(name).or_default().push(named);
    }

    /// The module within which a visibility holds; all for `pub(in PATH)`, whose path is not read.
    fn sight(&self, scope: ScopeId, visibility: &Visibility) -> Option<ScopeId> {
        let Scope { module, parent, .. } = self.scopes[scope];
        match visibility {
            Visibility::Inherited => Some(module),
            Visibility::Restricted(one) if one.path.is_ident("self") => Some(module),
            Visibility::Restricted(one) if one.path.is_ident("super") => parent,
            _ => None,
        }
    }

    fn sees(&self, viewer: ScopeId, sight: Option<ScopeId>) -> bool {
        let Some(sight) = sight else { return true };
        let mut module = Some(viewer);
        while let Some(id) = module {
            if id == sight {
                return true;
            }
            module = self.scopes[id].parent;
        }
        false
    }

    /// Whether the scope, or one around it in its module, has a glob.
    pub fn has_glob(&self, scope: ScopeId) -> bool {
        let mut next = Some(scope);
        while let Some(id) = next {
            if !self.scopes[id].globs.is_empty() {
                return true;
            }
            next = self.scopes[id].outer;
        }
        false
    }

    /// Resolves a path that stands in a scope.
    pub fn resolve(
        &self,
        scope: ScopeId,
        path: &[String],
        is_absolute: bool,
        namespaces: &[Namespace],
    ) -> Resolved {
        self.resolve_open(scope, path, is_absolute, namespaces, &mut Vec::new())
    }

    fn resolve_open(
        &self,
        scope: ScopeId,
        path: &[String],
        is_absolute: bool,
        namespaces: &[Namespace],
        open: &mut Open,
    ) -> Resolved {
        let Some(first) = path.first() else { return Resolved::Outside };
        if is_absolute {
            return Resolved::Outside;
        }
        let mut module = self.scopes[scope].module;
        let mut at = 1;
        match first.as_str() {
            "crate" => module = ROOT,
            "self" => {}
            "super" => at = 0,
            _ => {
                let wanted = if path.len() == 1 { namespaces } else { &[Namespace::Type] };
                let found = self.lexical(scope, first, wanted, open);
                if found.is_empty() {
                    return Resolved::Outside;
                }
                return self.walk(found, &path[1..], namespaces, open);
            }
        }
        while path.get(at).is_some_and(|segment| segment == "super") {
            let Some(parent) = self.scopes[module].parent else { return Resolved::Missing };
            module = parent;
            at += 1;
        }
        self.walk(vec![Target::Module(module)], &path[at..], namespaces, open)
    }

    fn walk(
        &self,
        start: Vec<Target>,
        path: &[String],
        namespaces: &[Namespace],
        open: &mut Open,
    ) -> Resolved {
        let mut found = start;
        for (at, segment) in path.iter().enumerate() {
            let wanted = if at + 1 == path.len() { namespaces } else { &[Namespace::Type] };
            let mut next = Vec::new();
            for target in found {
                match target {
                    Target::Module(module) => {
                        let targets = self.inside(module, segment, wanted, open);
                        targets.into_iter().for_each(|target| add(&mut next, target));
                    }
                    // Variants and associated items belong to their type's file.
                    Target::Definition(_) | Target::Outside => add(&mut next, target),
                }
            }
            if next.is_empty() {
                return Resolved::Missing;
            }
            found = next;
        }
        Resolved::Found(found)
    }

    /// A name of a module, as a path through the module sees it.
    fn inside(
        &self,
        module: ScopeId,
        name: &str,
        namespaces: &[Namespace],
        open: &mut Open,
    ) -> Vec<Target> {
        let mut found = self.look_up_outwards(module, name, namespaces, open, |_| None);
        if found.is_empty() {
            self.made_by_macros(module, name, &mut BTreeSet::new(), open, &mut found);
        }
        found
    }

    /// Names that no definition shows: those made by a macro, or brought by another crate's glob.
    fn made_by_macros(
        &self,
        module: ScopeId,
        name: &str,
        seen: &mut BTreeSet<ScopeId>,
        open: &mut Open,
        found: &mut Vec<Target>,
    ) {
        if !seen.insert(module) {
            return;
        }
        for call in &self.scopes[module].calls {
            let is_made = call.words.contains(name)
                || match self.resolve_open(module, &call.path, false, &[Namespace::Macro], open) {
                    Resolved::Found(targets) => targets.iter().any(|target| match target {
                        Target::Definition(one) => self.definitions[*one].makes.contains(name),
                        Target::Module(_) | Target::Outside => false,
                    }),
                    Resolved::Outside | Resolved::Missing => false,
                };
            if is_made {
                add(found, Target::Definition(call.definition));
            }
        }
        if !found.is_empty() {
            return;
        }
        for glob in &self.scopes[module].globs {
            match self.glob(*glob, open) {
                Resolved::Outside => add(found, Target::Outside),
                Resolved::Missing => {}
                Resolved::Found(targets) => {
                    for target in targets {
                        match target {
                            Target::Module(other) => {
                                self.made_by_macros(other, name, seen, open, found);
                            }
                            Target::Outside => add(found, target),
                            Target::Definition(_) => {}
                        }
                    }
                }
            }
        }
    }

    fn glob(&self, import: usize, open: &mut Open) -> Resolved {
        let Import { scope, path, is_absolute, .. } = &self.imports[import];
        self.resolve_open(*scope, path, *is_absolute, &[Namespace::Type], open)
    }

    /// A name as code in a scope sees it.
    fn lexical(
        &self,
        scope: ScopeId,
        name: &str,
        namespaces: &[Namespace],
        open: &mut Open,
    ) -> Vec<Target> {
        let outer = |id: ScopeId| self.scopes[id].outer;
        let found = self.look_up_outwards(scope, name, namespaces, open, outer);
        if found.is_empty() && namespaces.contains(&Namespace::Macro) {
            let mut next = Some(scope);
            while let Some(id) = next {
                let Scope { outer, parent, macros, .. } = &self.scopes[id];
                if let Some(definition) = macros.get(name) {
                    return vec![Target::Definition(*definition)];
                }
                next = outer.or(*parent);
            }
        }
        found
    }

    /// A name in the first scope that has it, of each namespace.
    fn look_up_outwards(
        &self,
        scope: ScopeId,
        name: &str,
        namespaces: &[Namespace],
        open: &mut Open,
        outer: impl Fn(ScopeId) -> Option<ScopeId>,
    ) -> Vec<Target> {
        let mut found = Vec::new();
        for namespace in namespaces {
            let mut next = Some(scope);
            while let Some(id) = next {
                let targets = self.look_up(id, name, *namespace, None, open);
                if !targets.is_empty() {
                    targets.into_iter().for_each(|target| add(&mut found, target));
                    break;
                }
                next = outer(id);
            }
        }
        found
    }

    /// A name in a scope itself. A viewer is a module that looks through a glob.
    fn look_up(
        &self,
        scope: ScopeId,
        name: &str,
        namespace: Namespace,
        viewer: Option<ScopeId>,
        open: &mut Open,
    ) -> Vec<Target> {
        let is_usual = open.is_empty() && viewer.is_none();
        if is_usual {
            let known = self.known.borrow();
            if let Some(found) = known.get(&(scope, namespace)).and_then(|names| names.get(name)) {
                return found.clone();
            }
        }
        let mut found = self.look_up_named(scope, name, namespace, viewer, open);
        if found.is_empty() {
            self.look_up_globs(scope, name, namespace, viewer, open, &mut found);
        }
        if is_usual {
            let mut known = self.known.borrow_mut();
            known.entry((scope, namespace)).or_default().insert(name.to_owned(), found.clone());
        }
        found
    }

    fn look_up_named(
        &self,
        scope: ScopeId,
        name: &str,
        namespace: Namespace,
        viewer: Option<ScopeId>,
        open: &mut Open,
    ) -> Vec<Target> {
        let mut found = Vec::new();
        let Some(named) = self.scopes[scope].named.get(name) else { return found };
        let usable: Vec<&Named> = named
            .iter()
            .filter(|one| one.namespaces[namespace as usize])
            .filter(|one| viewer.is_none_or(|viewer| self.sees(viewer, one.sight)))
            .collect();
        for one in &usable {
            if let Binding::Is(target) = one.binding {
                add(&mut found, target);
            }
        }
        if !found.is_empty() {
            return found;
        }
        for one in usable {
            let Binding::Import(import) = one.binding else { continue };
            let key = (import, namespace, name.to_owned());
            if open.contains(&key) {
                continue;
            }
            open.push(key);
            let Import { scope, path, is_absolute, .. } = &self.imports[import];
            match self.resolve_open(*scope, path, *is_absolute, &[namespace], open) {
                Resolved::Outside => add(&mut found, Target::Outside),
                Resolved::Missing => {}
                Resolved::Found(targets) => {
                    targets.into_iter().for_each(|target| add(&mut found, target));
                }
            }
            open.pop();
        }
        found
    }

    fn look_up_globs(
        &self,
        scope: ScopeId,
        name: &str,
        namespace: Namespace,
        viewer: Option<ScopeId>,
        open: &mut Open,
        found: &mut Vec<Target>,
    ) {
        for glob in &self.scopes[scope].globs {
            let Import { scope: at, sight, .. } = &self.imports[*glob];
            let key = (*glob, namespace, name.to_owned());
            if viewer.is_some_and(|viewer| !self.sees(viewer, *sight)) || open.contains(&key) {
                continue;
            }
            open.push(key);
            if let Resolved::Found(targets) = self.glob(*glob, open) {
                let module = self.scopes[*at].module;
                for target in targets {
                    match target {
                        Target::Module(other) => {
                            let targets = self.look_up(other, name, namespace, Some(module), open);
                            targets.into_iter().for_each(|target| add(found, target));
                        }
                        Target::Definition(one) => {
                            if self.definitions[one].variants.iter().any(|variant| variant == name)
                            {
                                add(found, target);
                            }
                        }
                        Target::Outside => {}
                    }
                }
            }
            open.pop();
        }
    }
}

fn add(targets: &mut Vec<Target>, target: Target) {
    if !targets.contains(&target) {
        targets.push(target);
    }
}
