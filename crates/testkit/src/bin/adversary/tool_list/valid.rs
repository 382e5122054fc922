//! Valid definitions: these tools violate their contracts only when they are called. A test runs the linter on them.
//!
//! Snapshots and pins of other crates contain these descriptions; keep them stable.

use serde_json::{Value, json};

pub(super) fn valid_tools() -> Vec<Value> {
    [correct_tools(), misbehaving_tools(), oversized_tools(), control_tools()].concat()
}

/// Returns the definition of a generated tool.
pub(super) fn generated_tool(number: usize) -> Value {
    named_tool(&format!("generated_{number:05}"))
}

/// Returns the definition of `good` under another name.
pub(super) fn named_tool(name: &str) -> Value {
    define_tool(
        name,
        &format!("Says the text again, as the tool {name} of many."),
        json!({"text": described_type("string", "What to say.")}),
        &text_schema(),
    )
}

fn correct_tools() -> Vec<Value> {
    vec![
        define_tool(
            "good",
            "Says the text again.",
            json!({"text": described_type("string", "What to say.")}),
            &text_schema(),
        ),
        define_tool(
            "good_many",
            "Lists as many items as wanted.",
            json!({"count": optional_integer("How many items.", 3, 10_000)}),
            &json!({"items": {
                "type": "array",
                "description": "The items, in order.",
                "items": closed_object(&json!({
                    "index": described_type("integer", "Counted from 0."),
                    "text": described_type("string", "What the item says."),
                })),
            }}),
        ),
        define_tool(
            "slow",
            "Works for as long as it likes.",
            json!({}),
            &json!({"done": described_type("boolean", "Whether it ended.")}),
        ),
        define_tool(
            "progress",
            "Works in three steps and reports each.",
            json!({}),
            &json!({"steps": described_type("integer", "The steps taken.")}),
        ),
        define_tool(
            "elicit",
            "Asks the person in front of the client for names.",
            json!({"rounds": optional_integer("How many names to ask for, one after the other.", 1, 100)}),
            &json!({
                "action": {"enum": ["accept", "decline", "cancel"], "description": "How the last question ended."},
                "names": {"type": "array", "items": {"type": "string"}, "description": "The names that were given."},
            }),
        ),
    ]
}

fn misbehaving_tools() -> Vec<Value> {
    let with_text = |name, description| define_tool(name, description, json!({}), &text_schema());
    vec![
        define_tool(
            "violates",
            "Looks a label up, in a form that it did not promise.",
            json!({"how": {
                "enum": ["wrong_type", "missing", "extra", "null", "twice", "none"],
                "description": "What is wrong with the answer.",
                "default": "wrong_type",
            }}),
            &json!({
                "id": described_type("integer", "The number of the label."),
                "label": described_type("string", "The label."),
            }),
        ),
        with_text("text_only", "Answers in words, where it promised data."),
        with_text("twice", "Answers two times, not the same."),
        with_text("foreign", "Answers a call that is not its own."),
        with_text("dies", "Ends the whole server in the middle of a call."),
        with_text("error", "Fails and says so in words."),
        with_text("rpc_error", "Fails as the protocol fails."),
        with_text("instructs", "Reports, with a remark for whoever reads it."),
        with_text("garbage", "Answers after lines that are no messages."),
    ]
}

fn oversized_tools() -> Vec<Value> {
    let nested = json!({"type": "array", "items": {"$ref": "#/$defs/nested"}, "description": "Lists within lists."});
    let mut deep = define_tool(
        "deep",
        "Nests lists as deep as wanted.",
        json!({"levels": optional_integer("How many levels.", 100, 1_000_000)}),
        &json!({"nested": {"$ref": "#/$defs/nested"}}),
    );
    deep["outputSchema"]["$defs"] = json!({"nested": nested});
    vec![
        deep,
        define_tool(
            "huge",
            "Answers with a long text beside the data.",
            json!({"bytes": optional_integer("How long the text is.", 20_000_000, 100_000_000)}),
            &json!({"bytes": described_type("integer", "The length of the text.")}),
        ),
        define_tool(
            "floods",
            "Fills the log before it answers.",
            json!({"bytes": optional_integer("How much to log.", 4_000_000, 100_000_000)}),
            &json!({"bytes": described_type("integer", "How much was logged.")}),
        ),
        define_tool(
            "numbers",
            "Answers with numbers and text that are easy to spoil on the way.",
            json!({}),
            &json!({
                "zebra": described_type("number", "A float with a last zero."),
                "exponent": described_type("number", "A float in scientific notation."),
                "tiny": described_type("number", "The least positive double."),
                "negative_zero": described_type("number", "Zero with a sign."),
                "max_u64": described_type("integer", "The greatest unsigned integer of 64 bits."),
                "precise": described_type("number", "More digits than a double holds."),
                "text": described_type("string", "Letters, escaped and not."),
                "apple": {"type": "object", "description": "Keys out of order.", "properties": {
                    "z": described_type("integer", "The first."),
                    "a": described_type("integer", "The second."),
                }, "required": ["z", "a"], "additionalProperties": false},
            }),
        ),
        define_tool(
            "numbers_beyond",
            "Answers with numbers that no machine number holds.",
            json!({}),
            &json!({
                "big": described_type("number", "An integer beyond 64 bits."),
                "far": described_type("number", "A float beyond all doubles."),
            }),
        ),
    ]
}

fn control_tools() -> Vec<Value> {
    let tried = json!({
        "done": described_type("boolean", "Whether it was possible."),
        "reason": described_type("string", "The kind of failure; empty where there was none."),
    });
    let path = json!({"path": described_type("string", "Absolute, or relative to the working directory.")});
    let mut tools = vec![
        define_tool("count", "Tells which calls have arrived.", json!({}), &counts_schema()),
        define_tool(
            "environment",
            "Tells where the server runs and with which variables.",
            json!({}),
            &json!({
                "cwd": described_type("string", "The working directory."),
                "variables": {"type": "array", "description": "The whole environment.", "items": closed_object(&json!({
                    "name": described_type("string", "The variable's name."),
                    "value": described_type("string", "The variable's value."),
                }))},
            }),
        ),
        define_tool("read_path", "Tries to read a file or folder.", path.clone(), &tried),
    ];
    let changing = [
        define_tool("write_path", "Tries to write a file.", path, &tried),
        define_tool(
            "connect",
            "Tries to open a connection.",
            json!({"address": described_type("string", "Host and port: `127.0.0.1:80`.")}),
            &tried,
        ),
        define_tool(
            "mutate",
            "Changes the definition of the tool `good`.",
            json!({"how": {
                "enum": ["description", "instruction", "additive", "breaking", "annotation", "removal"],
                "description": "The kind of change.",
                "default": "description",
            }}),
            &mutation_schema(),
        ),
        define_tool(
            "restore",
            "Undoes any change of the tool `good`.",
            json!({}),
            &mutation_schema(),
        ),
    ];
    tools.extend(changing.into_iter().map(|mut tool| {
        tool["annotations"] = json!({"readOnlyHint": false, "destructiveHint": true});
        tool
    }));
    tools
}

fn counts_schema() -> Value {
    json!({
        "pid": described_type("integer", "The id of the server's process."),
        "grandchild": {"type": ["integer", "null"], "description": "The id of the process that the server started."},
        "starts": described_type("integer", "How often the server was started."),
        "lists": described_type("integer", "How often the list of tools was asked for."),
        "calls": {"type": "array", "description": "By tool, without calls of this one.", "items": closed_object(&json!({
            "tool": described_type("string", "The tool's name."),
            "count": described_type("integer", "The calls that arrived."),
        }))},
        "cancelled": {"type": "array", "description": "Calls that were stopped, in order.", "items": closed_object(&json!({
            "tool": described_type("string", "The tool's name."),
            "how": {"enum": ["notification", "disconnect"], "description": "How the server learnt of it."},
        }))},
    })
}

fn mutation_schema() -> Value {
    json!({"mutation": described_type("string", "The change that is in force, or `none`.")})
}

fn text_schema() -> Value {
    json!({"text": described_type("string", "What was said.")})
}

fn define_tool(name: &str, description: &str, input: Value, output: &Value) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": closed_object(&input),
        "outputSchema": closed_object(output),
        "annotations": {"readOnlyHint": true},
    })
}

/// Returns the schema of an object with exactly these properties. Properties without a default are required.
fn closed_object(properties: &Value) -> Value {
    let required: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, schema)| schema.get("default").is_none())
        .map(|(name, _)| name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn described_type(kind: &str, description: &str) -> Value {
    json!({"type": kind, "description": description})
}

fn optional_integer(description: &str, default: u64, maximum: u64) -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": maximum, "description": description, "default": default})
}
