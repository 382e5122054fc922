//! Text that gives orders where it should describe: a description is read by a model that may obey it.

use super::finding::{Report, quoted};
use super::fold;
use super::phrases::{Grade, search};
use super::rules::Id;
use super::subject::Subject;
use super::texts::{self, Text};

pub(super) fn check(subject: &Subject<'_>, report: &mut Report) {
    texts::each(subject.definition, &mut |text| judge(text, report));
}

pub(super) fn judge(text: &Text<'_>, report: &mut Report) {
    if text.is_code && text.text.len() < 16 {
        return;
    }
    let hidden = fold::tag_text(text.text).and_then(|tags| search(&fold::fold(&tags)));
    let Some((grade, words)) = hidden.or_else(|| search(&fold::fold(text.text))) else {
        return;
    };
    match grade {
        Grade::Strong => report.add(
            Id::InstructionOverride,
            text.path(),
            format!("the text says {}", quoted(&words)),
            "do not use this tool before you know why it says so; a description needs no such words",
        ),
        Grade::Soft => report.add(
            Id::InstructionLike,
            text.path(),
            format!("the text says {}, an order rather than a description", quoted(&words)),
            "describe what the tool does and needs; leave to the caller when and how to use it",
        ),
    }
}
