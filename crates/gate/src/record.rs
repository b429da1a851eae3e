//! The rows that the gate writes into the journal.

use fumehood_core::consent::{ROW_DECISION, Surface};
use fumehood_core::event::Denial;
use fumehood_core::receipt::{Opening, ROW_CLOSED, ROW_OPEN};
use fumehood_core::tool::Tier;
use fumehood_core::{AgentLabel, Binding, CallId, Json, ProposalId, Receipt, RunId, ToolName};

use crate::ports::{Durable, Journal, Outage};

/// Somebody said yes or no.
pub(crate) struct Decision<'a> {
    pub(crate) id: Option<ProposalId>,
    pub(crate) call: CallId,
    pub(crate) run: RunId,
    pub(crate) agent: &'a AgentLabel,
    pub(crate) tool: &'a ToolName,
    pub(crate) answer: Result<Surface, Denial>,
    pub(crate) binding: Option<Binding>,
}

impl Decision<'_> {
    /// Soon: a yes is followed by an opened record before anything starts, and that is there at once, with all before it.
    pub(crate) fn write(&self, journal: &dyn Journal) -> Result<(), Outage> {
        let text = |text: &dyn core::fmt::Display| Json::String(text.to_string());
        let optional = |value: Option<String>| value.map_or(Json::Null, Json::String);
        let decision = if self.answer.is_ok() { "approved" } else { "denied" };
        let fields = [
            ("id", optional(self.id.map(|id| id.to_string()))),
            ("call", text(&self.call)),
            ("run", text(&self.run)),
            ("agent", text(&self.agent.as_str())),
            ("tool", text(&self.tool.as_str())),
            ("decision", text(&decision)),
            ("surface", optional(self.answer.ok().map(|surface| surface.as_str().to_owned()))),
            ("denial", optional(self.answer.err().map(|denial| denial.as_str().to_owned()))),
            ("binding", optional(self.binding.map(|binding| binding.to_string()))),
        ];
        let row = Json::Object(fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect());
        journal.append(ROW_DECISION, &row.to_bytes(), Durable::Soon)
    }
}

pub(crate) fn open(journal: &dyn Journal, opening: &Opening) -> Result<(), Outage> {
    let when = match opening.tier {
        Tier::Script | Tier::Checked => Durable::Now,
        Tier::Remote | Tier::Module | Tier::Isolated => Durable::Soon,
    };
    journal.append(ROW_OPEN, &opening.to_json(), when)
}

pub(crate) fn close(journal: &dyn Journal, receipt: &Receipt) -> Result<(), Outage> {
    // Changed files that no record speaks of would be worse than a slow end.
    let when = if receipt.closing().applied.is_empty() { Durable::Soon } else { Durable::Now };
    journal.append(ROW_CLOSED, &receipt.to_json(), when)
}
