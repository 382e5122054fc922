//! Two providers as one, and so any number of them.

use std::collections::HashSet;
use std::sync::Arc;

use contract::{
    CallContext, Code, Constraints, Resource, ResourceContent, ResourceTemplate, Resources,
    ToolError,
};

/// The first is asked first; what it does not have is the second's.
pub(super) struct Joined {
    pub(super) first: Arc<dyn Resources>,
    pub(super) second: Arc<dyn Resources>,
}

impl Joined {
    /// The one who offers the template.
    fn of_template(&self, template: &str) -> &dyn Resources {
        let is_listed = |provider: &dyn Resources| {
            provider.templates().iter().any(|it| it.uri_template == template)
        };
        if is_listed(&*self.first) { &*self.first } else { &*self.second }
    }
}

impl Resources for Joined {
    fn list(&self) -> Vec<Resource> {
        [self.first.list(), self.second.list()].concat()
    }

    fn templates(&self) -> Vec<ResourceTemplate> {
        [self.first.templates(), self.second.templates()].concat()
    }

    fn constraints(&self) -> Constraints {
        wider(&self.first.constraints(), self.second.constraints())
    }

    fn read(&self, uri: &str, ctx: &CallContext) -> Result<ResourceContent, ToolError> {
        match self.first.read(uri, ctx) {
            Err(error) if error.code == Code::NotFound => self.second.read(uri, ctx),
            answer => answer,
        }
    }

    fn complete(&self, template: &str, variable: &str, typed: &str) -> Vec<String> {
        self.of_template(template).complete(template, variable, typed)
    }

    fn has_changes(&self) -> bool {
        self.first.has_changes() || self.second.has_changes()
    }

    fn changes(&self, uri: &str) -> Option<u64> {
        self.first.changes(uri).or_else(|| self.second.changes(uri))
    }
}

/// An address or a template that both offer.
pub(super) fn shared_address(first: &dyn Resources, second: &dyn Resources) -> Option<String> {
    let addresses = |provider: &dyn Resources| {
        let fixed = provider.list().into_iter().map(|it| it.uri);
        let families = provider.templates().into_iter().map(|it| it.uri_template);
        fixed.chain(families).collect::<Vec<_>>()
    };
    let known: HashSet<_> = addresses(first).into_iter().collect();
    addresses(second).into_iter().find(|address| known.contains(address))
}

/// What is allowed by either, and what is asked for by either.
pub(super) fn wider(first: &Constraints, second: Constraints) -> Constraints {
    let access = match first.access == second.access {
        true => second.access,
        false => format!("{}; {}", first.access, second.access),
    };
    Constraints {
        access,
        approval: first.approval || second.approval,
        rate_per_minute: first.rate_per_minute.max(second.rate_per_minute),
        timeout: first.timeout.max(second.timeout),
        max_input_bytes: first.max_input_bytes.max(second.max_input_bytes),
        max_output_bytes: first.max_output_bytes.max(second.max_output_bytes),
        idempotent: first.idempotent && second.idempotent,
        open_world: first.open_world || second.open_world,
        audit_values: first.audit_values && second.audit_values,
        rules: [first.rules.clone(), second.rules].concat(),
        side_effects: second.side_effects,
    }
}
