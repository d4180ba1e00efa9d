#pragma once

#include <cstdint>
#include <string>

#include "scalecalc/network.hpp"

/// A model at another width.
namespace scalecalc {

/// All that grows with the width, times that ratio: width, ffn, expert_ffn, shared_ffn, head_width
/// where it is given, of a list the widths of its layers but of a head without classes. Heads stay.
/// Throws Error(input) where one would be no integer.
void scale_width(ModelSpec& spec, double ratio, const std::string& where);
/// Of one size, which `what` names.
std::int64_t scaled_size(std::int64_t size, double ratio, const char* what,
                         const std::string& where);

}  // namespace scalecalc
