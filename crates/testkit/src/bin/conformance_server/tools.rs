//! The table of tools, under the names that the suite expects.

use std::time::Duration;

use contract::ContentBlock;
use runtime::{ClientCapabilities, ElicitationRequest};
use serde_json::{Value, json};

use crate::fixture::FixtureBehavior::{Fail, ReportProgress, Respond, Sleep};
use crate::fixture::{FixtureBehavior, ToolFixture};
use crate::input_requests;

/// A PNG image of four blue pixels, in base64.
pub(crate) const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR4nGNQSFgARAwQCgAdjgSBQe+XXgAAAABJRU5ErkJggg==";
/// A silent WAV file, in base64.
const WAV: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQgAAACAgICAgICAgA==";

pub(crate) fn all_tools() -> Vec<ToolFixture> {
    let mut all = content_tools();
    all.extend(transport_tools());
    all.extend(elicitation_tools());
    all.extend(input_required_tools());
    all
}

fn content_tools() -> Vec<ToolFixture> {
    let image =
        || ContentBlock::Block(json!({"type": "image", "data": PNG, "mimeType": "image/png"}));
    let audio = ContentBlock::Block(json!({"type": "audio", "data": WAV, "mimeType": "audio/wav"}));
    let simple = text_content("This is a simple text response for testing.");
    let embedded = resource_content(
        "test://embedded-resource",
        "text/plain",
        "This is an embedded resource content.",
    );
    let mixed = resource_content(
        "test://mixed-content-resource",
        "application/json",
        r#"{"test":"data","value":123}"#,
    );
    vec![
        ToolFixture::new("test_simple_text", "Answers with text", Respond(vec![simple])),
        ToolFixture::new("test_image_content", "Answers with an image", Respond(vec![image()])),
        ToolFixture::new("test_audio_content", "Answers with audio", Respond(vec![audio])),
        ToolFixture::new(
            "test_embedded_resource",
            "Answers with a resource",
            Respond(vec![embedded]),
        ),
        ToolFixture::new(
            "test_multiple_content_types",
            "Answers with text, an image and a resource",
            Respond(vec![text_content("Multiple content types test:"), image(), mixed]),
        ),
        ToolFixture::new(
            "test_error_handling",
            "Always fails",
            Fail("this tool intentionally returns an error for testing"),
        ),
        ToolFixture::new(
            "json_schema_2020_12_tool",
            "Has an input schema that uses most of JSON Schema 2020-12",
            respond_done(),
        )
        .with_input(schema_2020_12()),
    ]
}

fn transport_tools() -> Vec<ToolFixture> {
    let value = json!({
        "type": "object",
        "properties": {"value": {"type": "string", "x-mcp-header": "Value"}},
        "required": ["value"],
    });
    vec![
        ToolFixture::new("test_tool_with_progress", "Reports its progress", ReportProgress),
        ToolFixture::new("test_reconnection", "Takes a moment", Sleep(Duration::from_millis(100))),
        ToolFixture::new(
            "test_custom_header",
            "Requires its argument in a header too",
            respond_done(),
        )
        .with_input(value),
        ToolFixture::new(
            "test_logging_tool",
            "Sends no log messages to the client",
            respond_done(),
        ),
        ToolFixture::new(
            "test_missing_capability",
            "Needs a client that supports sampling",
            request_input_once(|_| {
                vec![input_requests::request_completion("sample", "Say something")]
            }),
        ),
    ]
}

fn elicitation_tools() -> Vec<ToolFixture> {
    let with = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}, "required": [name]});
    vec![
        ToolFixture::new(
            "test_elicitation",
            "Asks the user for two values",
            request_input_once(|arguments| {
                let properties = json!({
                    "username": {"type": "string", "description": "User's response"},
                    "email": {"type": "string", "description": "User's email address"},
                });
                let message = arguments["message"].as_str().unwrap_or_default();
                vec![input_requests::request_form(
                    "user",
                    message,
                    properties,
                    &["username", "email"],
                )]
            }),
        )
        .with_input(with("message")),
        ToolFixture::new(
            "test_sampling",
            "Asks the client's model",
            request_input_once(|arguments| {
                let prompt = arguments["prompt"].as_str().unwrap_or_default();
                vec![input_requests::request_completion("completion", prompt)]
            }),
        )
        .with_input(with("prompt")),
        ToolFixture::new(
            "test_elicitation_sep1034_defaults",
            "Asks with default values",
            request_input_once(|_| vec![input_requests::request_defaults()]),
        ),
        ToolFixture::new(
            "test_elicitation_sep1330_enums",
            "Asks with enumerations",
            request_input_once(|_| vec![input_requests::request_enumerations()]),
        ),
        ToolFixture::new(
            "test_streaming_elicitation",
            "Asks on a stream",
            request_input_once(|_| {
                vec![input_requests::request_name("user_name", "What is your name?")]
            }),
        ),
    ]
}

fn input_required_tools() -> Vec<ToolFixture> {
    vec![
        ToolFixture::new(
            "test_input_required_result_elicitation",
            "Asks the user",
            request_input_once(|_| {
                vec![input_requests::request_name("user_name", "What is your name?")]
            }),
        ),
        ToolFixture::new(
            "test_input_required_result_sampling",
            "Asks the client's model",
            request_input_once(|_| {
                vec![input_requests::request_completion(
                    "capital_question",
                    "What is the capital of France?",
                )]
            }),
        ),
        ToolFixture::new(
            "test_input_required_result_list_roots",
            "Asks for the client's roots",
            request_input_once(|_| vec![input_requests::request_roots()]),
        ),
        ToolFixture::new(
            "test_input_required_result_request_state",
            "Asks, and recognizes its own request state",
            request_input(|_, _| vec![vec![input_requests::request_confirmation()]], "state-ok"),
        ),
        ToolFixture::new(
            "test_input_required_result_tampered_state",
            "Asks, and rejects a tampered request state",
            request_input_once(|_| vec![input_requests::request_confirmation()]),
        ),
        ToolFixture::new(
            "test_input_required_result_multiple_inputs",
            "Asks for three inputs at once",
            request_input_once(|_| three_requests()),
        ),
        ToolFixture::new(
            "test_input_required_result_multi_round",
            "Asks for two inputs, one after the other",
            request_input(
                |_, _| {
                    let color = json!({"color": {"type": "string"}});
                    let message = "Step 2: What is your favorite color?";
                    vec![
                        vec![input_requests::request_name("step1", "Step 1: What is your name?")],
                        vec![input_requests::request_form("step2", message, color, &["color"])],
                    ]
                },
                "answered",
            ),
        ),
        ToolFixture::new(
            "test_input_required_result_capabilities",
            "Asks only for input that the client supports",
            request_input(
                |_, abilities| {
                    let mut questions = three_requests();
                    questions.retain(|question| abilities.can_answer(question));
                    vec![questions]
                },
                "answered",
            ),
        ),
    ]
}

fn three_requests() -> Vec<ElicitationRequest> {
    vec![
        input_requests::request_name("user_name", "What is your name?"),
        input_requests::request_completion("greeting", "Generate a greeting"),
        input_requests::request_roots(),
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

fn request_input(
    rounds: impl Fn(&Value, ClientCapabilities) -> Vec<Vec<ElicitationRequest>> + Send + Sync + 'static,
    closing: &'static str,
) -> FixtureBehavior {
    FixtureBehavior::RequestInput { rounds: Box::new(rounds), closing }
}

fn request_input_once(
    questions: impl Fn(&Value) -> Vec<ElicitationRequest> + Send + Sync + 'static,
) -> FixtureBehavior {
    request_input(move |arguments, _| vec![questions(arguments)], "answered")
}

fn respond_done() -> FixtureBehavior {
    Respond(vec![text_content("done")])
}

fn text_content(text: &str) -> ContentBlock {
    ContentBlock::Text(text.into())
}

fn resource_content(uri: &str, mime_type: &str, text: &str) -> ContentBlock {
    let resource = json!({"uri": uri, "mimeType": mime_type, "text": text});
    ContentBlock::Block(json!({"type": "resource", "resource": resource}))
}
