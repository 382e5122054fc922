//! Expands abbreviations in code: a question says `directory`, the code says `dir`.
//!
//! The list contains only abbreviations that are unambiguous as a part of a name. They are expanded before stemming.

/// Abbreviations with their long forms, in byte order for binary search.
const ABBREVIATIONS: [(&str, &str); 104] = [
    ("abs", "absolute"),
    ("addr", "address"),
    ("alloc", "allocate"),
    ("arg", "argument"),
    ("args", "argument"),
    ("arr", "array"),
    ("async", "asynchronous"),
    ("attr", "attribute"),
    ("attrs", "attribute"),
    ("avg", "average"),
    ("bool", "boolean"),
    ("buf", "buffer"),
    ("calc", "calculate"),
    ("cfg", "configuration"),
    ("char", "character"),
    ("chars", "character"),
    ("cls", "class"),
    ("cmd", "command"),
    ("cmp", "compare"),
    ("col", "column"),
    ("cols", "column"),
    ("concat", "concatenate"),
    ("conf", "configuration"),
    ("config", "configuration"),
    ("conn", "connection"),
    ("coord", "coordinate"),
    ("coords", "coordinate"),
    ("ctx", "context"),
    ("curr", "current"),
    ("db", "database"),
    ("decl", "declaration"),
    ("del", "delete"),
    ("deps", "dependency"),
    ("dest", "destination"),
    ("dict", "dictionary"),
    ("diff", "difference"),
    ("dir", "directory"),
    ("dirs", "directory"),
    ("doc", "document"),
    ("docs", "document"),
    ("dst", "destination"),
    ("elem", "element"),
    ("elems", "element"),
    ("env", "environment"),
    ("eq", "equal"),
    ("err", "error"),
    ("eval", "evaluate"),
    ("exec", "execute"),
    ("expr", "expression"),
    ("ext", "extension"),
    ("fmt", "format"),
    ("fn", "function"),
    ("freq", "frequency"),
    ("func", "function"),
    ("gen", "generate"),
    ("idx", "index"),
    ("img", "image"),
    ("impl", "implementation"),
    ("info", "information"),
    ("init", "initialize"),
    ("int", "integer"),
    ("iter", "iterate"),
    ("iterator", "iterate"),
    ("lang", "language"),
    ("len", "length"),
    ("lib", "library"),
    ("max", "maximum"),
    ("mem", "memory"),
    ("min", "minimum"),
    ("msg", "message"),
    ("mul", "multiply"),
    ("num", "number"),
    ("nums", "number"),
    ("obj", "object"),
    ("op", "operation"),
    ("opt", "option"),
    ("opts", "option"),
    ("param", "parameter"),
    ("params", "parameter"),
    ("pkg", "package"),
    ("pos", "position"),
    ("prev", "previous"),
    ("prop", "property"),
    ("props", "property"),
    ("ptr", "pointer"),
    ("rand", "random"),
    ("recv", "receive"),
    ("ref", "reference"),
    ("repo", "repository"),
    ("req", "request"),
    ("resp", "response"),
    ("ret", "return"),
    ("seq", "sequence"),
    ("src", "source"),
    ("stmt", "statement"),
    ("str", "string"),
    ("substr", "substring"),
    ("temp", "temporary"),
    ("tmp", "temporary"),
    ("txt", "text"),
    ("util", "utility"),
    ("utils", "utility"),
    ("val", "value"),
    ("vec", "vector"),
];

/// Returns the long form of an abbreviation, or the word itself.
pub(super) fn long_form(word: &str) -> &str {
    match ABBREVIATIONS.binary_search_by_key(&word, |&(short, _)| short) {
        Ok(found) => ABBREVIATIONS[found].1,
        Err(_) => word,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abbreviations_are_sorted() {
        assert!(ABBREVIATIONS.is_sorted());
    }

    #[test]
    fn long_forms_are_not_abbreviations() {
        assert!(ABBREVIATIONS.iter().all(|(_, long)| long_form(long) == *long));
    }
}
