//! Complete contracts: nothing is wrong with these tools until they are called. A test holds them against our linter.

use serde_json::{Value, json};

pub(super) fn all() -> Vec<Value> {
    [plain(), broken(), loud(), control()].concat()
}

/// A generated tool, one of many.
pub(super) fn generated(number: usize) -> Value {
    named(&format!("generated_{number:05}"))
}

/// `good` under another name.
pub(super) fn named(name: &str) -> Value {
    tool(
        name,
        &format!("Says the text again, as the tool {name} of many."),
        json!({"text": described("string", "What to say.")}),
        &text(),
    )
}

fn plain() -> Vec<Value> {
    vec![
        tool(
            "good",
            "Says the text again.",
            json!({"text": described("string", "What to say.")}),
            &text(),
        ),
        tool(
            "good_many",
            "Lists as many items as wanted.",
            json!({"count": optional("How many items.", 3, 10_000)}),
            &json!({"items": {
                "type": "array",
                "description": "The items, in order.",
                "items": closed(&json!({
                    "index": described("integer", "Counted from 0."),
                    "text": described("string", "What the item says."),
                })),
            }}),
        ),
        tool(
            "slow",
            "Works for as long as it likes.",
            json!({}),
            &json!({"done": described("boolean", "Whether it ended.")}),
        ),
        tool(
            "progress",
            "Works in three steps and reports each.",
            json!({}),
            &json!({"steps": described("integer", "The steps taken.")}),
        ),
        tool(
            "elicit",
            "Asks the person in front of the client for names.",
            json!({"rounds": optional("How many names to ask for, one after the other.", 1, 100)}),
            &json!({
                "action": {"enum": ["accept", "decline", "cancel"], "description": "How the last question ended."},
                "names": {"type": "array", "items": {"type": "string"}, "description": "The names that were given."},
            }),
        ),
    ]
}

fn broken() -> Vec<Value> {
    let with_text = |name, description| tool(name, description, json!({}), &text());
    vec![
        tool(
            "violates",
            "Looks a label up, in a form that it did not promise.",
            json!({"how": {
                "enum": ["wrong_type", "missing", "extra", "null", "twice", "none"],
                "description": "What is wrong with the answer.",
                "default": "wrong_type",
            }}),
            &json!({
                "id": described("integer", "The number of the label."),
                "label": described("string", "The label."),
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

fn loud() -> Vec<Value> {
    let nested = json!({"type": "array", "items": {"$ref": "#/$defs/nested"}, "description": "Lists within lists."});
    let mut deep = tool(
        "deep",
        "Nests lists as deep as wanted.",
        json!({"levels": optional("How many levels.", 100, 1_000_000)}),
        &json!({"nested": {"$ref": "#/$defs/nested"}}),
    );
    deep["outputSchema"]["$defs"] = json!({"nested": nested});
    vec![
        deep,
        tool(
            "huge",
            "Answers with a long text beside the data.",
            json!({"bytes": optional("How long the text is.", 20_000_000, 100_000_000)}),
            &json!({"bytes": described("integer", "The length of the text.")}),
        ),
        tool(
            "floods",
            "Fills the log before it answers.",
            json!({"bytes": optional("How much to log.", 4_000_000, 100_000_000)}),
            &json!({"bytes": described("integer", "How much was logged.")}),
        ),
        tool(
            "numbers",
            "Answers with numbers and text that are easy to spoil on the way.",
            json!({}),
            &json!({
                "zebra": described("number", "A float with a last zero."),
                "exponent": described("number", "A float in scientific notation."),
                "tiny": described("number", "The least positive double."),
                "negative_zero": described("number", "Zero with a sign."),
                "max_u64": described("integer", "The greatest unsigned integer of 64 bits."),
                "precise": described("number", "More digits than a double holds."),
                "text": described("string", "Letters, escaped and not."),
                "apple": {"type": "object", "description": "Keys out of order.", "properties": {
                    "z": described("integer", "The first."),
                    "a": described("integer", "The second."),
                }, "required": ["z", "a"], "additionalProperties": false},
            }),
        ),
        tool(
            "numbers_beyond",
            "Answers with numbers that no machine number holds.",
            json!({}),
            &json!({
                "big": described("number", "An integer beyond 64 bits."),
                "far": described("number", "A float beyond all doubles."),
            }),
        ),
    ]
}

fn control() -> Vec<Value> {
    let tried = json!({
        "done": described("boolean", "Whether it was possible."),
        "reason": described("string", "The kind of failure; empty where there was none."),
    });
    let path =
        json!({"path": described("string", "Absolute, or relative to the working directory.")});
    let mut tools = vec![
        tool("count", "Tells which calls have arrived.", json!({}), &counts()),
        tool(
            "environment",
            "Tells where the server runs and with which variables.",
            json!({}),
            &json!({
                "cwd": described("string", "The working directory."),
                "variables": {"type": "array", "description": "The whole environment.", "items": closed(&json!({
                    "name": described("string", "The variable's name."),
                    "value": described("string", "The variable's value."),
                }))},
            }),
        ),
        tool("read_path", "Tries to read a file or folder.", path.clone(), &tried),
    ];
    let changing = [
        tool("write_path", "Tries to write a file.", path, &tried),
        tool(
            "connect",
            "Tries to open a connection.",
            json!({"address": described("string", "Host and port: `127.0.0.1:80`.")}),
            &tried,
        ),
        tool(
            "mutate",
            "Changes the definition of the tool `good`.",
            json!({"how": {
                "enum": ["description", "instruction", "additive", "breaking", "annotation", "removal"],
                "description": "The kind of change.",
                "default": "description",
            }}),
            &mutation(),
        ),
        tool("restore", "Undoes any change of the tool `good`.", json!({}), &mutation()),
    ];
    tools.extend(changing.into_iter().map(|mut tool| {
        tool["annotations"] = json!({"readOnlyHint": false, "destructiveHint": true});
        tool
    }));
    tools
}

fn counts() -> Value {
    json!({
        "pid": described("integer", "The id of the server's process."),
        "grandchild": {"type": ["integer", "null"], "description": "The id of the process that the server started."},
        "starts": described("integer", "How often the server was started."),
        "lists": described("integer", "How often the list of tools was asked for."),
        "calls": {"type": "array", "description": "By tool, without calls of this one.", "items": closed(&json!({
            "tool": described("string", "The tool's name."),
            "count": described("integer", "The calls that arrived."),
        }))},
        "cancelled": {"type": "array", "description": "Calls that were stopped, in order.", "items": closed(&json!({
            "tool": described("string", "The tool's name."),
            "how": {"enum": ["notification", "disconnect"], "description": "How the server learnt of it."},
        }))},
    })
}

fn mutation() -> Value {
    json!({"mutation": described("string", "The change that is in force, or `none`.")})
}

fn text() -> Value {
    json!({"text": described("string", "What was said.")})
}

fn tool(name: &str, description: &str, input: Value, output: &Value) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": closed(&input),
        "outputSchema": closed(output),
        "annotations": {"readOnlyHint": true},
    })
}

/// An object of exactly these properties; required are those without a default.
fn closed(properties: &Value) -> Value {
    let required: Vec<&String> = properties
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, schema)| schema.get("default").is_none())
        .map(|(name, _)| name)
        .collect();
    json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
}

fn described(kind: &str, description: &str) -> Value {
    json!({"type": kind, "description": description})
}

fn optional(description: &str, default: u64, maximum: u64) -> Value {
    json!({"type": "integer", "minimum": 0, "maximum": maximum, "description": description, "default": default})
}
