//! Combines two resource providers into one. Nesting combines any number.

use std::collections::HashSet;
use std::sync::Arc;

use contract::{
    CallContext, Constraints, ErrorCode, Resource, ResourceContent, ResourceProvider,
    ResourceTemplate, ToolError,
};

/// Two providers combined. The first takes precedence; the second handles addresses that the first does not have.
pub(super) struct JoinedResources {
    pub(super) first: Arc<dyn ResourceProvider>,
    pub(super) second: Arc<dyn ResourceProvider>,
}

impl JoinedResources {
    /// Returns the provider that offers the template.
    fn provider_of_template(&self, template: &str) -> &dyn ResourceProvider {
        let is_listed = |provider: &dyn ResourceProvider| {
            provider.list_templates().iter().any(|it| it.uri_template == template)
        };
        if is_listed(&*self.first) { &*self.first } else { &*self.second }
    }
}

impl ResourceProvider for JoinedResources {
    fn list_resources(&self) -> Vec<Resource> {
        [self.first.list_resources(), self.second.list_resources()].concat()
    }

    fn list_templates(&self) -> Vec<ResourceTemplate> {
        [self.first.list_templates(), self.second.list_templates()].concat()
    }

    fn constraints(&self) -> Constraints {
        merge_constraints(&self.first.constraints(), self.second.constraints())
    }

    fn read_resource(&self, uri: &str, ctx: &CallContext) -> Result<ResourceContent, ToolError> {
        match self.first.read_resource(uri, ctx) {
            Err(error) if error.code == ErrorCode::NotFound => self.second.read_resource(uri, ctx),
            answer => answer,
        }
    }

    fn complete_variable(&self, template: &str, variable: &str, typed: &str) -> Vec<String> {
        self.provider_of_template(template).complete_variable(template, variable, typed)
    }

    fn has_revisions(&self) -> bool {
        self.first.has_revisions() || self.second.has_revisions()
    }

    fn resource_revision(&self, uri: &str) -> Option<u64> {
        self.first.resource_revision(uri).or_else(|| self.second.resource_revision(uri))
    }
}

/// Returns an address or a template that both providers offer, if any.
pub(super) fn find_shared_address(
    first: &dyn ResourceProvider,
    second: &dyn ResourceProvider,
) -> Option<String> {
    let addresses = |provider: &dyn ResourceProvider| {
        let fixed = provider.list_resources().into_iter().map(|it| it.uri);
        let families = provider.list_templates().into_iter().map(|it| it.uri_template);
        fixed.chain(families).collect::<Vec<_>>()
    };
    let known: HashSet<_> = addresses(first).into_iter().collect();
    addresses(second).into_iter().find(|address| known.contains(address))
}

/// Returns constraints that allow what either provider allows and require what either provider requires.
pub(super) fn merge_constraints(first: &Constraints, second: Constraints) -> Constraints {
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
