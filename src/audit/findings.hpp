#pragma once

#include "scalecalc/audit.hpp"

namespace scalecalc::audit_room {

/// Fills in findings, conclusions and remarks from the parameters, and whether the audit passed.
void summarise(const ModelSpec& spec, Audit& audit);
/// The same where no size of a model can be named.
void summarise(Audit& audit);

}  // namespace scalecalc::audit_room
