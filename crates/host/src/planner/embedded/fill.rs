//! Values of a query put where the schema of a tool wants them, or the question that is left.

use contract::SideEffects;
use serde_json::{Map, Value};

use super::slots::{Slot, Takes, Text, slots};
use super::tokens::{Kind, Named, Token, is_word, tokens};
use crate::described::undescribed;
use crate::json::short;
use crate::offer::Offer;

/// The arguments, or what the person must say first.
pub(super) fn fill(query: &str, offer: &Offer) -> Result<Map<String, Value>, String> {
    let schema = &offer.contract.input;
    let slots = slots(schema.as_value());
    let named = |word: &str| match slots.iter().find(|slot| same_name(slot.name, word)) {
        None => Named::No,
        Some(slot) if slot.takes == Takes::Flag => Named::Flag,
        Some(_) => Named::Value,
    };
    let mut tokens = tokens(query, &named);
    tokens.retain(|token| !spells(offer, &token.text) || token.label.is_some());
    if offer.contract.constraints.side_effects != SideEffects::None && says_no(&tokens) {
        return Err("should it be called, or not?".to_owned());
    }
    mentions(&mut tokens, &slots);
    let mut filling = Filling { slots: &slots, arguments: Map::new() };
    filling.labelled(&mut tokens)?;
    filling.words(&tokens, offer)?;
    filling.values(&mut tokens);
    filling.leftovers(&tokens)?;
    filling.missing()?;
    let arguments = Value::Object(filling.arguments);
    let mut complete = arguments.clone();
    schema.fill_defaults(&mut complete);
    if let Err(violation) = schema.validate(&complete) {
        return Err(violation.message);
    }
    if undescribed(schema.as_value(), &arguments).is_some() {
        return Err("its parameters are not described".to_owned());
    }
    let Value::Object(arguments) = arguments else { unreachable!("made from a map above") };
    Ok(arguments)
}

/// Words cannot tell what a "not" belongs to, and what is changed stays changed. What is quoted is a value.
fn says_no(tokens: &[Token]) -> bool {
    let no =
        ["not", "don't", "don’t", "dont", "never", "without", "no", "nothing", "stop", "avoid"];
    tokens.iter().any(|token| {
        token.kind == Kind::Word
            && token.label.is_none()
            && no.contains(&token.text.to_lowercase().as_str())
    })
}

/// `name=value` whose name is none of the tool's.
fn is_pair(word: &str) -> bool {
    word.split_once('=').is_some_and(|(name, value)| is_word(name) && !value.is_empty())
}

/// Whether a word only names the tool.
fn spells(offer: &Offer, word: &str) -> bool {
    word == offer.tool || word == offer.name || word == format!("{}/{}", offer.server, offer.tool)
}

fn same_name(name: &str, word: &str) -> bool {
    let plain = |text: &str| text.replace(['_', '-'], "").to_lowercase();
    !word.is_empty() && plain(name) == plain(word)
}

/// `limit 5`, `path of "x"`: a value that follows the name of a parameter belongs to it. A word that follows need not.
fn mentions(tokens: &mut Vec<Token>, slots: &[Slot<'_>]) {
    let mut index = 0;
    while index + 1 < tokens.len() {
        let word = &tokens[index];
        let name =
            slots.iter().find(|slot| word.kind == Kind::Word && same_name(slot.name, &word.text));
        let link = matches!(&*tokens[index + 1].text, "of" | "is" | "to" | "=" | "as");
        let value = index + 1 + usize::from(link && tokens[index + 1].kind == Kind::Word);
        if let Some(slot) = name
            && slot.takes != Takes::Flag
            && word.label.is_none()
            && let Some(next) = tokens.get_mut(value)
            && next.kind != Kind::Word
            && next.label.is_none()
        {
            next.label = Some(slot.name.to_owned());
            tokens.drain(index..value);
        }
        index += 1;
    }
}

struct Filling<'a> {
    slots: &'a [Slot<'a>],
    arguments: Map<String, Value>,
}

impl<'a> Filling<'a> {
    fn open(&self) -> impl Iterator<Item = &'a Slot<'a>> {
        self.slots.iter().filter(|slot| !self.arguments.contains_key(slot.name))
    }

    /// What the query gives by name. It is used up, right or wrong.
    fn labelled(&mut self, tokens: &mut Vec<Token>) -> Result<(), String> {
        let (named, rest): (Vec<_>, Vec<_>) =
            tokens.drain(..).partition(|token| token.label.is_some());
        *tokens = rest;
        for token in named {
            let label = token.label.as_deref().unwrap_or_default();
            let Some(slot) = self.slots.iter().find(|slot| same_name(slot.name, label)) else {
                return Err(format!("`{}` is not a parameter of it", short(label)));
            };
            let value = convert(slot, &token)?;
            match (self.arguments.get_mut(slot.name), value) {
                (None, value) => {
                    self.arguments.insert(slot.name.to_owned(), value);
                }
                (Some(Value::Array(known)), Value::Array(more)) => known.extend(more),
                _ => return Err(format!("which `{}` is meant? Two are given", short(slot.name))),
            }
        }
        Ok(())
    }

    /// Choices and flags that the query names, and constants.
    fn words(&mut self, tokens: &[Token], offer: &Offer) -> Result<(), String> {
        let words: Vec<&str> = tokens
            .iter()
            .filter(|token| token.kind == Kind::Word)
            .map(|token| token.text.as_str())
            .collect();
        for slot in self.open().collect::<Vec<_>>() {
            let value = match &slot.takes {
                Takes::Constant(value) => Some(value.clone()),
                Takes::Flag => flag(slot.name, &words).map(Value::from),
                Takes::Choice(choices) => chosen(slot, choices, &words, offer)?.map(Value::from),
                _ => None,
            };
            self.arguments.extend(value.map(|value| (slot.name.to_owned(), value)));
        }
        Ok(())
    }

    /// Values without a name, where there is one place only that they can mean.
    fn values(&mut self, tokens: &mut Vec<Token>) {
        self.place(tokens, &[Kind::Path], &is_text(Text::Path), &is_texts(Text::Path));
        self.place(tokens, &[Kind::Url], &is_text(Text::Url), &is_texts(Text::Url));
        self.place(tokens, &[Kind::Quoted], &is_text(Text::Plain), &is_texts(Text::Plain));
        let any = [Kind::Quoted, Kind::Path, Kind::Url];
        let is_any = |slot: &Slot<'_>| matches!(slot.takes, Takes::Text(_));
        let are_any = |slot: &Slot<'_>| matches!(slot.takes, Takes::Texts(_));
        self.place(tokens, &any, &is_any, &are_any);
        let is_number = |slot: &Slot<'_>| {
            slot.is_needed && matches!(slot.takes, Takes::Integer | Takes::Number)
        };
        self.place(tokens, &[Kind::Number], &is_number, &|_| false);
    }

    /// Gives the only value of a kind to the only open place for it, or all of them to the only list.
    fn place(
        &mut self,
        tokens: &mut Vec<Token>,
        kinds: &[Kind],
        single: &dyn Fn(&Slot<'_>) -> bool,
        list: &dyn Fn(&Slot<'_>) -> bool,
    ) {
        let values: Vec<&Token> = tokens.iter().filter(|t| kinds.contains(&t.kind)).collect();
        if values.is_empty() {
            return;
        }
        let singles: Vec<_> = self.open().filter(|slot| single(slot)).collect();
        let lists: Vec<_> = self.open().filter(|slot| list(slot)).collect();
        let needed: Vec<_> = singles.iter().filter(|slot| slot.is_needed).collect();
        let slot = match (&singles[..], &needed[..], &lists[..], values.len()) {
            (_, [slot], [], 1) => **slot,
            ([slot], _, [], 1) => *slot,
            ([], _, [slot], _) => *slot,
            _ => return,
        };
        let value = if single(slot) {
            convert(slot, values[0]).ok()
        } else {
            Some(values.iter().map(|token| Value::from(token.text.as_str())).collect())
        };
        if let Some(value) = value {
            self.arguments.insert(slot.name.to_owned(), value);
            tokens.retain(|token| !kinds.contains(&token.kind));
        }
    }

    /// Values that found no place: they were said for a reason.
    fn leftovers(&self, tokens: &[Token]) -> Result<(), String> {
        let takes_numbers =
            self.open().any(|slot| matches!(slot.takes, Takes::Integer | Takes::Number));
        let left = tokens.iter().find(|token| match token.kind {
            Kind::Quoted | Kind::Path | Kind::Url => true,
            Kind::Number => takes_numbers,
            Kind::Word => is_pair(&token.text),
        });
        match left {
            None => Ok(()),
            Some(token) => {
                let names: Vec<_> =
                    self.open().map(|slot| format!("`{}`", short(slot.name))).take(8).collect();
                let said = short(&token.text);
                Err(if names.is_empty() {
                    format!("what is `{said}` for? It takes no further value")
                } else {
                    format!("what is `{said}` for? Say it as name=value, of {}", names.join(", "))
                })
            }
        }
    }

    fn missing(&self) -> Result<(), String> {
        let missing: Vec<String> = self
            .open()
            .filter(|slot| slot.is_needed)
            .map(|slot| format!("{}={}", short(slot.name), form(&slot.takes)))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("what should be used for {}?", missing.join(" ")))
    }
}

fn is_text(kind: Text) -> impl Fn(&Slot<'_>) -> bool {
    move |slot| slot.takes == Takes::Text(kind)
}

fn is_texts(kind: Text) -> impl Fn(&Slot<'_>) -> bool {
    move |slot| slot.takes == Takes::Texts(kind)
}

/// How a value is written, for a question.
fn form(takes: &Takes) -> String {
    match takes {
        Takes::Choice(choices) => {
            choices.iter().take(8).map(|choice| short(choice)).collect::<Vec<_>>().join("|")
        }
        Takes::Flag => "true|false".into(),
        Takes::Integer => "<whole number>".into(),
        Takes::Number => "<number>".into(),
        Takes::Text(Text::Path) => "<path>".into(),
        Takes::Text(Text::Url) => "<address>".into(),
        Takes::Text(Text::Plain) => "\"<text>\"".into(),
        Takes::Texts(_) => "\"<text>\" …".into(),
        Takes::Constant(_) | Takes::Other => {
            "<a value that only a model or `vouch call` can give>".into()
        }
    }
}

fn convert(slot: &Slot<'_>, token: &Token) -> Result<Value, String> {
    let text = token.text.as_str();
    let wrong = |rule: &str| Err(format!("`{}` must be {rule}", short(slot.name)));
    match &slot.takes {
        Takes::Text(_) => Ok(text.into()),
        Takes::Texts(_) if token.kind == Kind::Quoted => Ok(vec![Value::from(text)].into()),
        Takes::Texts(_) => Ok(text.split(',').map(str::trim).map(Value::from).collect()),
        Takes::Integer => match text.trim_start_matches('+').parse::<i64>() {
            Ok(number) => Ok(number.into()),
            Err(_) => wrong("a whole number"),
        },
        Takes::Number => {
            let text = text.trim_start_matches('+');
            match (text.parse::<i64>(), text.parse::<f64>()) {
                (Ok(whole), _) => Ok(whole.into()),
                (_, Ok(number)) if number.is_finite() => Ok(number.into()),
                _ => wrong("a number"),
            }
        }
        Takes::Flag => match text.to_lowercase().as_str() {
            "true" | "yes" | "on" => Ok(true.into()),
            "false" | "no" | "off" => Ok(false.into()),
            _ => wrong("true or false"),
        },
        Takes::Choice(choices) => {
            match choices.iter().find(|choice| choice.eq_ignore_ascii_case(text)) {
                Some(choice) => Ok(choice.as_str().into()),
                None => wrong(&format!("one of {}", form(&slot.takes))),
            }
        }
        Takes::Constant(value) => {
            if value.as_str() == Some(text) {
                Ok(value.clone())
            } else {
                wrong(&value.to_string())
            }
        }
        Takes::Other => wrong("given by a model or with `vouch call`"),
    }
}

/// A flag that is named is meant, unless a word before it says no.
fn flag(name: &str, words: &[&str]) -> Option<bool> {
    // `include_hidden` is also said as two words.
    let spans = (1..=3).flat_map(|length| words.windows(length).enumerate());
    let (start, _) = spans.into_iter().find(|(_, span)| same_name(name, &span.concat()))?;
    let before = start.checked_sub(1).map(|before| words[before].to_lowercase());
    Some(
        !before.is_some_and(|word| {
            matches!(&*word, "no" | "not" | "non" | "without" | "never" | "don't")
        }),
    )
}

/// The choice that the query names. A word of the tool's own name is no choice.
fn chosen(
    slot: &Slot<'_>,
    choices: &[String],
    words: &[&str],
    offer: &Offer,
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
        Some(_) => Err(format!("which `{}` is meant: {}?", short(slot.name), form(&slot.takes))),
    }
}
