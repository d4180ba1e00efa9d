#pragma once

#include "cli/json_form.hpp"

namespace scalecalc::cli {

/// What a command prints for lists of values, beside what it prints for single ones.
JsonForm with_lists(const JsonForm& single);
/// What a command prints that takes lists alone; `each` is a row's.
JsonForm lists_alone(const JsonForm& each);

}  // namespace scalecalc::cli
