#pragma once

#include "architectures/expression.hpp"

namespace scalecalc::architectures {

/// The fields of a model that `rope_parameters` asks for besides the base, as transformers reads
/// them: `original` is the config's own original_max_position_embeddings, `longest` its
/// max_position_embeddings. None without parameters, or of a rope_type that is not known. Throws
/// Error(input) for a key that the type asks for and has not, or that is no number.
Value rope_fields(const Value& parameters, const Value& original, const Value& longest);

}  // namespace scalecalc::architectures
