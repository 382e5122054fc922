//! The table of tools, by the names under which the suite calls them.

use std::time::Duration;

use contract::Content;
use runtime::{Abilities, Question};
use serde_json::{Value, json};

use crate::fixture::Behaviour::{Fails, Progresses, Says, Waits};
use crate::fixture::{Behaviour, Fixture};
use crate::questions;

/// Four blue pixels.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGNQSFgARAwQCgAdjgSBQe+XXgAAAABJRU5ErkJggg==";
/// Silence.
const WAV: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

pub(crate) fn all() -> Vec<Fixture> {
    let mut all = content();
    all.extend(transport());
    all.extend(elicitation());
    all.extend(input_required());
    all
}

fn content() -> Vec<Fixture> {
    let image = || Content::Block(json!({"type": "image", "data": PNG, "mimeType": "image/png"}));
    let audio = Content::Block(json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"}));
    let simple = text("This is a simple text response for testing.");
    let embedded =
        resource("test://embedded-resource", "text/plain", "This is an embedded resource content.");
    let mixed = resource(
        "test://mixed-content-resource",
        "application/json",
        r#"{"test":"data","value":123}"#,
    );
    vec![
        Fixture::new("test_simple_text", "Answers with text", Says(vec![simple])),
        Fixture::new("test_image_content", "Answers with an image", Says(vec![image()])),
        Fixture::new("test_audio_content", "Answers with a sound", Says(vec![audio])),
        Fixture::new("test_embedded_resource", "Answers with a resource", Says(vec![embedded])),
        Fixture::new(
            "test_multiple_content_types",
            "Answers with text, an image and a resource",
            Says(vec![text("Multiple content types test:"), image(), mixed]),
        ),
        Fixture::new(
            "test_error_handling",
            "Always fails",
            Fails("this tool intentionally returns an error for testing"),
        ),
        Fixture::new("json_schema_2020_12_tool", "Has a schema with everything", done())
            .with_input(schema_2020_12()),
    ]
}

fn transport() -> Vec<Fixture> {
    let value = json!({
        "type": "object",
        "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
        "required": ["value"],
    });
    vec![
        Fixture::new("test_tool_with_progress", "Reports its progress", Progresses),
        Fixture::new("test_reconnection", "Takes a moment", Waits(Duration::from_millis(100))),
        Fixture::new("test_custom_header", "Wants its argument in a header too", done())
            .with_input(value),
        Fixture::new("test_logging_tool", "Logs nothing to the client", done()),
        Fixture::new(
            "test_missing_capability",
            "Needs a client that samples",
            asks_once(|_| vec![questions::completion("sample", "Say something")]),
        ),
    ]
}

fn elicitation() -> Vec<Fixture> {
    let with = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    vec![
        Fixture::new(
            "test_elicitation",
            "Asks the person for two values",
            asks_once(|arguments| {
                let properties = json!({
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                });
                let message = arguments["message"].as_str().unwrap_or_default();
                vec![questions::form("user", message, properties, &["username", "email"])]
            }),
        )
        .with_input(with("message")),
        Fixture::new(
            "test_sampling",
            "Asks the client's model",
            asks_once(|arguments| {
                let prompt = arguments["prompt"].as_str().unwrap_or_default();
                vec![questions::completion("completion", prompt)]
            }),
        )
        .with_input(with("prompt")),
        Fixture::new(
            "test_elicitation_sep1034_defaults",
            "Asks with default values",
            asks_once(|_| vec![questions::defaults()]),
        ),
        Fixture::new(
            "test_elicitation_sep1330_enums",
            "Asks with enumerations",
            asks_once(|_| vec![questions::enumerations()]),
        ),
        Fixture::new(
            "test_streaming_elicitation",
            "Asks on a stream",
            asks_once(|_| vec![questions::name("user_name", "What is your name?")]),
        ),
    ]
}

fn input_required() -> Vec<Fixture> {
    vec![
        Fixture::new(
            "test_input_required_result_elicitation",
            "Asks the person",
            asks_once(|_| vec![questions::name("user_name", "What is your name?")]),
        ),
        Fixture::new(
            "test_input_required_result_sampling",
            "Asks the client's model",
            asks_once(|_| {
                vec![questions::completion("capital_question", "What is the capital of France?")]
            }),
        ),
        Fixture::new(
            "test_input_required_result_list_roots",
            "Asks for the client's folders",
            asks_once(|_| vec![questions::roots()]),
        ),
        Fixture::new(
            "test_input_required_result_request_state",
            "Asks, and knows its own state again",
            asks(|_, _| vec![vec![questions::confirmation()]], "state-ok"),
        ),
        Fixture::new(
            "test_input_required_result_tampered_state",
            "Asks, and refuses a state that is not its own",
            asks_once(|_| vec![questions::confirmation()]),
        ),
        Fixture::new(
            "test_input_required_result_multiple_inputs",
            "Asks three things at once",
            asks_once(|_| three_questions()),
        ),
        Fixture::new(
            "test_input_required_result_multi_round",
            "Asks one thing after another",
            asks(
                |_, _| {
                    let color = json!({"color": {"type": "string"}});
                    let message = "Step 2: What is your favorite color?";
                    vec![
                        vec![questions::name("step1", "Step 1: What is your name?")],
                        vec![questions::form("step2", message, color, &["color"])],
                    ]
                },
                "answered",
            ),
        ),
        Fixture::new(
            "test_input_required_result_capabilities",
            "Asks only what the client can answer",
            asks(
                |_, abilities| {
                    let mut questions = three_questions();
                    questions.retain(|question| abilities.cover(question));
                    vec![questions]
                },
                "answered",
            ),
        ),
    ]
}

fn three_questions() -> Vec<Question> {
    vec![
        questions::name("user_name", "What is your name?"),
        questions::completion("greeting", "Generate a greeting"),
        questions::roots(),
    ]
}

fn schema_2020_12() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            },
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}

fn asks(
    rounds: impl Fn(&Value, Abilities) -> Vec<Vec<Question>> + Send + Sync + 'static,
    closing: &'static str,
) -> Behaviour {
    Behaviour::Asks { rounds: Box::new(rounds), closing }
}

fn asks_once(questions: impl Fn(&Value) -> Vec<Question> + Send + Sync + 'static) -> Behaviour {
    asks(move |arguments, _| vec![questions(arguments)], "answered")
}

fn done() -> Behaviour {
    Says(vec![text("done")])
}

fn text(text: &str) -> Content {
    Content::Text(text.into())
}

fn resource(uri: &str, mime_type: &str, text: &str) -> Content {
    let resource = json!({"uri": uri, "mimeType": mime_type, "text": text});
    Content::Block(json!({"type": "resource", "resource": resource}))
}
