#pragma once

#include <string>

namespace scalecalc::names {

/// Whether a tensor of that name holds what no training changes, under any naming.
bool is_buffer(const std::string& name);

}  // namespace scalecalc::names
