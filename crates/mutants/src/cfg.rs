//! Which code is compiled on the machine that runs the tests.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, Lit, Meta, Token};

/// Returns whether an item with these attributes is part of the product on Linux. Tests are not.
pub(crate) fn is_compiled(attributes: &[Attribute]) -> bool {
    attributes.iter().all(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            attribute.parse_args::<Meta>().is_ok_and(|condition| holds(&condition))
        }
        meta => meta.path().segments.last().is_none_or(|last| last.ident != "test"),
    })
}

fn holds(condition: &Meta) -> bool {
    match condition {
        Meta::Path(path) => path.is_ident("unix") || path.is_ident("debug_assertions"),
        Meta::NameValue(pair) => {
            let value = match &pair.value {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => text.value(),
                    _ => return false,
                },
                _ => return false,
            };
            let known = [
                ("target_os", std::env::consts::OS),
                ("target_arch", std::env::consts::ARCH),
                ("target_family", std::env::consts::FAMILY),
            ];
            known.iter().any(|(name, known)| pair.path.is_ident(name) && value == *known)
        }
        Meta::List(list) => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            let Ok(parts) = parts else { return false };
            if list.path.is_ident("not") {
                !parts.iter().any(holds)
            } else if list.path.is_ident("all") {
                parts.iter().all(holds)
            } else {
                list.path.is_ident("any") && parts.iter().any(holds)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_which_code_is_compiled() {
        for (code, expected) in [
            ("#[cfg(test)] fn f() {}", false),
            ("#[test] fn f() {}", false),
            ("#[tokio::test] fn f() {}", false),
            ("#[cfg(unix)] #[must_use] fn f() {}", true),
            ("#[cfg(all(target_family = \"unix\", not(vouch_portable)))] fn f() {}", true),
            ("#[cfg(not(all(target_family = \"unix\", not(vouch_portable))))] fn f() {}", false),
            ("#[cfg(any(test, unix))] fn f() {}", true),
        ] {
            let item: syn::ItemFn = syn::parse_str(code).unwrap();
            assert_eq!(is_compiled(&item.attrs), expected, "{code}");
        }
    }
}
