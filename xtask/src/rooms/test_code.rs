//! Tells code of tests from code that ships, by the attributes on it.
//!
//! *Invariant*: code counts as test code only if no build without `test` compiles it. A condition on a
//! feature or a target leaves code in. Attributes that `cfg_attr` adds are not looked at.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ForeignItem, GenericParam, ImplItem, Item, Meta, Stmt, TraitItem};

/// Whether the attributes leave the code out of every build without tests.
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let is_test_function = path.segments.last().is_some_and(|last| last.ident == "test");
        let is_cfg = path.is_ident("cfg");
        is_test_function
            || is_cfg
                && attribute
                    .parse_args::<Meta>()
                    .is_ok_and(|condition| value(&condition) == Some(false))
    })
}

/// The condition in a build without tests; `None` if it depends on features or the target.
fn value(condition: &Meta) -> Option<bool> {
    let Meta::List(list) = condition else {
        let path = condition.path();
        return (path.is_ident("test") || path.is_ident("doctest")).then_some(false);
    };
    let parse = Punctuated::<Meta, syn::Token![,]>::parse_terminated;
    let parts = list.parse_args_with(parse).ok()?;
    let mut values = parts.iter().map(value);
    if list.path.is_ident("not") {
        return values.next().flatten().map(|holds| !holds);
    }
    // `all` is decided by a part that fails, `any` by one that holds.
    let decisive = list.path.is_ident("any");
    let values: Vec<Option<bool>> = values.collect();
    if values.contains(&Some(decisive)) {
        return Some(decisive);
    }
    if values.contains(&None) { None } else { Some(!decisive) }
}

/// The attributes of an item.
pub fn of_item(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of an item of an `impl`.
pub fn of_impl_item(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of an item of a trait.
pub fn of_trait_item(item: &TraitItem) -> &[Attribute] {
    match item {
        TraitItem::Const(item) => &item.attrs,
        TraitItem::Fn(item) => &item.attrs,
        TraitItem::Type(item) => &item.attrs,
        TraitItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of an item of an `extern` block.
pub fn of_foreign_item(item: &ForeignItem) -> &[Attribute] {
    match item {
        ForeignItem::Fn(item) => &item.attrs,
        ForeignItem::Static(item) => &item.attrs,
        ForeignItem::Type(item) => &item.attrs,
        ForeignItem::Macro(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of a generic parameter.
pub fn of_generic_param(param: &GenericParam) -> &[Attribute] {
    match param {
        GenericParam::Lifetime(param) => &param.attrs,
        GenericParam::Type(param) => &param.attrs,
        GenericParam::Const(param) => &param.attrs,
    }
}

/// The attributes of a statement.
pub fn of_statement(statement: &Stmt) -> &[Attribute] {
    match statement {
        Stmt::Local(local) => &local.attrs,
        Stmt::Item(item) => of_item(item),
        Stmt::Expr(expression, _) => of_expression(expression),
        Stmt::Macro(call) => &call.attrs,
    }
}

/// The attributes of an expression.
pub fn of_expression(expression: &Expr) -> &[Attribute] {
    macro_rules! attributes {
        ($($variant:ident)*) => {
            match expression {
                $(Expr::$variant(expression) => &expression.attrs,)*
                _ => &[],
            }
        };
    }
    attributes!(
        Array Assign Async Await Binary Block Break Call Cast Closure Const Continue Field ForLoop
        Group If Index Infer Let Lit Loop Macro Match MethodCall Paren Path Range RawAddr Reference
        Repeat Return Struct Try TryBlock Tuple Unary Unsafe While Yield
    )
}
