#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "random_models.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/moments.hpp"

/// Two predictions of networks that have layers in common.
namespace scalecalc::random_models {

/// Nothing of a model that is refused: what explodes, and what no rule covers.
inline std::optional<Trace> trace_of(const ModelSpec& spec) {
  try {
    return propagate(build_network(spec));
  } catch (const Error&) {
    return std::nullopt;
  }
}

inline constexpr std::pair<const char*, Figure Site::*> site_figures[] = {
    {"second", &Site::second},
    {"cross", &Site::cross},
    {"grad_second", &Site::grad_second},
    {"grad_cross", &Site::grad_cross}};

/// What compare(where, a, b, scale) says of every figure that both have by one path. `scale`: the
/// second moment that a's is, or is a cross of.
template <class Compare>
std::string compare_shared(const Trace& one, const Trace& other, const Compare& compare) {
  std::map<std::string, const Site*> sites;
  std::map<std::string, const Figure*> gradients;
  for (const Site& site : other.sites) sites[site.path] = &site;
  for (const auto& parameter : other.parameters) gradients[parameter.path] = &parameter.grad_second;
  std::string out;
  for (const Site& a : one.sites) {
    const auto found = sites.find(a.path);
    if (found == sites.end()) continue;
    for (const auto& [name, figure] : site_figures) {
      const Figure& scale = std::string(name).rfind("grad", 0) == 0 ? a.grad_second : a.second;
      out += compare(a.path + " " + name, a.*figure, found->second->*figure, scale.value);
    }
  }
  for (const auto& parameter : one.parameters)
    if (const auto found = gradients.find(parameter.path); found != gradients.end())
      out += compare(parameter.path, parameter.grad_second, *found->second,
                     parameter.grad_second.value);
  return out;
}

}  // namespace scalecalc::random_models
