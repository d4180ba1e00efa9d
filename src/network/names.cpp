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
      {"sub-ln", Placement::sub_ln},     {"resi-dual", Placement::resi_dual},
      {"rezero", Placement::rezero},     {"skipinit", Placement::skipinit},
      {"fixup", Placement::fixup},       {"branchnorm", Placement::branchnorm},
      {"none", Placement::none}};
  return all;
}

const Names<NormKind>& norms() {
  static const Names<NormKind> all = {
      {"layernorm", NormKind::layernorm},       {"rmsnorm", NormKind::rmsnorm},
      {"scalenorm", NormKind::scalenorm},       {"batchnorm", NormKind::batchnorm},
      {"instancenorm", NormKind::instancenorm}, {"none", NormKind::none}};
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

Placement placement_from(std::string_view name, const std::string& where) {
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
