#pragma once

#include "scalecalc/audit.hpp"

namespace scalecalc::audit_room {

/// Fills in findings, conclusions and remarks from the parameters, and whether the audit passed.
void summarise(const ModelSpec& spec, Audit& audit);
/// The same where no size of a model can be named.
void summarise(Audit& audit);

/// Adds the conclusion that all tensors of one rule are off by one factor: that a config said
/// another initializer_range, for one.
void find_common_std(Audit& audit);

}  // namespace scalecalc::audit_room
