//! From a compiler's syntax tree to nodes.
//!
//! Both Solidity and the assembly within it come as JSON objects with a `nodeType` and a `src` of the form
//! `start:length:file`. Types of nodes that are not known here are looked into as part of the unit that holds them.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::{Decision, DecisionKind, Exit, Extent, Id, Kind, Node, Role, Routine, Slot, Tree};
use crate::lines::Lines;

/// Takes in all functions of a source.
pub(super) fn source(tree: &mut Tree, source: usize, ast: &Value, lines: &Lines) {
    let mut grower = Grower { tree, source, lines };
    for node in list(ast, "nodes") {
        match kind(node) {
            "ContractDefinition" => grower.contract(node),
            "FunctionDefinition" => grower.function(node, None),
            _ => {}
        }
    }
}

struct Grower<'a> {
    tree: &'a mut Tree,
    source: usize,
    lines: &'a Lines,
}

impl Grower<'_> {
    fn contract(&mut self, contract: &Value) {
        let name = text(contract, "name");
        let bases = list(contract, "linearizedBaseContracts").iter().filter_map(Value::as_i64);
        self.tree.bases.insert((self.source, name.to_owned()), bases.collect());
        for member in list(contract, "nodes") {
            match kind(member) {
                "FunctionDefinition" | "ModifierDefinition" => self.function(member, Some(name)),
                "VariableDeclaration" => self.initial_value(member, name),
                _ => {}
            }
        }
    }

    /// The initial value of a state variable runs like a function of one statement. A constant has no code of its own.
    fn initial_value(&mut self, variable: &Value, contract: &str) {
        if variable["value"].is_null() || variable["constant"] == true {
            return;
        }
        let Some(function) = self.open(variable, Kind::Function, Slot::Item, None) else { return };
        let Some(unit) = self.open(variable, Kind::Unit, Slot::Item, Some(function)) else {
            return;
        };
        self.expression(&variable["value"], unit);
        self.close(unit);
        self.close(function);
        let title = format!("{contract}.{}", text(variable, "name"));
        self.routine(function, title, Role::Construction, variable);
    }

    fn function(&mut self, function: &Value, contract: Option<&str>) {
        if function["body"].is_null() {
            return;
        }
        let Some(id) = self.open(function, Kind::Function, Slot::Item, None) else { return };
        self.statement(&function["body"], Slot::Item, id);
        self.close(id);
        let own = match text(function, "kind") {
            kind @ ("constructor" | "fallback" | "receive") => kind,
            _ => text(function, "name"),
        };
        let title = contract.map_or_else(|| own.to_owned(), |contract| format!("{contract}.{own}"));
        let role = match (text(function, "kind"), text(function, "visibility")) {
            ("constructor", _) => Role::Construction,
            (_, "public" | "external") => Role::External,
            _ => Role::Internal,
        };
        self.routine(id, title, role, function);
        self.modifiers(function, own);
    }

    fn modifiers(&mut self, function: &Value, own: &str) {
        let own = self.tree.names.number(own);
        for modifier in list(function, "modifiers") {
            let path = text(&modifier["modifierName"], "name");
            let name = self.tree.names.number(path.rsplit('.').next().unwrap_or(path));
            self.tree.names.modifiers.entry(own).or_default().insert(name);
        }
    }

    fn routine(&mut self, node: Id, title: String, role: Role, ast: &Value) {
        let mut hasher = DefaultHasher::new();
        shape(&ast["body"], &mut hasher);
        shape(&ast["returnParameters"], &mut hasher);
        shape(&ast["parameters"], &mut hasher);
        let own = title.rsplit('.').next().unwrap_or(&title).to_owned();
        let name = self.tree.names.number(&own);
        let line = self.tree.nodes[node].line;
        let shape = hasher.finish();
        let contract = ast["scope"].as_i64();
        self.tree.routines.push(Routine { node, title, name, line, role, contract, shape });
    }

    fn statements(&mut self, statements: &Value, slot: Slot, parent: Id) {
        for statement in statements.as_array().into_iter().flatten() {
            self.statement(statement, slot, parent);
        }
    }

    fn statement(&mut self, ast: &Value, slot: Slot, parent: Id) {
        match kind(ast) {
            "" => {}
            "Block" | "UncheckedBlock" | "YulBlock" => {
                self.compound(ast, Kind::List, slot, parent, |grower, id| {
                    grower.statements(&ast["statements"], Slot::Item, id);
                });
            }
            "InlineAssembly" => self.statement(&ast["AST"], slot, parent),
            "IfStatement" | "YulIf" => self.branch(ast, slot, parent),
            "ForStatement" | "WhileStatement" | "DoWhileStatement" | "YulForLoop" => {
                self.repetition(ast, slot, parent);
            }
            "TryStatement" => self.compound(ast, Kind::Choice, slot, parent, |grower, id| {
                grower.unit(&ast["externalCall"], Slot::Head, id);
                for clause in list(ast, "clauses") {
                    grower.statement(&clause["block"], Slot::Body, id);
                }
            }),
            "YulSwitch" => self.compound(ast, Kind::Choice, slot, parent, |grower, id| {
                grower.unit(&ast["expression"], Slot::Head, id);
                for case in list(ast, "cases") {
                    grower.statement(&case["body"], Slot::Body, id);
                }
            }),
            "YulFunctionDefinition" => self.inner_function(ast, parent),
            _ => {
                self.unit(ast, slot, parent);
            }
        }
    }

    fn branch(&mut self, ast: &Value, slot: Slot, parent: Id) {
        let (yes, no) = match kind(ast) {
            "YulIf" => (&ast["body"], &Value::Null),
            _ => (&ast["trueBody"], &ast["falseBody"]),
        };
        self.compound(ast, Kind::If, slot, parent, |grower, id| {
            let head = grower.unit(&ast["condition"], Slot::Head, id);
            grower.statement(yes, Slot::Body, id);
            grower.statement(no, Slot::Body, id);
            if let Some(unit) = head {
                grower.decision(ast, DecisionKind::If, unit, yes, no);
            }
        });
    }

    fn repetition(&mut self, ast: &Value, slot: Slot, parent: Id) {
        let (start, step) = match kind(ast) {
            "YulForLoop" => (&ast["pre"], &ast["post"]),
            _ => (&ast["initializationExpression"], &ast["loopExpression"]),
        };
        self.compound(ast, Kind::Loop, slot, parent, |grower, id| {
            grower.statement(start, Slot::Start, id);
            let body_first = kind(ast) == "DoWhileStatement";
            let body = |grower: &mut Self| grower.statement(&ast["body"], Slot::Body, id);
            if body_first {
                body(grower);
            }
            let head = grower.unit(&ast["condition"], Slot::Head, id);
            if !body_first {
                body(grower);
            }
            grower.statement(step, Slot::Step, id);
            if let Some(unit) = head {
                grower.decision(ast, DecisionKind::Loop, unit, &ast["body"], &Value::Null);
            }
        });
    }

    /// A function of assembly: calls of it come from anywhere in its block.
    fn inner_function(&mut self, ast: &Value, parent: Id) {
        let Some(id) = self.open(ast, Kind::Function, Slot::Item, Some(parent)) else { return };
        self.tree.nodes[id].function = id;
        self.statement(&ast["body"], Slot::Item, id);
        self.close(id);
        self.routine(id, text(ast, "name").to_owned(), Role::Internal, ast);
    }

    fn compound(
        &mut self,
        ast: &Value,
        kind: Kind,
        slot: Slot,
        parent: Id,
        inside: impl FnOnce(&mut Self, Id),
    ) {
        if let Some(id) = self.open(ast, kind, slot, Some(parent)) {
            inside(self, id);
            self.close(id);
        }
    }

    fn unit(&mut self, ast: &Value, slot: Slot, parent: Id) -> Option<Id> {
        let id = self.open(ast, Kind::Unit, slot, Some(parent))?;
        if kind(ast) == "PlaceholderStatement" {
            self.tree.names.placeholders.push(id);
        }
        self.expression(ast, id);
        self.close(id);
        Some(id)
    }

    /// Looks for decisions and mentioned names in all that belongs to a unit.
    fn expression(&mut self, ast: &Value, unit: Id) {
        match ast {
            Value::Array(items) => items.iter().for_each(|item| self.expression(item, unit)),
            Value::Object(fields) => {
                self.decide(ast, unit);
                self.mention(ast, unit);
                fields.values().for_each(|field| self.expression(field, unit));
            }
            _ => {}
        }
    }

    fn decide(&mut self, ast: &Value, unit: Id) {
        let none = &Value::Null;
        match (kind(ast), text(ast, "operator")) {
            ("Conditional", _) => {
                let (yes, no) = (&ast["trueExpression"], &ast["falseExpression"]);
                self.decision(ast, DecisionKind::Ternary, unit, yes, no);
            }
            ("BinaryOperation", "&&") => {
                self.decision(ast, DecisionKind::And, unit, &ast["rightExpression"], none);
            }
            ("BinaryOperation", "||") => {
                self.decision(ast, DecisionKind::Or, unit, none, &ast["rightExpression"]);
            }
            ("FunctionCall", _) => {
                let called = &ast["expression"];
                // The compiler's own functions have negative numbers; one of the same name may be declared anew.
                let built_in = called["referencedDeclaration"].as_i64().is_none_or(|id| id < 0);
                if built_in && matches!(text(called, "name"), "require" | "assert") {
                    self.decision(ast, DecisionKind::Require, unit, none, none);
                }
            }
            _ => {}
        }
    }

    fn decision(&mut self, ast: &Value, kind: DecisionKind, unit: Id, yes: &Value, no: &Value) {
        let Some(extent) = self.extent(ast) else { return };
        let (yes, no) = (self.extent(yes), self.extent(no));
        let line = self.lines.at(extent.start);
        self.tree.decisions.push(Decision { extent, kind, unit, yes, no, line });
    }

    fn mention(&mut self, ast: &Value, unit: Id) {
        let name = match kind(ast) {
            "Identifier" | "YulIdentifier" => text(ast, "name"),
            "MemberAccess" => text(ast, "memberName"),
            _ => return,
        };
        let name = self.tree.names.number(name);
        self.tree.nodes[unit].mentions.push(name);
    }

    fn open(&mut self, ast: &Value, kind: Kind, slot: Slot, parent: Option<Id>) -> Option<Id> {
        let extent = self.extent(ast)?;
        let id = self.tree.nodes.len();
        let function = parent.map_or(id, |parent| self.tree.nodes[parent].function);
        let line = self.lines.at(extent.start);
        let mentions = Vec::new();
        self.tree.nodes.push(Node {
            extent,
            kind,
            slot,
            parent,
            end: id + 1,
            function,
            exit: exit(ast),
            mentions,
            line,
        });
        Some(id)
    }

    fn close(&mut self, id: Id) {
        self.tree.nodes[id].end = self.tree.nodes.len();
    }

    fn extent(&self, ast: &Value) -> Option<Extent> {
        let mut numbers = ast["src"].as_str()?.split(':').map(|field| field.parse::<u32>().ok());
        let (start, length) = (numbers.next()??, numbers.next()??);
        Some(Extent { source: self.source, start, end: start.saturating_add(length) })
    }
}

/// Feeds what decides about the code: the kinds of nodes, operators, literals and declarations outside of functions.
fn shape(ast: &Value, hasher: &mut DefaultHasher) {
    match ast {
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| shape(item, hasher));
        }
        Value::Object(fields) => {
            for key in ["nodeType", "operator", "value", "memberName"] {
                ast[key].as_str().hash(hasher);
            }
            fields.values().for_each(|field| shape(field, hasher));
        }
        _ => {}
    }
}

fn exit(ast: &Value) -> Exit {
    let called = text(&ast["expression"]["expression"], "name");
    match kind(ast) {
        "Return" | "YulLeave" => Exit::Return,
        "RevertStatement" => Exit::Revert,
        "ExpressionStatement" if called == "revert" => Exit::Revert,
        _ => Exit::None,
    }
}

fn kind(ast: &Value) -> &str {
    text(ast, "nodeType")
}

fn text<'a>(ast: &'a Value, key: &str) -> &'a str {
    ast[key].as_str().unwrap_or_default()
}

fn list<'a>(ast: &'a Value, key: &str) -> &'a [Value] {
    ast[key].as_array().map(Vec::as_slice).unwrap_or_default()
}
