#include <array>
#include <utility>

#include "scalecalc/network.hpp"

namespace scalecalc {
namespace {

template <class Kind>
using Names = std::vector<std::pair<std::string, Kind>>;

const Names<Placement>& placements() {
  static const Names<Placement> all = {
      {"post", Placement::post},         {"pre", Placement::pre},
      {"res-post", Placement::res_post}, {"sandwich", Placement::sandwich},
      {"sub-ln", Placement::sub_ln},     {"none", Placement::none}};
  return all;
}

const Names<NormKind>& norms() {
  static const Names<NormKind> all = {
      {"layernorm", NormKind::layernorm}, {"rmsnorm", NormKind::rmsnorm}, {"none", NormKind::none}};
  return all;
}

const Names<Distribution>& distributions() {
  static const Names<Distribution> all = {{"normal", Distribution::normal},
                                          {"uniform", Distribution::uniform},
                                          {"truncated_normal", Distribution::truncated_normal},
                                          {"orthogonal", Distribution::orthogonal}};
  return all;
}

template <class Kind>
std::vector<std::string> names_of(const Names<Kind>& all) {
  std::vector<std::string> names;
  for (const auto& [name, kind] : all) names.push_back(name);
  return names;
}

template <class Kind>
std::string name_of(const Names<Kind>& all, Kind wanted) {
  for (const auto& [name, kind] : all)
    if (kind == wanted) return name;
  return {};
}

template <class Kind>
Kind by_name(const Names<Kind>& all, const char* what, std::string_view wanted,
             const std::string& where) {
  for (const auto& [name, kind] : all)
    if (name == wanted) return kind;
  throw unknown_name(what, wanted, names_of(all), where);
}

}  // namespace

std::string to_string(Placement placement) {
  return name_of(placements(), placement);
}
std::string to_string(NormKind norm) {
  return name_of(norms(), norm);
}
std::string to_string(Distribution distribution) {
  return name_of(distributions(), distribution);
}

/// Placements that are known by name but laid out by no rule yet are told from misspelt ones.
Placement placement_from(std::string_view name, const std::string& where) {
  static constexpr std::array<std::string_view, 5> later = {"resi-dual", "rezero", "skipinit",
                                                            "fixup", "branchnorm"};
  for (const std::string_view known : later) {
    if (name == known)
      throw Error(ErrorKind::input, "placement '" + std::string(name) + "' is not computed yet",
                  where, "use post, pre, res-post, sandwich, sub-ln or none");
  }
  return by_name(placements(), "placement", name, where);
}

NormKind norm_from(std::string_view name, const std::string& where) {
  return by_name(norms(), "norm", name, where);
}

Distribution distribution_from(std::string_view name, const std::string& where) {
  return by_name(distributions(), "distribution", name, where);
}

const std::vector<std::string>& placement_names() {
  static const std::vector<std::string> names = names_of(placements());
  return names;
}

bool has_final_norm(Placement placement) {
  return placement != Placement::post && placement != Placement::none;
}

}  // namespace scalecalc
