#pragma once

#include <string>

#include "passes/check.hpp"

namespace scalecalc::passes {

/// Throw Error(input) naming `where`.
[[noreturn]] void refuse(const std::string& where, std::string message, std::string hint);
void check_size(const std::string& where, const char* name, std::int64_t value);
void check_number(const std::string& where, const char* name, double value, bool non_negative);
void check_multiple(const std::string& where, const char* name, std::int64_t value,
                    const char* of_name, std::int64_t of);
/// Of a layer's width that is not the one of the stream.
[[noreturn]] void mismatch(const std::string& where, std::int64_t expected, std::int64_t got);

/// Tokens of one sequence, and features of each.
struct Shape {
  std::int64_t tokens = 0, width = 0;
  bool operator==(const Shape&) const = default;
};

/// Follows the shape of the stream through the layers, adds to `checked` what they hold, and
/// returns the shape at the end. Throws Error(input) naming the layer that does not fit.
Shape check_layers(const Network& network, Checked& checked);

}  // namespace scalecalc::passes
