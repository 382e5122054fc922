//! HTML pages and special cases of the text formats. The snapshots of `counts` cover the text formats.

use coverage::{annotate_sources, render_html, render_lcov};

use crate::fixture::{Fixture, Mode};

#[test]
fn renders_html_page() {
    let fixture = Fixture::load("Shop", Mode::Unoptimized);
    insta::assert_snapshot!(render_html(&fixture.report(), &fixture.build));
}

#[test]
fn escapes_markup_and_control_characters_of_sources() {
    let mut fixture = Fixture::load("Shop", Mode::Unoptimized);
    let source = &mut fixture.build.sources[0];
    source.text = source.text.replace("// SPDX", "//\u{1b}[2J<script>alert('1')</script>").into();
    source.path = "<b>\"Shop\"\n.sol".to_owned();
    fixture.build.contracts.iter_mut().for_each(|contract| contract.name = "<u>".to_owned());
    let report = fixture.report();
    let page = render_html(&report, &fixture.build);
    assert!(page.contains("&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;"));
    assert!(!page.contains("<script>alert") && !page.contains("<b>\"") && !page.contains("<u>"));
    assert!(!page.contains('\u{1b}'));
    assert!(!annotate_sources(&report, &fixture.build).contains('\u{1b}'));
    assert!(render_lcov(&report).contains("SF:<b>\"Shop\" .sol\n"));
}

#[test]
fn html_page_has_no_external_references() {
    let fixture = Fixture::load("Shop", Mode::Unoptimized);
    let page = render_html(&fixture.report(), &fixture.build);
    for reference in ["http:", "https:", "src=", "href=", "url(", "@import"] {
        assert!(!page.contains(reference), "{reference}");
    }
}

#[test]
fn lcov_gives_overloads_distinct_names() {
    let fixture = Fixture::load("Shop", Mode::Unoptimized);
    let mut report = fixture.report();
    let functions = &mut report.files[0].functions;
    functions.iter_mut().for_each(|function| function.name = "Shop.buy".to_owned());
    let text = render_lcov(&report);
    let mut names: Vec<&str> = text.lines().filter(|line| line.starts_with("FN:")).collect();
    let all = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!((all, names.len()), (10, 10));
}
