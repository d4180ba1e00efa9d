#pragma once

#include <optional>

#include "scalecalc/transfer.hpp"

/// What the named parametrisations say of multiplier and std of a tensor that grows on one axis of
/// shapes, and of the multiplier of a branch over depth.
namespace scalecalc {

/// How a tensor grows on one axis, and what leaves it.
struct Growth {
  Rational fan_in, fan_out;
  bool is_matrix = true;
  bool ends_in_logits = false;  ///< of a head, or a router
};

struct DefinedStart {
  Rational multiplier, std;
};

/// What a file says of them.
struct StartNumbers {
  std::optional<Rational> multiplier, std;
};

/// What is given, and of the rest the base's. Of "auto" the rest is solved for: sizes of 1, and
/// logits of fan_in^(-1/2), the largest that stay stable when features align with the head; with
/// nothing given the multiplier is 1. Vectors start at constants.
DefinedStart defined_start(const std::string& base, const Growth& growth,
                           const StartNumbers& given);

/// The branch's multiplier is r_L to this power; nothing: it is solved for.
std::optional<Rational> defined_branch(const std::string& base);

/// The power of r_L at which every order of a branch's change contributes: -1 with several matrices
/// in series; with one the variance at init binds as well as the sum of changes, -1/2.
Rational feature_change_power(int matrices);

}  // namespace scalecalc
