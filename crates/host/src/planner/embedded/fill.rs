//! Assigns the values of a query to the parameters of a tool, or returns a question.

use contract::SideEffects;
use serde_json::{Map, Value};

use super::slots::{ParameterSlot, SlotType, TextKind, parameter_slots};
use super::tokens::{ParameterKind, QueryToken, TokenKind, is_word, tokenize_query};
use crate::json::shorten_name;
use crate::offer::ToolOffer;
use crate::schema_view::find_undescribed;

/// Returns the arguments; errors with a question to the person.
pub(super) fn fill_arguments(query: &str, offer: &ToolOffer) -> Result<Map<String, Value>, String> {
    let schema = &offer.contract.input;
    let slots = parameter_slots(schema.as_value());
    let named = |word: &str| match slots.iter().find(|slot| same_name(slot.name, word)) {
        None => ParameterKind::No,
        Some(slot) if slot.takes == SlotType::Flag => ParameterKind::Flag,
        Some(_) => ParameterKind::Value,
    };
    let mut tokens = tokenize_query(query, &named);
    tokens.retain(|token| !names_tool(offer, &token.text) || token.label.is_some());
    if offer.contract.constraints.side_effects != SideEffects::None && contains_negation(&tokens) {
        return Err("should it be called, or not?".to_owned());
    }
    label_mentioned_values(&mut tokens, &slots);
    let mut filling = ArgumentFiller { slots: &slots, arguments: Map::new() };
    filling.fill_labeled(&mut tokens)?;
    filling.fill_from_words(&tokens, offer)?;
    filling.fill_from_values(&mut tokens);
    filling.check_leftovers(&tokens)?;
    filling.check_missing()?;
    let arguments = Value::Object(filling.arguments);
    let mut complete = arguments.clone();
    schema.fill_defaults(&mut complete);
    if let Err(violation) = schema.validate(&complete) {
        return Err(violation.message);
    }
    if find_undescribed(schema.as_value(), &arguments).is_some() {
        return Err("its schema does not describe these parameters".to_owned());
    }
    let Value::Object(arguments) = arguments else { unreachable!("made from a map above") };
    Ok(arguments)
}

/// Returns true if the query contains a negation outside of quotes.
///
/// The planner cannot tell what a "not" refers to, and side effects cannot be undone.
fn contains_negation(tokens: &[QueryToken]) -> bool {
    let no =
        ["not", "don't", "don’t", "dont", "never", "without", "no", "nothing", "stop", "avoid"];
    tokens.iter().any(|token| {
        token.kind == TokenKind::Word
            && token.label.is_none()
            && no.contains(&token.text.to_lowercase().as_str())
    })
}

/// Returns true for `name=value`.
fn is_name_value_pair(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, value)| is_word(name) && !value.is_empty())
}

/// Returns true if a word only names the tool.
fn names_tool(offer: &ToolOffer, word: &str) -> bool {
    word == offer.tool || word == offer.name || word == format!("{}/{}", offer.server, offer.tool)
}

fn same_name(name: &str, word: &str) -> bool {
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    !word.is_empty() && plain(name) == plain(word)
}

/// Labels each value that follows the name of a parameter: `limit 5`, `path of "x"`. A plain word is not labeled.
fn label_mentioned_values(tokens: &mut Vec<QueryToken>, slots: &[ParameterSlot<'_>]) {
    let mut index = 0;
    while index + 1 < tokens.len() {
        let word = &tokens[index];
        let name = slots
            .iter()
            .find(|slot| word.kind == TokenKind::Word && same_name(slot.name, &word.text));
        let connective = matches!(&*tokens[index + 1].text, "of" | "is" | "to" | "=" | "as");
        let value =
            index + 1 + usize::from(connective && tokens[index + 1].kind == TokenKind::Word);
        if let Some(slot) = name
            && slot.takes != SlotType::Flag
            && word.label.is_none()
            && let Some(next) = tokens.get_mut(value)
            && next.kind != TokenKind::Word
            && next.label.is_none()
        {
            next.label = Some(slot.name.to_owned());
            tokens.drain(index..value);
        }
        index += 1;
    }
}

/// Collects the arguments of a call.
struct ArgumentFiller<'a> {
    slots: &'a [ParameterSlot<'a>],
    arguments: Map<String, Value>,
}

impl<'a> ArgumentFiller<'a> {
    /// Returns the parameters without a value.
    fn open_slots(&self) -> impl Iterator<Item = &'a ParameterSlot<'a>> {
        self.slots.iter().filter(|slot| !self.arguments.contains_key(slot.name))
    }

    /// Assigns the labeled values and removes them from the tokens.
    fn fill_labeled(&mut self, tokens: &mut Vec<QueryToken>) -> Result<(), String> {
        let (named, rest): (Vec<_>, Vec<_>) =
            tokens.drain(..).partition(|token| token.label.is_some());
        *tokens = rest;
        for token in named {
            let label = token.label.as_deref().unwrap_or_default();
            let Some(slot) = self.slots.iter().find(|slot| same_name(slot.name, label)) else {
                return Err(format!("it has no parameter `{}`", shorten_name(label)));
            };
            let value = convert_token(slot, &token)?;
            match (self.arguments.get_mut(slot.name), value) {
                (None, value) => {
                    self.arguments.insert(slot.name.to_owned(), value);
                }
                (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                _ => {
                    return Err(format!(
                        "which `{}` should be used? Two are given",
                        shorten_name(slot.name)
                    ));
                }
            }
        }
        Ok(())
    }

    /// Assigns constants, and choices and flags that the query names.
    fn fill_from_words(&mut self, tokens: &[QueryToken], offer: &ToolOffer) -> Result<(), String> {
        let words: Vec<&str> = tokens
            .iter()
            .filter(|token| token.kind == TokenKind::Word)
            .map(|token| token.text.as_str())
            .collect();
        for slot in self.open_slots().collect::<Vec<_>>() {
            let value = match &slot.takes {
                SlotType::Constant(value) => Some(value.clone()),
                SlotType::Flag => find_flag(slot.name, &words).map(Value::from),
                SlotType::Choice(choices) => {
                    find_choice(slot, choices, &words, offer)?.map(Value::from)
                }
                _ => None,
            };
            self.arguments.extend(value.map(|value| (slot.name.to_owned(), value)));
        }
        Ok(())
    }

    /// Assigns unlabeled values that only one parameter can accept.
    fn fill_from_values(&mut self, tokens: &mut Vec<QueryToken>) {
        self.assign_values(
            tokens,
            &[TokenKind::Path],
            &is_text(TextKind::Path),
            &is_texts(TextKind::Path),
        );
        self.assign_values(
            tokens,
            &[TokenKind::Url],
            &is_text(TextKind::Url),
            &is_texts(TextKind::Url),
        );
        self.assign_values(
            tokens,
            &[TokenKind::Quoted],
            &is_text(TextKind::Plain),
            &is_texts(TextKind::Plain),
        );
        let any = [TokenKind::Quoted, TokenKind::Path, TokenKind::Url];
        let is_any = |slot: &ParameterSlot<'_>| matches!(slot.takes, SlotType::Text(_));
        let are_any = |slot: &ParameterSlot<'_>| matches!(slot.takes, SlotType::TextList(_));
        self.assign_values(tokens, &any, &is_any, &are_any);
        let is_number = |slot: &ParameterSlot<'_>| {
            slot.is_needed && matches!(slot.takes, SlotType::Integer | SlotType::Number)
        };
        self.assign_values(tokens, &[TokenKind::Number], &is_number, &|_| false);
    }

    /// Assigns the only value of a kind to the only open parameter for it, or all values to the only list.
    fn assign_values(
        &mut self,
        tokens: &mut Vec<QueryToken>,
        kinds: &[TokenKind],
        single: &dyn Fn(&ParameterSlot<'_>) -> bool,
        list: &dyn Fn(&ParameterSlot<'_>) -> bool,
    ) {
        let values: Vec<&QueryToken> = tokens.iter().filter(|t| kinds.contains(&t.kind)).collect();
        if values.is_empty() {
            return;
        }
        let singles: Vec<_> = self.open_slots().filter(|slot| single(slot)).collect();
        let lists: Vec<_> = self.open_slots().filter(|slot| list(slot)).collect();
        let needed: Vec<_> = singles.iter().filter(|slot| slot.is_needed).collect();
        let slot = match (&singles[..], &needed[..], &lists[..], values.len()) {
            (_, [slot], [], 1) => **slot,
            ([slot], _, [], 1) => *slot,
            ([], _, [slot], _) => *slot,
            _ => return,
        };
        let value = if single(slot) {
            convert_token(slot, values[0]).ok()
        } else {
            Some(values.iter().map(|token| Value::from(token.text.as_str())).collect())
        };
        if let Some(value) = value {
            self.arguments.insert(slot.name.to_owned(), value);
            tokens.retain(|token| !kinds.contains(&token.kind));
        }
    }

    /// Errors if a value is left, because it must not be ignored.
    fn check_leftovers(&self, tokens: &[QueryToken]) -> Result<(), String> {
        let takes_numbers = self
            .open_slots()
            .any(|slot| matches!(slot.takes, SlotType::Integer | SlotType::Number));
        let left = tokens.iter().find(|token| match token.kind {
            TokenKind::Quoted | TokenKind::Path | TokenKind::Url => true,
            TokenKind::Number => takes_numbers,
            TokenKind::Word => is_name_value_pair(&token.text),
        });
        match left {
            None => Ok(()),
            Some(token) => {
                let names: Vec<_> = self
                    .open_slots()
                    .map(|slot| format!("`{}`", shorten_name(slot.name)))
                    .take(8)
                    .collect();
                let text = shorten_name(&token.text);
                Err(if names.is_empty() {
                    format!("what is `{text}` for? All parameters have a value")
                } else {
                    format!("what is `{text}` for? Use name=value with one of {}", names.join(", "))
                })
            }
        }
    }

    /// Errors if a required parameter has no value.
    fn check_missing(&self) -> Result<(), String> {
        let missing: Vec<String> = self
            .open_slots()
            .filter(|slot| slot.is_needed)
            .map(|slot| format!("{}={}", shorten_name(slot.name), describe_format(&slot.takes)))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("what should be used for {}?", missing.join(" ")))
    }
}

fn is_text(kind: TextKind) -> impl Fn(&ParameterSlot<'_>) -> bool {
    move |slot| slot.takes == SlotType::Text(kind)
}

fn is_texts(kind: TextKind) -> impl Fn(&ParameterSlot<'_>) -> bool {
    move |slot| slot.takes == SlotType::TextList(kind)
}

/// Returns the format of a value for a question.
fn describe_format(takes: &SlotType) -> String {
    match takes {
        SlotType::Choice(choices) => {
            choices.iter().take(8).map(|choice| shorten_name(choice)).collect::<Vec<_>>().join("|")
        }
        SlotType::Flag => "true|false".into(),
        SlotType::Integer => "<whole number>".into(),
        SlotType::Number => "<number>".into(),
        SlotType::Text(TextKind::Path) => "<path>".into(),
        SlotType::Text(TextKind::Url) => "<url>".into(),
        SlotType::Text(TextKind::Plain) => "\"<text>\"".into(),
        SlotType::TextList(_) => "\"<text>\" …".into(),
        SlotType::Constant(_) | SlotType::Other => {
            "<a value that only a model or `vouch call` can give>".into()
        }
    }
}

/// Converts a token to the type of the parameter; errors with the expected type.
fn convert_token(slot: &ParameterSlot<'_>, token: &QueryToken) -> Result<Value, String> {
    let text = token.text.as_str();
    let wrong = |rule: &str| Err(format!("`{}` must be {rule}", shorten_name(slot.name)));
    match &slot.takes {
        SlotType::Text(_) => Ok(text.into()),
        SlotType::TextList(_) if token.kind == TokenKind::Quoted => {
            Ok(vec![Value::from(text)].into())
        }
        SlotType::TextList(_) => Ok(text.split(',').map(str::trim).map(Value::from).collect()),
        SlotType::Integer => match text.trim_start_matches('+').parse::<i64>() {
            Ok(number) => Ok(number.into()),
            Err(_) => wrong("a whole number"),
        },
        SlotType::Number => {
            let text = text.trim_start_matches('+');
            match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(whole), _) => Ok(whole.into()),
                (_, Ok(number)) if number.is_finite() => Ok(number.into()),
                _ => wrong("a number"),
            }
        }
        SlotType::Flag => match text.to_lowercase().as_str() {
            "true" | "yes" | "on" => Ok(true.into()),
            "false" | "no" | "off" => Ok(false.into()),
            _ => wrong("true or false"),
        },
        SlotType::Choice(choices) => {
            match choices.iter().find(|choice| choice.eq_ignore_ascii_case(text)) {
                Some(choice) => Ok(choice.as_str().into()),
                None => wrong(&format!("one of {}", describe_format(&slot.takes))),
            }
        }
        SlotType::Constant(value) => {
            if value.as_str() == Some(text) {
                Ok(value.clone())
            } else {
                wrong(&value.to_string())
            }
        }
        SlotType::Other => wrong("given by a model or with `vouch call`"),
    }
}

/// Returns the value of a flag that the query names: true, unless a negation precedes it.
fn find_flag(name: &str, words: &[&str]) -> Option<bool> {
    // `include_hidden` may be written as two words.
    let spans = (1..=3).flat_map(|length| words.windows(length).enumerate());
    let (start, _) = spans.into_iter().find(|(_, span)| same_name(name, &span.concat()))?;
    let before = start.checked_sub(1).map(|before| words[before].to_lowercase());
    Some(
        !before.is_some_and(|word| {
            matches!(&*word, "no" | "not" | "non" | "without" | "never" | "don't")
        }),
    )
}

/// Returns the choice that the query names, ignoring words of the tool's own name.
///
/// Errors if the query names several.
fn find_choice(
    slot: &ParameterSlot<'_>,
    choices: &[String],
    words: &[&str],
    offer: &ToolOffer,
) -> Result<Option<String>, String> {
    let own: Vec<String> =
        offer.tool.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase).collect();
    let mut named = choices.iter().filter(|choice| {
        !own.contains(&choice.to_lowercase())
            && words.iter().any(|word| word.eq_ignore_ascii_case(choice))
    });
    let first = named.next();
    match named.next() {
        None => Ok(first.cloned()),
        Some(_) => Err(format!(
            "which `{}` should be used: {}?",
            shorten_name(slot.name),
            describe_format(&slot.takes)
        )),
    }
}
