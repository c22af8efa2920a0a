//! The imports between the files of a crate: every path in code that ships, resolved to the file with
//! the definition.
//!
//! *Invariants*: a path that leads into the crate and does not resolve is reported, so the check cannot
//! silently be blind. A `mod x;` is no import, nor is a path that ends at a module. Attributes and
//! visibilities are not read. Inside macros, paths are found among the tokens.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Item, Stmt};

use super::names::{EVERY, Names, Namespace, Resolved, ScopeId, leaves, plain};
use super::test_code;
use super::tree::{File, Tree};

/// The first place of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Import {
    /// The line in the importing file.
    pub line: usize,
    /// The path as it stands there.
    pub path: String,
}

/// A path that does not resolve.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unresolved {
    /// The file, by its place in [`Graph::files`].
    pub file: usize,
    /// The line in the file.
    pub line: usize,
    /// The path as it stands there.
    pub path: String,
}

/// The files of a crate and the imports between them.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Every file but those of tests.
    pub files: Vec<File>,
    /// Importing and imported file, by their places in `files`.
    pub imports: BTreeMap<(usize, usize), Import>,
    /// Paths that lead into the crate and do not resolve.
    pub unresolved: Vec<Unresolved>,
    /// First segments that are no names of the crate, with the number of their paths.
    pub outside: BTreeMap<String, usize>,
}

/// Finds every import between the files of a crate.
pub fn find(tree: Tree) -> Result<Graph, String> {
    let Tree { files, names, bodies, .. } = tree;
    let mut finder = Finder {
        names,
        graph: Graph { files, ..Graph::default() },
        scope: 0,
        file: 0,
        locals: Vec::new(),
        is_macro_body: false,
        error: None,
    };
    for (scope, items) in &bodies {
        (finder.scope, finder.file) = (*scope, finder.names.file_of(*scope));
        for item in items {
            finder.visit_item(item);
        }
    }
    finder.error.map_or(Ok(finder.graph), Err)
}

struct Finder {
    names: Names,
    graph: Graph,
    scope: ScopeId,
    file: usize,
    /// Names that patterns bind, for each function around the code.
    locals: Vec<BTreeSet<String>>,
    /// Whether the tokens are the rules of a macro, whose relative paths are resolved elsewhere.
    is_macro_body: bool,
    error: Option<String>,
}

/// Collects the names that patterns bind.
struct Patterns(BTreeSet<String>);

impl<'a> Visit<'a> for Patterns {
    fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
        self.0.insert(plain(&pattern.ident));
        visit::visit_pat_ident(self, pattern);
    }
}

/// Whether a name looks like a type, a variant or a constant.
fn is_capital(name: &str) -> bool {
    name.starts_with(char::is_uppercase)
}

impl Finder {
    fn place(&self, line: usize) -> String {
        format!("{}:{line}", self.graph.files[self.file].path)
    }

    /// Notes an import for each file that the path resolves to.
    fn path(&mut self, path: &[String], is_absolute: bool, line: usize, namespaces: &[Namespace]) {
        match self.names.resolve(self.scope, path, is_absolute, namespaces) {
            Resolved::Outside => {
                if let Some(first) = path.first() {
                    *self.graph.outside.entry(first.clone()).or_default() += 1;
                }
            }
            Resolved::Missing => {
                let is_strict = path.first().is_some_and(|first| first == "crate");
                if !self.is_macro_body || is_strict {
                    let (file, path) = (self.file, path.join("::"));
                    self.graph.unresolved.push(Unresolved { file, line, path });
                }
            }
            Resolved::Found(targets) => {
                for target in targets {
                    let Some(to) = self.names.definition_file(target) else { continue };
                    if to == self.file {
                        continue;
                    }
                    let import = Import { line, path: path.join("::") };
                    self.graph
                        .imports
                        .entry((self.file, to))
                        .and_modify(|first| {
                            if line < first.line {
                                *first = import.clone();
                            }
                        })
                        .or_insert(import);
                }
            }
        }
    }

    /// A name alone. By name it is imported, or defined, in the same file; only a glob or a macro leads
    /// from here to another file.
    fn single(&mut self, name: String, line: usize, is_macro: bool) {
        let is_local = !is_macro
            && !is_capital(&name)
            && self.locals.iter().any(|locals| locals.contains(&name));
        if is_local || !is_macro && !self.names.has_glob(self.scope) {
            return;
        }
        let namespaces = if is_macro { &EVERY[2..] } else { &EVERY[..2] };
        self.path(&[name], false, line, namespaces);
    }

    fn function(&mut self, patterns: Patterns, visit: impl FnOnce(&mut Self)) {
        self.locals.push(patterns.0);
        visit(self);
        self.locals.pop();
    }

    /// Paths among tokens.
    fn tokens(&mut self, tokens: &TokenStream) {
        let trees: Vec<TokenTree> = tokens.clone().into_iter().collect();
        let mut at = 0;
        while at < trees.len() {
            at = self.token(&trees, at);
        }
    }

    /// Reads the path or token at a place, and gives the place behind it.
    fn token(&mut self, trees: &[TokenTree], at: usize) -> usize {
        match &trees[at] {
            TokenTree::Group(group) => self.tokens(&group.stream()),
            TokenTree::Literal(_) => {}
            TokenTree::Punct(punct) => {
                let next = trees.get(at + 1);
                match (punct.as_char(), next) {
                    // An attribute.
                    ('#', Some(TokenTree::Group(_))) => return at + 2,
                    ('#', Some(TokenTree::Punct(bang))) if bang.as_char() == '!' => return at + 3,
                    ('$', Some(TokenTree::Ident(name))) if name == "crate" => {
                        return self.token_path(trees, at + 1);
                    }
                    // A variable of a macro, and segments behind it.
                    ('$', Some(TokenTree::Ident(_))) => return segments(trees, at + 1).1,
                    // A lifetime.
                    ('\'', Some(TokenTree::Ident(_))) => return at + 2,
                    // A path from outside, or the rest of one whose start is in brackets.
                    (':', _) if is_separator(trees, at) => {
                        return match trees.get(at + 2) {
                            Some(TokenTree::Ident(_)) => segments(trees, at + 2).1,
                            _ => at + 2,
                        };
                    }
                    // A range.
                    ('.', Some(TokenTree::Punct(dot))) if dot.as_char() == '.' => return at + 2,
                    // A field or a method.
                    ('.', Some(TokenTree::Ident(_))) => return at + 2,
                    _ => {}
                }
            }
            TokenTree::Ident(word) if word == "use" => {
                let end = trees[at..].iter().position(
                    |tree| matches!(tree, TokenTree::Punct(punct) if punct.as_char() == ';'),
                );
                if let Some(end) = end {
                    let item: TokenStream = trees[at..=at + end].iter().cloned().collect();
                    if let Ok(item) = syn::parse2::<syn::ItemUse>(item) {
                        self.visit_item_use(&item);
                        return at + end + 1;
                    }
                }
            }
            TokenTree::Ident(_) => return self.token_path(trees, at),
        }
        at + 1
    }

    fn token_path(&mut self, trees: &[TokenTree], at: usize) -> usize {
        let (path, end) = segments(trees, at);
        let line = trees[at].span().start().line;
        // The name of a field or an argument has one colon behind it.
        let is_field = matches!(trees.get(end), Some(TokenTree::Punct(punct)) if punct.as_char() == ':')
            && !is_separator(trees, end);
        let is_call = matches!(trees.get(end), Some(TokenTree::Punct(punct)) if punct.as_char() == '!')
            && matches!(trees.get(end + 1), Some(TokenTree::Group(_)));
        let is_elsewhere = self.is_macro_body && (path[0] == "super" || path[0] == "self");
        match path.len() {
            1 if is_field || self.is_macro_body => {}
            1 => self.single(path.into_iter().next().unwrap_or_default(), line, is_call),
            _ if is_elsewhere => {}
            _ => self.path(&path, false, line, &EVERY),
        }
        end
    }
}

/// Whether `::` stands there.
fn is_separator(trees: &[TokenTree], at: usize) -> bool {
    let is_colon = |at: usize| matches!(trees.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    is_colon(at) && is_colon(at + 1)
}

/// The segments of a path that begins with a word, and the place behind it.
fn segments(trees: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut path = Vec::new();
    while let Some(TokenTree::Ident(segment)) = trees.get(at) {
        path.push(plain(segment));
        at += 1;
        if !is_separator(trees, at) || !matches!(trees.get(at + 2), Some(TokenTree::Ident(_))) {
            break;
        }
        at += 2;
    }
    (path, at)
}

fn line_of(ident: &Ident) -> usize {
    ident.span().start().line
}

impl<'a> Visit<'a> for Finder {
    fn visit_attribute(&mut self, _: &'a syn::Attribute) {}

    fn visit_visibility(&mut self, _: &'a syn::Visibility) {}

    fn visit_token_stream(&mut self, tokens: &'a TokenStream) {
        self.tokens(tokens);
    }

    fn visit_item(&mut self, item: &'a Item) {
        if !test_code::is_test(test_code::of_item(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'a syn::ImplItem) {
        if !test_code::is_test(test_code::of_impl_item(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'a syn::TraitItem) {
        if !test_code::is_test(test_code::of_trait_item(item)) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_foreign_item(&mut self, item: &'a syn::ForeignItem) {
        if !test_code::is_test(test_code::of_foreign_item(item)) {
            visit::visit_foreign_item(self, item);
        }
    }

    fn visit_generic_param(&mut self, param: &'a syn::GenericParam) {
        if !test_code::is_test(test_code::of_generic_param(param)) {
            visit::visit_generic_param(self, param);
        }
    }

    fn visit_stmt(&mut self, statement: &'a Stmt) {
        if !test_code::is_test(test_code::of_statement(statement)) {
            visit::visit_stmt(self, statement);
        }
    }

    fn visit_expr(&mut self, expression: &'a syn::Expr) {
        if !test_code::is_test(test_code::of_expression(expression)) {
            visit::visit_expr(self, expression);
        }
    }

    fn visit_field(&mut self, field: &'a syn::Field) {
        if !test_code::is_test(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_field_value(&mut self, field: &'a syn::FieldValue) {
        if !test_code::is_test(&field.attrs) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_field_pat(&mut self, field: &'a syn::FieldPat) {
        if !test_code::is_test(&field.attrs) {
            visit::visit_field_pat(self, field);
        }
    }

    fn visit_variant(&mut self, variant: &'a syn::Variant) {
        if !test_code::is_test(&variant.attrs) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_arm(&mut self, arm: &'a syn::Arm) {
        if !test_code::is_test(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_pat_type(&mut self, pattern: &'a syn::PatType) {
        if !test_code::is_test(&pattern.attrs) {
            visit::visit_pat_type(self, pattern);
        }
    }

    fn visit_item_fn(&mut self, item: &'a syn::ItemFn) {
        let mut patterns = Patterns(BTreeSet::new());
        patterns.visit_item_fn(item);
        self.function(patterns, |finder| visit::visit_item_fn(finder, item));
    }

    fn visit_impl_item_fn(&mut self, item: &'a syn::ImplItemFn) {
        let mut patterns = Patterns(BTreeSet::new());
        patterns.visit_impl_item_fn(item);
        self.function(patterns, |finder| visit::visit_impl_item_fn(finder, item));
    }

    fn visit_trait_item_fn(&mut self, item: &'a syn::TraitItemFn) {
        let mut patterns = Patterns(BTreeSet::new());
        patterns.visit_trait_item_fn(item);
        self.function(patterns, |finder| visit::visit_trait_item_fn(finder, item));
    }

    fn visit_block(&mut self, block: &'a syn::Block) {
        let items = block.stmts.iter().filter_map(|statement| match statement {
            Stmt::Item(item) if !test_code::is_test(test_code::of_item(item)) => Some(item),
            _ => None,
        });
        let around = self.scope;
        for item in items {
            if let Item::Mod(module) = item {
                let place = self.place(line_of(&module.ident));
                self.error = Some(format!("{place}: a module in a block; move it out"));
            }
            if self.scope == around {
                self.scope = self.names.add_block(around);
            }
            self.names.declare(self.scope, item);
        }
        visit::visit_block(self, block);
        self.scope = around;
    }

    fn visit_item_use(&mut self, item: &'a syn::ItemUse) {
        let is_absolute = item.leading_colon.is_some();
        for leaf in leaves(item) {
            let namespaces = if leaf.is_glob() { &EVERY[..1] } else { &EVERY[..] };
            self.path(&leaf.path, is_absolute, leaf.line, namespaces);
        }
    }

    fn visit_item_macro(&mut self, item: &'a syn::ItemMacro) {
        let around = std::mem::replace(&mut self.is_macro_body, item.ident.is_some());
        visit::visit_item_macro(self, item);
        self.is_macro_body = around;
    }

    fn visit_macro(&mut self, call: &'a syn::Macro) {
        if let Some(name) = call.path.get_ident() {
            self.single(plain(name), line_of(name), true);
            self.visit_token_stream(&call.tokens);
        } else {
            visit::visit_macro(self, call);
        }
    }

    fn visit_pat_ident(&mut self, pattern: &'a syn::PatIdent) {
        let name = plain(&pattern.ident);
        if is_capital(&name) {
            self.single(name, line_of(&pattern.ident), false);
        }
        visit::visit_pat_ident(self, pattern);
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|one| plain(&one.ident)).collect();
        let line = path.segments.first().map_or(0, |one| line_of(&one.ident));
        let is_absolute = path.leading_colon.is_some();
        match names.as_slice() {
            [name] if !is_absolute => self.single(name.clone(), line, false),
            _ => self.path(&names, is_absolute, line, &EVERY),
        }
        visit::visit_path(self, path);
    }
}
