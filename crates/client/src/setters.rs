//! Setters for settings that users cannot write out, because more may come.

/// Setters of a struct, each for the field of its name.
macro_rules! setters {
    ($on:ident { $($field:ident: $type:ty => $with:ident,)* }) => {
        impl $on {
            $(
                #[doc = concat!("Sets [`Self::", stringify!($field), "`].")]
                pub fn $with(mut self, $field: $type) -> $on {
                    self.$field = $field;
                    self
                }
            )*
        }
    };
}

pub(crate) use setters;
