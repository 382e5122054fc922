//! Instructions in texts that should only describe: a model reads a description and may obey it.

use super::finding::{FindingCollector, quote_name};
use super::fold;
use super::phrases::{PhraseGrade, find_phrase};
use super::rules::RuleId;
use super::subject::LintSubject;
use super::text_walk::{self, LocatedText};

pub(super) fn check_instructions(subject: &LintSubject<'_>, report: &mut FindingCollector) {
    text_walk::visit_texts(subject.definition, &mut |text| check_text(text, report));
}

pub(super) fn check_text(text: &LocatedText<'_>, report: &mut FindingCollector) {
    if text.is_code && text.text.len() < 16 {
        return;
    }
    let hidden =
        fold::decode_tag_text(text.text).and_then(|tags| find_phrase(&fold::fold_text(&tags)));
    let Some((grade, words)) = hidden.or_else(|| find_phrase(&fold::fold_text(text.text))) else {
        return;
    };
    match grade {
        PhraseGrade::Strong => report.add_finding(
            RuleId::InstructionOverride,
            text.to_pointer(),
            format!("the text contains {}", quote_name(&words)),
            "do not use this tool until you know why the text is there; a description does not need it",
        ),
        PhraseGrade::Soft => report.add_finding(
            RuleId::InstructionLike,
            text.to_pointer(),
            format!("the text contains {}, an instruction to the model", quote_name(&words)),
            "describe what the tool does and needs; leave it to the caller when and how to use it",
        ),
    }
}
