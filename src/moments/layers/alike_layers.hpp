#pragma once

#include <algorithm>
#include <cstddef>
#include <type_traits>
#include <variant>
#include <vector>

#include "moments/ledger.hpp"
#include "scalecalc/layers.hpp"

/// Which layers have the same moments as others: all but their paths and draws are equal.
namespace scalecalc::moments {

inline bool are_alike(const Linear& a, const Linear& b) {
  return a.role == b.role && a.fan_in == b.fan_in && a.fan_out == b.fan_out && a.gain == b.gain &&
         a.std == b.std && a.distribution == b.distribution && a.bias == b.bias &&
         a.bias_std == b.bias_std && a.in_branch == b.in_branch && a.multiplier == b.multiplier &&
         a.weight_norm == b.weight_norm && !a.tied && !b.tied;
}
inline bool are_alike(const Gated& a, const Gated& b) {
  return a.function == b.function && are_alike(a.gate, b.gate) && are_alike(a.in, b.in);
}
inline bool are_alike(const ActivationLayer& a, const ActivationLayer& b) {
  return a.function == b.function;
}
/// Of what else a layer may be nothing is said.
template <class Op>
bool are_alike(const Op& /*a*/, const Op& /*b*/) {
  return false;
}
inline bool are_alike(const std::vector<Layer>& a, const std::vector<Layer>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Layer& s, const Layer& t) {
    return std::visit(
        [&](const auto& op) {
          const auto* other = std::get_if<std::decay_t<decltype(op)>>(&t.op);
          return other != nullptr && are_alike(op, *other);
        },
        s.op);
  });
}
/// Each is as the first.
inline bool are_alike(const std::vector<std::vector<Layer>>& all) {
  return std::all_of(all.begin(), all.end(),
                     [&](const std::vector<Layer>& each) { return are_alike(all.front(), each); });
}

inline void add_paths(const Linear& a, const Linear& b, SamePaths& to) {
  to.pairs.emplace_back(&a.path, &b.path);
}
inline void add_paths(const Gated& a, const Gated& b, SamePaths& to) {
  to.pairs.emplace_back(&a.path, &b.path);
  add_paths(a.gate, b.gate, to);
  add_paths(a.in, b.in, to);
}
inline void add_paths(const ActivationLayer& a, const ActivationLayer& b, SamePaths& to) {
  to.pairs.emplace_back(&a.path, &b.path);
}
template <class Op>
void add_paths(const Op& /*a*/, const Op& /*b*/, SamePaths& /*to*/) {}

/// Of layers that are alike.
inline SamePaths same_paths(const std::vector<Layer>& a, const std::vector<Layer>& b) {
  SamePaths made;
  for (std::size_t k = 0; k < a.size(); ++k)
    std::visit(
        [&](const auto& op) { add_paths(op, std::get<std::decay_t<decltype(op)>>(b[k].op), made); },
        a[k].op);
  return made;
}

}  // namespace scalecalc::moments
