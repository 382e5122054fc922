//! Plain values that a function of a given type could return instead of doing its work.

use syn::{GenericArgument, PathArguments, ReturnType, Type};

/// Returns expressions for plain values of a return type; none for a type whose values need more.
pub(crate) fn default_values(output: &ReturnType) -> Vec<String> {
    match output {
        ReturnType::Default => vec!["()".to_owned()],
        ReturnType::Type(_, output) => values_of(output),
    }
}

fn values_of(output: &Type) -> Vec<String> {
    let texts = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    match output {
        Type::Tuple(tuple) if tuple.elems.is_empty() => texts(&["()"]),
        Type::Reference(reference) => match &*reference.elem {
            Type::Path(path) if path.path.is_ident("str") => texts(&["\"\""]),
            Type::Slice(_) => texts(&["&[]"]),
            _ => Vec::new(),
        },
        Type::Path(path) => {
            let Some(last) = path.path.segments.last() else { return Vec::new() };
            match &*last.ident.to_string() {
                "bool" => texts(&["true", "false"]),
                "u8" | "u16" | "u32" | "u64" | "u128" | "usize" | "i8" | "i16" | "i32" | "i64"
                | "i128" | "isize" => texts(&["0", "1"]),
                "f32" | "f64" => texts(&["0.0"]),
                "String" => texts(&["String::new()"]),
                "Vec" => texts(&["Vec::new()"]),
                "Option" => texts(&["None"]),
                "Duration" | "BTreeMap" | "BTreeSet" | "HashMap" | "HashSet" | "PathBuf"
                | "VecDeque" => texts(&["Default::default()"]),
                "Result" => match &last.arguments {
                    PathArguments::AngleBracketed(arguments) => match arguments.args.first() {
                        Some(GenericArgument::Type(inner)) => {
                            values_of(inner).iter().map(|value| format!("Ok({value})")).collect()
                        }
                        _ => Vec::new(),
                    },
                    _ => texts(&["Ok(())"]),
                },
                _ => Vec::new(),
            }
        }
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_plain_values() {
        for (output, expected) in [
            ("", "()"),
            ("-> Result<(), Error>", "Ok(())"),
            ("-> io::Result<bool>", "Ok(true), Ok(false)"),
            ("-> Option<&str>", "None"),
            ("-> fmt::Result", "Ok(())"),
            ("-> &str", "\"\""),
            ("-> Self", ""),
            ("-> Result<Contract, Error>", ""),
        ] {
            let output: ReturnType = syn::parse_str(output).unwrap();
            assert_eq!(default_values(&output).join(", "), expected);
        }
    }
}
