//! What Echidna's own tests expect: cases with the outcomes that they want, from the Haskell that states them.

use super::haskell::Piece;

/// One run and what it must show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Below `tests/solidity`, as the configuration.
    pub(crate) file: String,
    /// The first of the file if none is named.
    pub(crate) contract: Option<String>,
    pub(crate) config: Option<String>,
    /// The compilers that it is meant for.
    pub(crate) versions: Vec<Requirement>,
    /// True if the limits of the suite are used instead of those of the configuration.
    pub(crate) is_limited: bool,
    /// Instead of the one of the configuration.
    pub(crate) mode: Option<String>,
    pub(crate) wanted: Vec<Wanted>,
}

/// A condition on the compiler's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Requirement {
    sign: String,
    version: [u32; 3],
}

/// What a case expects of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Passed(String),
    Solved(String),
    SolvedLen {
        test: String,
        calls: usize,
    },
    SolvedWith {
        test: String,
        call: ExpectedCall,
    },
    /// No call of the sequence may be one that does nothing.
    SolvedWithoutIdling(String),
    /// Some test fails by a call of the function; `test` is Echidna's name for what it watches.
    SolvedUsing {
        test: String,
        function: String,
    },
    Absent(String),
    AtLeast {
        test: String,
        value: i64,
    },
    /// Every test holds before the first call.
    AllHold,
    /// Loading is refused, by the name that Echidna has for the reason.
    Refused(String),
    /// About coverage, gas or files.
    NotAnOutcome(String),
}

/// A call with arguments that take one word each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpectedCall {
    pub(crate) function: String,
    pub(crate) arguments: Vec<i128>,
}

/// All that a module states.
#[derive(Debug, Default)]
pub(crate) struct Module {
    pub(crate) cases: Vec<Case>,
    /// Tests that run no contract, by name.
    pub(crate) others: Vec<String>,
}

/// Collects the cases from the pieces of a module.
pub(crate) fn collect(pieces: &[Piece]) -> Module {
    let mut module = Module::default();
    visit(pieces, &mut module);
    module
}

fn visit(pieces: &[Piece], module: &mut Module) {
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            Piece::Group(inner) | Piece::List(inner) => visit(inner, module),
            Piece::Word(word) => {
                let rest = &pieces[index + 1..];
                module.cases.extend(case(word, arguments(rest)));
                if let ("testCase", Some(Piece::Text(name))) = (word.as_str(), rest.first()) {
                    module.others.push(name.clone());
                }
            }
            Piece::Text(_) | Piece::Sign(_) => {}
        }
    }
}

/// What belongs to a call: everything up to the next comma, without signs.
fn arguments(rest: &[Piece]) -> Vec<&Piece> {
    let is_comma = |piece: &&Piece| matches!(piece, Piece::Sign(sign) if sign == ",");
    let own = rest.iter().take_while(|piece| !is_comma(piece));
    own.filter(|piece| !matches!(piece, Piece::Sign(_))).collect()
}

/// The case that a call of one of the suite's own functions states; None for definitions and imports of them.
fn case(function: &str, arguments: Vec<&Piece>) -> Option<Case> {
    use Role::{Config, Contract, File, Limits, Mode, Skip, Version};
    let (roles, is_limited): (&[Role], bool) = match function {
        "testContract" => (&[File, Config], true),
        "testContractV" => (&[File, Version, Config], true),
        "testContract'" => (&[File, Contract, Version, Config, Limits, Skip], false),
        "testForgeStd" => (&[Skip, File, Contract, Config, Skip], true),
        "checkConstructorConditions" => (&[File, Skip], true),
        "loadFails" => (&[File, Contract, Skip], true),
        "loadFailsV" => (&[Version, File, Contract, Skip], true),
        "loadFailsWith" => (&[File, Contract, Mode, Skip], true),
        _ => return None,
    };
    let (given, rest) = arguments.split_at_checked(roles.len())?;
    let mut case = Case {
        file: String::new(),
        contract: None,
        config: None,
        versions: Vec::new(),
        is_limited,
        mode: None,
        wanted: Vec::new(),
    };
    for (role, piece) in roles.iter().zip(given) {
        role.take(piece, &mut case)?;
    }
    case.wanted = match function {
        "checkConstructorConditions" => vec![Wanted::AllHold],
        _ if function.starts_with("loadFails") => vec![Wanted::Refused(exception(rest)?)],
        _ => {
            let mut wanted = Vec::new();
            rest.iter().for_each(|piece| checks(piece, &mut wanted));
            wanted
        }
    };
    Some(case)
}

/// What an argument means.
#[derive(Clone, Copy)]
enum Role {
    File,
    Contract,
    Version,
    Config,
    Limits,
    Mode,
    Skip,
}

impl Role {
    fn take(self, piece: &Piece, case: &mut Case) -> Option<()> {
        match self {
            Role::File => case.file = text(piece)?,
            Role::Contract => case.contract = optional(piece),
            Role::Config => case.config = optional(piece),
            Role::Mode => case.mode = Some(text(piece)?),
            Role::Version => requirements(std::slice::from_ref(piece), &mut case.versions),
            Role::Limits => case.is_limited = *piece == Piece::Word("True".to_owned()),
            Role::Skip => {}
        }
        Some(())
    }
}

fn text(piece: &Piece) -> Option<String> {
    match piece {
        Piece::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// `(Just "…")`; anything else is `Nothing`.
fn optional(piece: &Piece) -> Option<String> {
    match piece {
        Piece::Group(inner) => inner.iter().find_map(text),
        _ => None,
    }
}

/// `\v -> v >= solcV (0,5,0) && v < solcV (0,6,0)`, and the same without the name.
fn requirements(pieces: &[Piece], found: &mut Vec<Requirement>) {
    for window in pieces.windows(3) {
        if let [Piece::Sign(sign), Piece::Word(word), Piece::Group(numbers)] = window
            && word == "solcV"
        {
            let numbers = numbers.iter().filter_map(number);
            let mut version = [0; 3];
            for (place, number) in version.iter_mut().zip(numbers) {
                *place = u32::try_from(number).unwrap_or_default();
            }
            found.push(Requirement { sign: sign.clone(), version });
        }
    }
    for piece in pieces {
        if let Piece::Group(inner) = piece {
            requirements(inner, found);
        }
    }
}

/// The first alternative of `\case X _ -> True; …`.
fn exception(rest: &[&Piece]) -> Option<String> {
    let mut words = rest.iter().filter_map(|piece| match piece {
        Piece::Word(word) => Some(word),
        _ => None,
    });
    words.find(|word| *word == "case")?;
    words.next().cloned()
}

/// Pairs of a message and a check, wherever they stand.
fn checks(piece: &Piece, wanted: &mut Vec<Wanted>) {
    let (Piece::Group(inner) | Piece::List(inner)) = piece else { return };
    let comma = inner.iter().position(|piece| *piece == Piece::Sign(",".to_owned()));
    let check = comma.map(|comma| &inner[comma + 1..]);
    if let (Some(Piece::Text(_)), Some([Piece::Word(name), rest @ ..])) = (inner.first(), check) {
        wanted.push(check_of(name, &arguments(rest)));
        return;
    }
    inner.iter().for_each(|piece| checks(piece, wanted));
}

fn check_of(name: &str, arguments: &[&Piece]) -> Wanted {
    let known = match (name, arguments) {
        ("passed" | "verified", [Piece::Text(test)]) => Some(Wanted::Passed(test.clone())),
        ("solved", [Piece::Text(test)]) => Some(Wanted::Solved(test.clone())),
        ("notPresent", [Piece::Text(test)]) => Some(Wanted::Absent(test.clone())),
        ("solvedLen", [calls, Piece::Text(test)]) => {
            let calls = number(calls).and_then(|calls| usize::try_from(calls).ok());
            calls.map(|calls| Wanted::SolvedLen { test: test.clone(), calls })
        }
        ("solvedUsing", [Piece::Text(function), Piece::Text(test)]) => {
            Some(Wanted::SolvedUsing { test: test.clone(), function: function.clone() })
        }
        ("solvedWith", [call, Piece::Text(test)]) => {
            expected_call(call).map(|call| Wanted::SolvedWith { test: test.clone(), call })
        }
        ("solvedWithout", [Piece::Word(call), Piece::Text(test)]) if call == "NoCall" => {
            Some(Wanted::SolvedWithoutIdling(test.clone()))
        }
        ("optimized", [Piece::Text(test), value]) => {
            let value = number(value).and_then(|value| i64::try_from(value).ok());
            value.map(|value| Wanted::AtLeast { test: test.clone(), value })
        }
        _ => None,
    };
    known.unwrap_or_else(|| Wanted::NotAnOutcome(name.to_owned()))
}

/// `(SolCall ("f", [AbiInt 256 (-1), AbiAddress 0]))`
fn expected_call(piece: &Piece) -> Option<ExpectedCall> {
    let Piece::Group(call) = piece else { return None };
    let [Piece::Word(kind), Piece::Group(pair)] = call.as_slice() else { return None };
    let (Some(Piece::Text(function)), Some(Piece::List(list))) = (pair.first(), pair.last()) else {
        return None;
    };
    let arguments = list.split(|piece| *piece == Piece::Sign(",".to_owned()));
    let arguments = arguments.filter_map(|argument| argument.last()).map(number);
    let arguments = arguments.collect::<Option<_>>()?;
    (kind == "SolCall").then(|| ExpectedCall { function: function.clone(), arguments })
}

/// `12`, `0xff` or `(-1)`.
fn number(piece: &Piece) -> Option<i128> {
    match piece {
        Piece::Word(word) => match word.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        },
        Piece::Group(inner) => match inner.as_slice() {
            [Piece::Sign(minus), inner] if minus == "-" => number(inner).map(|number| -number),
            [inner] => number(inner),
            _ => None,
        },
        _ => None,
    }
}

impl Requirement {
    pub(crate) fn admits(&self, version: [u32; 3]) -> bool {
        match self.sign.as_str() {
            "<" => version < self.version,
            "<=" => version <= self.version,
            ">" => version > self.version,
            ">=" => version >= self.version,
            "==" => version == self.version,
            _ => false,
        }
    }
}

impl std::fmt::Display for Requirement {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [major, minor, patch] = self.version;
        write!(out, "{} {major}.{minor}.{patch}", self.sign)
    }
}

impl Wanted {
    /// The test that it is about.
    pub(crate) fn test(&self) -> &str {
        match self {
            Wanted::Passed(test)
            | Wanted::Solved(test)
            | Wanted::SolvedWithoutIdling(test)
            | Wanted::Absent(test)
            | Wanted::SolvedLen { test, .. }
            | Wanted::SolvedWith { test, .. }
            | Wanted::SolvedUsing { test, .. }
            | Wanted::AtLeast { test, .. } => test,
            Wanted::AllHold | Wanted::Refused(_) => "*",
            Wanted::NotAnOutcome(what) => what,
        }
    }
}

impl std::fmt::Display for Wanted {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Wanted::Passed(_) => out.write_str("passes"),
            Wanted::Solved(_) => out.write_str("fails"),
            Wanted::SolvedLen { calls, .. } => write!(out, "fails, {calls} calls"),
            Wanted::SolvedWith { call, .. } => write!(out, "fails with {call}"),
            Wanted::SolvedWithoutIdling(_) => out.write_str("fails, no idle call"),
            Wanted::SolvedUsing { function, .. } => write!(out, "fails by {function}"),
            Wanted::Absent(_) => out.write_str("is no test"),
            Wanted::AtLeast { value, .. } => write!(out, "at least {value}"),
            Wanted::AllHold => out.write_str("all hold at first"),
            Wanted::Refused(reason) => write!(out, "refused: {reason}"),
            Wanted::NotAnOutcome(_) => out.write_str("-"),
        }
    }
}

impl std::fmt::Display for ExpectedCall {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let arguments: Vec<_> = self.arguments.iter().map(i128::to_string).collect();
        write!(out, "{}({})", self.function, arguments.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::super::haskell;
    use super::{Case, collect};

    /// A case on one line, as far as it is not empty.
    fn shown(case: &Case) -> String {
        let versions = case.versions.iter().map(ToString::to_string);
        let wanted = case.wanted.iter().map(|wanted| format!("{} {wanted}", wanted.test()));
        let options = [case.contract.clone(), case.config.clone(), case.mode.clone()];
        let words: Vec<String> = std::iter::once(case.file.clone())
            .chain(options.into_iter().flatten())
            .chain(versions)
            .chain(case.is_limited.then(|| "limited".to_owned()))
            .collect();
        format!("{}: {}", words.join(" "), wanted.collect::<Vec<_>>().join("; "))
    }

    #[track_caller]
    fn check(source: &str, expected: &[&str]) {
        let module = collect(&haskell::read(source));
        assert_eq!(module.cases.iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn reads_the_four_ways_to_state_a_case() {
        check(
            r#"[ testContract "a.sol" Nothing [ ("x failed", passed "x") ]
               , testContractV "b.sol" (Just (>= solcV (0,8,0))) (Just "b.yaml")
                   [ ("x", solved "x"), ("too long", solvedLen 2 "x") ]
               , testContract' "c.sol" (Just "C") (Just (\v -> v >= solcV (0,5,0) && v < solcV (0,6,0)))
                   Nothing False FuzzWorker [ ("f", solvedUsing "f" "Event(..)") ]
               , testForgeStd "a name" "d.sol" (Just "D") (Just "d.yaml") FuzzWorker
                   [ ("gas", gasConsumedGt 1) ] ]"#,
            &[
                "a.sol limited: x passes",
                "b.sol b.yaml >= 0.8.0 limited: x fails; x fails, 2 calls",
                "c.sol C >= 0.5.0 < 0.6.0: Event(..) fails by f",
                "d.sol D d.yaml limited: gasConsumedGt -",
            ],
        );
    }

    #[test]
    fn reads_calls_and_repetitions() {
        check(
            r#"[ testContract "a.sol" (Just "a.yaml") $
                 [ ("f", solvedWith (SolCall ("f", [AbiInt 256 (-1), AbiAddress 0xff])) "x") ]
                 ++ (["s1", "s2"] <&> \n -> ("without " ++ unpack n, solvedWith (SolCall (n, [])) "x")) ]"#,
            &[
                "a.sol a.yaml limited: x fails with f(-1, 255); x fails with s1(); x fails with s2()",
            ],
        );
    }

    #[test]
    fn reads_what_is_refused_and_what_holds_at_first() {
        check(
            r#"[ loadFails "a.sol" (Just "A") "failed to warn" $
                   \case NoTests -> True; _ -> False
               , loadFailsWith "b.sol" Nothing "optimization" "failed" $
                   \case OptimizationWithWrongReturn _ -> True; _ -> False
               , checkConstructorConditions "c.sol" "invalid" ]"#,
            &[
                "a.sol A limited: * refused: NoTests",
                "b.sol optimization limited: * refused: OptimizationWithWrongReturn",
                "c.sol limited: * all hold at first",
            ],
        );
    }

    #[test]
    fn definitions_and_comments_are_no_cases() {
        check(
            r#"import Common (testContract, passed)
               -- testContract "a.sol" Nothing []
               loadFails fp c = loadFailsWith fp c "property""#,
            &[],
        );
    }
}
