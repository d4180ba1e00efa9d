#pragma once

#include <memory>

#include "activation/impl.hpp"

namespace scalecalc::activation_room {

/// Pieces, slopes, breaks, special points and scales of an expression in x. Throws Error(input)
/// where it has no finite real value.
std::shared_ptr<Activation::Impl> analysed(std::string name, const Expr& expression);

}  // namespace scalecalc::activation_room
