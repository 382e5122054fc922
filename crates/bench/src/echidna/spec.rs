//! Expectations of Echidna's own tests: cases and expected outcomes, from their Haskell source.

use super::haskell::HaskellToken;

/// One run and its expected outcomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SuiteCase {
    /// Relative to `tests/solidity`, like the configuration.
    pub(crate) file: String,
    /// The first smart contract of the file if `None`.
    pub(crate) contract: Option<String>,
    pub(crate) config: Option<String>,
    /// Compiler versions that the case is for.
    pub(crate) versions: Vec<SolcRequirement>,
    /// True if the limits of the suite replace those of the configuration.
    pub(crate) is_limited: bool,
    /// Replaces the mode of the configuration.
    pub(crate) mode: Option<String>,
    pub(crate) wanted: Vec<ExpectedOutcome>,
}

/// A condition on the compiler's version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SolcRequirement {
    sign: String,
    version: [u32; 3],
}

/// Expected outcome of one test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ExpectedOutcome {
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
    /// No call of the sequence may be idle.
    SolvedWithoutIdling(String),
    /// Some test fails by a call of the function; `test` is Echidna's name for the condition.
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
    /// Loading is refused, with Echidna's name for the reason.
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

/// Contents of a module.
#[derive(Debug, Default)]
pub(crate) struct SuiteModule {
    pub(crate) cases: Vec<SuiteCase>,
    /// Names of tests that run no smart contract.
    pub(crate) others: Vec<String>,
}

/// Collects the cases from the tokens of a module.
pub(crate) fn collect_cases(pieces: &[HaskellToken]) -> SuiteModule {
    let mut module = SuiteModule::default();
    visit_tokens(pieces, &mut module);
    module
}

fn visit_tokens(pieces: &[HaskellToken], module: &mut SuiteModule) {
    for (index, piece) in pieces.iter().enumerate() {
        match piece {
            HaskellToken::Group(inner) | HaskellToken::List(inner) => visit_tokens(inner, module),
            HaskellToken::Word(word) => {
                let rest = &pieces[index + 1..];
                module.cases.extend(parse_case(word, call_arguments(rest)));
                if let ("testCase", Some(HaskellToken::Text(name))) = (word.as_str(), rest.first())
                {
                    module.others.push(name.clone());
                }
            }
            HaskellToken::Text(_) | HaskellToken::Sign(_) => {}
        }
    }
}

/// Returns the arguments of a call: all tokens up to the next comma, without signs.
fn call_arguments(rest: &[HaskellToken]) -> Vec<&HaskellToken> {
    let is_comma = |piece: &&HaskellToken| matches!(piece, HaskellToken::Sign(sign) if sign == ",");
    let own = rest.iter().take_while(|piece| !is_comma(piece));
    own.filter(|piece| !matches!(piece, HaskellToken::Sign(_))).collect()
}

/// Parses a call of one of the suite's functions; `None` for their definitions and imports.
fn parse_case(function: &str, arguments: Vec<&HaskellToken>) -> Option<SuiteCase> {
    use ArgumentRole::{Config, Contract, File, Limits, Mode, Skip, Version};
    let (roles, is_limited): (&[ArgumentRole], bool) = match function {
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
    let mut case = SuiteCase {
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
        "checkConstructorConditions" => vec![ExpectedOutcome::AllHold],
        _ if function.starts_with("loadFails") => {
            vec![ExpectedOutcome::Refused(parse_exception(rest)?)]
        }
        _ => {
            let mut wanted = Vec::new();
            rest.iter().for_each(|piece| collect_checks(piece, &mut wanted));
            wanted
        }
    };
    Some(case)
}

/// Meaning of an argument.
#[derive(Clone, Copy)]
enum ArgumentRole {
    File,
    Contract,
    Version,
    Config,
    Limits,
    Mode,
    Skip,
}

impl ArgumentRole {
    fn take(self, piece: &HaskellToken, case: &mut SuiteCase) -> Option<()> {
        match self {
            ArgumentRole::File => case.file = token_text(piece)?,
            ArgumentRole::Contract => case.contract = optional_text(piece),
            ArgumentRole::Config => case.config = optional_text(piece),
            ArgumentRole::Mode => case.mode = Some(token_text(piece)?),
            ArgumentRole::Version => {
                collect_requirements(std::slice::from_ref(piece), &mut case.versions)
            }
            ArgumentRole::Limits => {
                case.is_limited = *piece == HaskellToken::Word("True".to_owned())
            }
            ArgumentRole::Skip => {}
        }
        Some(())
    }
}

fn token_text(piece: &HaskellToken) -> Option<String> {
    match piece {
        HaskellToken::Text(text) => Some(text.clone()),
        _ => None,
    }
}

/// Parses `(Just "…")`; anything else is `Nothing`.
fn optional_text(piece: &HaskellToken) -> Option<String> {
    match piece {
        HaskellToken::Group(inner) => inner.iter().find_map(token_text),
        _ => None,
    }
}

/// Parses `\v -> v >= solcV (0,5,0) && v < solcV (0,6,0)`, also without the name.
fn collect_requirements(pieces: &[HaskellToken], found: &mut Vec<SolcRequirement>) {
    for window in pieces.windows(3) {
        if let [HaskellToken::Sign(sign), HaskellToken::Word(word), HaskellToken::Group(numbers)] =
            window
            && word == "solcV"
        {
            let numbers = numbers.iter().filter_map(parse_number);
            let mut version = [0; 3];
            for (place, number) in version.iter_mut().zip(numbers) {
                *place = u32::try_from(number).unwrap_or_default();
            }
            found.push(SolcRequirement { sign: sign.clone(), version });
        }
    }
    for piece in pieces {
        if let HaskellToken::Group(inner) = piece {
            collect_requirements(inner, found);
        }
    }
}

/// Returns the first alternative of `\case X _ -> True; …`.
fn parse_exception(rest: &[&HaskellToken]) -> Option<String> {
    let mut words = rest.iter().filter_map(|piece| match piece {
        HaskellToken::Word(word) => Some(word),
        _ => None,
    });
    words.find(|word| *word == "case")?;
    words.next().cloned()
}

/// Collects pairs of a message and a check at any depth.
fn collect_checks(piece: &HaskellToken, wanted: &mut Vec<ExpectedOutcome>) {
    let (HaskellToken::Group(inner) | HaskellToken::List(inner)) = piece else { return };
    let comma = inner.iter().position(|piece| *piece == HaskellToken::Sign(",".to_owned()));
    let check = comma.map(|comma| &inner[comma + 1..]);
    if let (Some(HaskellToken::Text(_)), Some([HaskellToken::Word(name), rest @ ..])) =
        (inner.first(), check)
    {
        wanted.push(parse_check(name, &call_arguments(rest)));
        return;
    }
    inner.iter().for_each(|piece| collect_checks(piece, wanted));
}

fn parse_check(name: &str, arguments: &[&HaskellToken]) -> ExpectedOutcome {
    let known = match (name, arguments) {
        ("passed" | "verified", [HaskellToken::Text(test)]) => {
            Some(ExpectedOutcome::Passed(test.clone()))
        }
        ("solved", [HaskellToken::Text(test)]) => Some(ExpectedOutcome::Solved(test.clone())),
        ("notPresent", [HaskellToken::Text(test)]) => Some(ExpectedOutcome::Absent(test.clone())),
        ("solvedLen", [calls, HaskellToken::Text(test)]) => {
            let calls = parse_number(calls).and_then(|calls| usize::try_from(calls).ok());
            calls.map(|calls| ExpectedOutcome::SolvedLen { test: test.clone(), calls })
        }
        ("solvedUsing", [HaskellToken::Text(function), HaskellToken::Text(test)]) => {
            Some(ExpectedOutcome::SolvedUsing { test: test.clone(), function: function.clone() })
        }
        ("solvedWith", [call, HaskellToken::Text(test)]) => parse_expected_call(call)
            .map(|call| ExpectedOutcome::SolvedWith { test: test.clone(), call }),
        ("solvedWithout", [HaskellToken::Word(call), HaskellToken::Text(test)])
            if call == "NoCall" =>
        {
            Some(ExpectedOutcome::SolvedWithoutIdling(test.clone()))
        }
        ("optimized", [HaskellToken::Text(test), value]) => {
            let value = parse_number(value).and_then(|value| i64::try_from(value).ok());
            value.map(|value| ExpectedOutcome::AtLeast { test: test.clone(), value })
        }
        _ => None,
    };
    known.unwrap_or_else(|| ExpectedOutcome::NotAnOutcome(name.to_owned()))
}

/// Parses `(SolCall ("f", [AbiInt 256 (-1), AbiAddress 0]))`.
fn parse_expected_call(piece: &HaskellToken) -> Option<ExpectedCall> {
    let HaskellToken::Group(call) = piece else { return None };
    let [HaskellToken::Word(kind), HaskellToken::Group(pair)] = call.as_slice() else {
        return None;
    };
    let (Some(HaskellToken::Text(function)), Some(HaskellToken::List(list))) =
        (pair.first(), pair.last())
    else {
        return None;
    };
    let arguments = list.split(|piece| *piece == HaskellToken::Sign(",".to_owned()));
    let arguments = arguments.filter_map(|argument| argument.last()).map(parse_number);
    let arguments = arguments.collect::<Option<_>>()?;
    (kind == "SolCall").then(|| ExpectedCall { function: function.clone(), arguments })
}

/// Parses `12`, `0xff` or `(-1)`.
fn parse_number(piece: &HaskellToken) -> Option<i128> {
    match piece {
        HaskellToken::Word(word) => match word.strip_prefix("0x") {
            Some(digits) => i128::from_str_radix(digits, 16).ok(),
            None => word.parse().ok(),
        },
        HaskellToken::Group(inner) => match inner.as_slice() {
            [HaskellToken::Sign(minus), inner] if minus == "-" => {
                parse_number(inner).map(|number| -number)
            }
            [inner] => parse_number(inner),
            _ => None,
        },
        _ => None,
    }
}

impl SolcRequirement {
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

impl std::fmt::Display for SolcRequirement {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [major, minor, patch] = self.version;
        write!(out, "{} {major}.{minor}.{patch}", self.sign)
    }
}

impl ExpectedOutcome {
    /// Returns the name of the test.
    pub(crate) fn test(&self) -> &str {
        match self {
            ExpectedOutcome::Passed(test)
            | ExpectedOutcome::Solved(test)
            | ExpectedOutcome::SolvedWithoutIdling(test)
            | ExpectedOutcome::Absent(test)
            | ExpectedOutcome::SolvedLen { test, .. }
            | ExpectedOutcome::SolvedWith { test, .. }
            | ExpectedOutcome::SolvedUsing { test, .. }
            | ExpectedOutcome::AtLeast { test, .. } => test,
            ExpectedOutcome::AllHold | ExpectedOutcome::Refused(_) => "*",
            ExpectedOutcome::NotAnOutcome(what) => what,
        }
    }
}

impl std::fmt::Display for ExpectedOutcome {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ExpectedOutcome::Passed(_) => out.write_str("passes"),
            ExpectedOutcome::Solved(_) => out.write_str("fails"),
            ExpectedOutcome::SolvedLen { calls, .. } => write!(out, "fails, {calls} calls"),
            ExpectedOutcome::SolvedWith { call, .. } => write!(out, "fails with {call}"),
            ExpectedOutcome::SolvedWithoutIdling(_) => out.write_str("fails, no idle call"),
            ExpectedOutcome::SolvedUsing { function, .. } => write!(out, "fails by {function}"),
            ExpectedOutcome::Absent(_) => out.write_str("is no test"),
            ExpectedOutcome::AtLeast { value, .. } => write!(out, "at least {value}"),
            ExpectedOutcome::AllHold => out.write_str("all hold at first"),
            ExpectedOutcome::Refused(reason) => write!(out, "refused: {reason}"),
            ExpectedOutcome::NotAnOutcome(_) => out.write_str("-"),
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
    use super::{SuiteCase, collect_cases};

    /// Formats a case on one line.
    fn format_case(case: &SuiteCase) -> String {
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
    fn assert_cases(source: &str, expected: &[&str]) {
        let module = collect_cases(&haskell::tokenize(source));
        assert_eq!(module.cases.iter().map(format_case).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn parses_four_forms_of_a_case() {
        assert_cases(
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
    fn parses_calls_and_repetitions() {
        assert_cases(
            r#"[ testContract "a.sol" (Just "a.yaml") $
                 [ ("f", solvedWith (SolCall ("f", [AbiInt 256 (-1), AbiAddress 0xff])) "x") ]
                 ++ (["s1", "s2"] <&> \n -> ("without " ++ unpack n, solvedWith (SolCall (n, [])) "x")) ]"#,
            &[
                "a.sol a.yaml limited: x fails with f(-1, 255); x fails with s1(); x fails with s2()",
            ],
        );
    }

    #[test]
    fn parses_refusals_and_initial_conditions() {
        assert_cases(
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
    fn ignores_definitions_and_comments() {
        assert_cases(
            r#"import Common (testContract, passed)
               -- testContract "a.sol" Nothing []
               loadFails fp c = loadFailsWith fp c "property""#,
            &[],
        );
    }
}
