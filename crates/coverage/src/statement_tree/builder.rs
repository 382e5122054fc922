//! Builds the statement tree from the compiler's AST.
//!
//! Solidity and inline assembly are JSON objects with a `nodeType` and a `src` of the form `start:length:file`. Unknown
//! node types are scanned as part of the enclosing unit.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::Value;

use super::{
    BranchDecision, DecisionKind, NodeId, NodeSlot, RoutineRole, SourceExtent, SourceRoutine,
    StatementKind, StatementNode, StatementTree, UnitExit,
};
use crate::line_index::LineIndex;

/// Adds all functions of a source to the tree.
pub(super) fn add_source(tree: &mut StatementTree, source: usize, ast: &Value, lines: &LineIndex) {
    let mut grower = TreeBuilder { tree, source, lines };
    for node in list_field(ast, "nodes") {
        match node_type(node) {
            "ContractDefinition" => grower.add_contract(node),
            "FunctionDefinition" => grower.add_function(node, None),
            _ => {}
        }
    }
}

/// Adds the nodes of one source to a tree.
struct TreeBuilder<'a> {
    tree: &'a mut StatementTree,
    source: usize,
    lines: &'a LineIndex,
}

impl TreeBuilder<'_> {
    fn add_contract(&mut self, contract: &Value) {
        let name = text_field(contract, "name");
        let bases =
            list_field(contract, "linearizedBaseContracts").iter().filter_map(Value::as_i64);
        self.tree.bases.insert((self.source, name.to_owned()), bases.collect());
        for member in list_field(contract, "nodes") {
            match node_type(member) {
                "FunctionDefinition" | "ModifierDefinition" => {
                    self.add_function(member, Some(name))
                }
                "VariableDeclaration" => self.add_initial_value(member, name),
                _ => {}
            }
        }
    }

    /// Adds the initial value of a state variable as a function with one statement. Constants have no code and are
    /// skipped.
    fn add_initial_value(&mut self, variable: &Value, contract: &str) {
        if variable["value"].is_null() || variable["constant"] == true {
            return;
        }
        let Some(function) =
            self.open_node(variable, StatementKind::Function, NodeSlot::Item, None)
        else {
            return;
        };
        let Some(unit) =
            self.open_node(variable, StatementKind::Unit, NodeSlot::Item, Some(function))
        else {
            return;
        };
        self.scan_expression(&variable["value"], unit);
        self.close_node(unit);
        self.close_node(function);
        let title = format!("{contract}.{}", text_field(variable, "name"));
        self.add_routine(function, title, RoutineRole::Construction, variable);
    }

    fn add_function(&mut self, function: &Value, contract: Option<&str>) {
        if function["body"].is_null() {
            return;
        }
        let Some(id) = self.open_node(function, StatementKind::Function, NodeSlot::Item, None)
        else {
            return;
        };
        self.add_statement(&function["body"], NodeSlot::Item, id);
        self.close_node(id);
        let own = match text_field(function, "kind") {
            kind @ ("constructor" | "fallback" | "receive") => kind,
            _ => text_field(function, "name"),
        };
        let title = contract.map_or_else(|| own.to_owned(), |contract| format!("{contract}.{own}"));
        let role = match (text_field(function, "kind"), text_field(function, "visibility")) {
            ("constructor", _) => RoutineRole::Construction,
            (_, "public" | "external") => RoutineRole::External,
            _ => RoutineRole::Internal,
        };
        self.add_routine(id, title, role, function);
        self.add_modifiers(function, own);
    }

    fn add_modifiers(&mut self, function: &Value, own: &str) {
        let own = self.tree.names.intern(own);
        for modifier in list_field(function, "modifiers") {
            let path = text_field(&modifier["modifierName"], "name");
            let name = self.tree.names.intern(path.rsplit('.').next().unwrap_or(path));
            self.tree.names.modifiers.entry(own).or_default().insert(name);
        }
    }

    fn add_routine(&mut self, node: NodeId, title: String, role: RoutineRole, ast: &Value) {
        let mut hasher = DefaultHasher::new();
        hash_shape(&ast["body"], &mut hasher);
        hash_shape(&ast["returnParameters"], &mut hasher);
        hash_shape(&ast["parameters"], &mut hasher);
        let own = title.rsplit('.').next().unwrap_or(&title).to_owned();
        let name = self.tree.names.intern(&own);
        let line = self.tree.nodes[node].line;
        let shape = hasher.finish();
        let contract = ast["scope"].as_i64();
        self.tree.routines.push(SourceRoutine { node, title, name, line, role, contract, shape });
    }

    fn add_statements(&mut self, statements: &Value, slot: NodeSlot, parent: NodeId) {
        for statement in statements.as_array().into_iter().flatten() {
            self.add_statement(statement, slot, parent);
        }
    }

    fn add_statement(&mut self, ast: &Value, slot: NodeSlot, parent: NodeId) {
        match node_type(ast) {
            "" => {}
            "Block" | "UncheckedBlock" | "YulBlock" => {
                self.add_compound(ast, StatementKind::List, slot, parent, |grower, id| {
                    grower.add_statements(&ast["statements"], NodeSlot::Item, id);
                });
            }
            "InlineAssembly" => self.add_statement(&ast["AST"], slot, parent),
            "IfStatement" | "YulIf" => self.add_if(ast, slot, parent),
            "ForStatement" | "WhileStatement" | "DoWhileStatement" | "YulForLoop" => {
                self.add_loop(ast, slot, parent);
            }
            "TryStatement" => {
                self.add_compound(ast, StatementKind::Choice, slot, parent, |grower, id| {
                    grower.add_unit(&ast["externalCall"], NodeSlot::Head, id);
                    for clause in list_field(ast, "clauses") {
                        grower.add_statement(&clause["block"], NodeSlot::Body, id);
                    }
                })
            }
            "YulSwitch" => {
                self.add_compound(ast, StatementKind::Choice, slot, parent, |grower, id| {
                    grower.add_unit(&ast["expression"], NodeSlot::Head, id);
                    for case in list_field(ast, "cases") {
                        grower.add_statement(&case["body"], NodeSlot::Body, id);
                    }
                })
            }
            "YulFunctionDefinition" => self.add_yul_function(ast, parent),
            _ => {
                self.add_unit(ast, slot, parent);
            }
        }
    }

    fn add_if(&mut self, ast: &Value, slot: NodeSlot, parent: NodeId) {
        let (yes, no) = match node_type(ast) {
            "YulIf" => (&ast["body"], &Value::Null),
            _ => (&ast["trueBody"], &ast["falseBody"]),
        };
        self.add_compound(ast, StatementKind::If, slot, parent, |grower, id| {
            let head = grower.add_unit(&ast["condition"], NodeSlot::Head, id);
            grower.add_statement(yes, NodeSlot::Body, id);
            grower.add_statement(no, NodeSlot::Body, id);
            if let Some(unit) = head {
                grower.add_decision(ast, DecisionKind::If, unit, yes, no);
            }
        });
    }

    fn add_loop(&mut self, ast: &Value, slot: NodeSlot, parent: NodeId) {
        let (start, step) = match node_type(ast) {
            "YulForLoop" => (&ast["pre"], &ast["post"]),
            _ => (&ast["initializationExpression"], &ast["loopExpression"]),
        };
        self.add_compound(ast, StatementKind::Loop, slot, parent, |grower, id| {
            grower.add_statement(start, NodeSlot::Start, id);
            let body_first = node_type(ast) == "DoWhileStatement";
            let body = |grower: &mut Self| grower.add_statement(&ast["body"], NodeSlot::Body, id);
            if body_first {
                body(grower);
            }
            let head = grower.add_unit(&ast["condition"], NodeSlot::Head, id);
            if !body_first {
                body(grower);
            }
            grower.add_statement(step, NodeSlot::Step, id);
            if let Some(unit) = head {
                grower.add_decision(ast, DecisionKind::Loop, unit, &ast["body"], &Value::Null);
            }
        });
    }

    /// Adds an assembly function, which can be called from anywhere in its block.
    fn add_yul_function(&mut self, ast: &Value, parent: NodeId) {
        let Some(id) = self.open_node(ast, StatementKind::Function, NodeSlot::Item, Some(parent))
        else {
            return;
        };
        self.tree.nodes[id].function = id;
        self.add_statement(&ast["body"], NodeSlot::Item, id);
        self.close_node(id);
        self.add_routine(id, text_field(ast, "name").to_owned(), RoutineRole::Internal, ast);
    }

    fn add_compound(
        &mut self,
        ast: &Value,
        kind: StatementKind,
        slot: NodeSlot,
        parent: NodeId,
        inside: impl FnOnce(&mut Self, NodeId),
    ) {
        if let Some(id) = self.open_node(ast, kind, slot, Some(parent)) {
            inside(self, id);
            self.close_node(id);
        }
    }

    fn add_unit(&mut self, ast: &Value, slot: NodeSlot, parent: NodeId) -> Option<NodeId> {
        let id = self.open_node(ast, StatementKind::Unit, slot, Some(parent))?;
        if node_type(ast) == "PlaceholderStatement" {
            self.tree.names.placeholders.push(id);
        }
        self.scan_expression(ast, id);
        self.close_node(id);
        Some(id)
    }

    /// Scans an expression of a unit for decisions and mentioned names.
    fn scan_expression(&mut self, ast: &Value, unit: NodeId) {
        match ast {
            Value::Array(items) => items.iter().for_each(|item| self.scan_expression(item, unit)),
            Value::Object(fields) => {
                self.scan_decision(ast, unit);
                self.add_mention(ast, unit);
                fields.values().for_each(|field| self.scan_expression(field, unit));
            }
            _ => {}
        }
    }

    fn scan_decision(&mut self, ast: &Value, unit: NodeId) {
        let none = &Value::Null;
        match (node_type(ast), text_field(ast, "operator")) {
            ("Conditional", _) => {
                let (yes, no) = (&ast["trueExpression"], &ast["falseExpression"]);
                self.add_decision(ast, DecisionKind::Ternary, unit, yes, no);
            }
            ("BinaryOperation", "&&") => {
                self.add_decision(ast, DecisionKind::And, unit, &ast["rightExpression"], none);
            }
            ("BinaryOperation", "||") => {
                self.add_decision(ast, DecisionKind::Or, unit, none, &ast["rightExpression"]);
            }
            ("FunctionCall", _) => {
                let called = &ast["expression"];
                // Built-in functions have negative ids; a contract may declare a function of the same name.
                let built_in = called["referencedDeclaration"].as_i64().is_none_or(|id| id < 0);
                if built_in && matches!(text_field(called, "name"), "require" | "assert") {
                    self.add_decision(ast, DecisionKind::Require, unit, none, none);
                }
            }
            _ => {}
        }
    }

    fn add_decision(
        &mut self,
        ast: &Value,
        kind: DecisionKind,
        unit: NodeId,
        yes: &Value,
        no: &Value,
    ) {
        let Some(extent) = self.parse_extent(ast) else { return };
        let (yes, no) = (self.parse_extent(yes), self.parse_extent(no));
        let line = self.lines.line_at(extent.start);
        self.tree.decisions.push(BranchDecision { extent, kind, unit, yes, no, line });
    }

    fn add_mention(&mut self, ast: &Value, unit: NodeId) {
        let name = match node_type(ast) {
            "Identifier" | "YulIdentifier" => text_field(ast, "name"),
            "MemberAccess" => text_field(ast, "memberName"),
            _ => return,
        };
        let name = self.tree.names.intern(name);
        self.tree.nodes[unit].mentions.push(name);
    }

    /// Appends a node without descendants. Returns `None` if the AST node has no valid `src`.
    fn open_node(
        &mut self,
        ast: &Value,
        kind: StatementKind,
        slot: NodeSlot,
        parent: Option<NodeId>,
    ) -> Option<NodeId> {
        let extent = self.parse_extent(ast)?;
        let id = self.tree.nodes.len();
        let function = parent.map_or(id, |parent| self.tree.nodes[parent].function);
        let line = self.lines.line_at(extent.start);
        let mentions = Vec::new();
        self.tree.nodes.push(StatementNode {
            extent,
            kind,
            slot,
            parent,
            end: id + 1,
            function,
            exit: parse_exit(ast),
            mentions,
            line,
        });
        Some(id)
    }

    /// Ends a node: all nodes added since `open_node` are its descendants.
    fn close_node(&mut self, id: NodeId) {
        self.tree.nodes[id].end = self.tree.nodes.len();
    }

    fn parse_extent(&self, ast: &Value) -> Option<SourceExtent> {
        let mut numbers = ast["src"].as_str()?.split(':').map(|field| field.parse::<u32>().ok());
        let (start, length) = (numbers.next()??, numbers.next()??);
        Some(SourceExtent { source: self.source, start, end: start.saturating_add(length) })
    }
}

/// Hashes the parts of an AST that determine the bytecode: node types, operators, literals and member names.
fn hash_shape(ast: &Value, hasher: &mut DefaultHasher) {
    match ast {
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash_shape(item, hasher));
        }
        Value::Object(fields) => {
            for key in ["nodeType", "operator", "value", "memberName"] {
                ast[key].as_str().hash(hasher);
            }
            fields.values().for_each(|field| hash_shape(field, hasher));
        }
        _ => {}
    }
}

fn parse_exit(ast: &Value) -> UnitExit {
    let called = text_field(&ast["expression"]["expression"], "name");
    match node_type(ast) {
        "Return" | "YulLeave" => UnitExit::Return,
        "RevertStatement" => UnitExit::Revert,
        "ExpressionStatement" if called == "revert" => UnitExit::Revert,
        _ => UnitExit::None,
    }
}

fn node_type(ast: &Value) -> &str {
    text_field(ast, "nodeType")
}

fn text_field<'a>(ast: &'a Value, key: &str) -> &'a str {
    ast[key].as_str().unwrap_or_default()
}

fn list_field<'a>(ast: &'a Value, key: &str) -> &'a [Value] {
    ast[key].as_array().map(Vec::as_slice).unwrap_or_default()
}
