//! The pages and files that reports are written to. The text formats are in the snapshots of `counts`.

use coverage::{annotate, html, lcov};

use crate::fixture::{Fixture, Mode};

#[test]
fn page_of_a_shop() {
    let fixture = Fixture::load("Shop", Mode::Unoptimised);
    insta::assert_snapshot!(html(&fixture.report(), &fixture.build));
}

#[test]
fn nothing_in_a_source_becomes_markup_or_steers_a_terminal() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimised);
    let source = &mut fixture.build.sources[0];
    source.text = source.text.replace("// SPDX", "//\u{1b}[2J<script>alert('1')</script>").into();
    source.path = "<b>\"Shop\"\n.sol".to_owned();
    fixture.build.contracts.iter_mut().for_each(|contract| contract.name = "<u>".to_owned());
    let report = fixture.report();
    let page = html(&report, &fixture.build);
    assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
    assert!(!page.contains("<script>alert") && !page.contains("<b>\"") && !page.contains("<u>"));
    assert!(!page.contains('\u{1b}'));
    assert!(!annotate(&report, &fixture.build).contains('\u{1b}'));
    assert!(lcov(&report).contains("SF:<b>\"Shop\" .sol\n"));
}

#[test]
fn a_page_asks_for_nothing_from_elsewhere() {
    let fixture = Fixture::load("Shop", Mode::Unoptimised);
    let page = html(&fixture.report(), &fixture.build);
    for reference in ["http:", "https:", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(reference), "{reference}");
    }
}

#[test]
fn overloads_keep_their_functions_apart() {
    let fixture = Fixture::load("Shop", Mode::Unoptimised);
    let mut report = fixture.report();
    let functions = &mut report.files[0].functions;
    functions.iter_mut().for_each(|function| function.name = "Shop.buy".to_owned());
    let text = lcov(&report);
    let mut names: Vec<&str> = text.lines().filter(|line| line.starts_with("FN:")).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((all, names.len()), (10, 10));
}
