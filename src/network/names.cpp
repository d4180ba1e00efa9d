#include <utility>

#include "network/field_values.hpp"
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
      {"ngpt", Placement::ngpt},         {"none", Placement::none}};
  return all;
}

const Names<NormKind>& norms() {
  static const Names<NormKind> all = {{"layernorm", NormKind::layernorm},
                                      {"rmsnorm", NormKind::rmsnorm},
                                      {"scalenorm", NormKind::scalenorm},
                                      {"batchnorm", NormKind::batchnorm},
                                      {"instancenorm", NormKind::instancenorm},
                                      {"dyt", NormKind::dyt},
                                      {"none", NormKind::none}};
  return all;
}

const Names<Distribution>& distributions() {
  static const Names<Distribution> all = {{"normal", Distribution::normal},
                                          {"uniform", Distribution::uniform},
                                          {"truncated_normal", Distribution::truncated_normal},
                                          {"orthogonal", Distribution::orthogonal}};
  return all;
}

const Names<ModelSpec::Kind>& kinds() {
  static const Names<ModelSpec::Kind> all = {{"transformer", ModelSpec::Kind::transformer},
                                             {"mlp", ModelSpec::Kind::mlp},
                                             {"layers", ModelSpec::Kind::layers}};
  return all;
}

const Names<InputKind>& inputs() {
  static const Names<InputKind> all = {{"gaussian", InputKind::gaussian},
                                       {"tokens", InputKind::tokens}};
  return all;
}

const Names<Loss>& losses() {
  static const Names<Loss> all = {{"cross-entropy", Loss::cross_entropy}, {"mse", Loss::mse}};
  return all;
}

const Names<Reduction>& reductions() {
  static const Names<Reduction> all = {{"sum", Reduction::sum}, {"mean", Reduction::mean}};
  return all;
}

const Names<Pooling>& poolings() {
  static const Names<Pooling> all = {{"none", Pooling::none},
                                     {"mean", Pooling::mean},
                                     {"class", Pooling::class_token},
                                     {"last", Pooling::last_token}};
  return all;
}

const Names<AdaptiveNorm>& modulations() {
  static const Names<AdaptiveNorm> all = {{"none", AdaptiveNorm::none},
                                          {"adaln", AdaptiveNorm::adaln},
                                          {"adaln-zero", AdaptiveNorm::adaln_zero}};
  return all;
}

const Names<RotaryScaling>& scalings() {
  static const Names<RotaryScaling> all = {
      {"none", RotaryScaling::none},       {"linear", RotaryScaling::linear},
      {"dynamic", RotaryScaling::dynamic}, {"llama3", RotaryScaling::llama3},
      {"yarn", RotaryScaling::yarn},       {"longrope", RotaryScaling::longrope}};
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

std::string to_string(ModelSpec::Kind kind) {
  return name_of(kinds(), kind);
}
std::string to_string(InputKind kind) {
  return name_of(inputs(), kind);
}
std::string to_string(Loss loss) {
  return name_of(losses(), loss);
}
std::string to_string(Reduction reduction) {
  return name_of(reductions(), reduction);
}
std::string to_string(Pooling pooling) {
  return name_of(poolings(), pooling);
}
std::string to_string(AdaptiveNorm modulation) {
  return name_of(modulations(), modulation);
}
std::string to_string(RotaryScaling scaling) {
  return name_of(scalings(), scaling);
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

std::vector<std::string> known_names(ModelSpec::Kind) {
  return names_of(kinds());
}
std::vector<std::string> known_names(Placement) {
  return names_of(placements());
}
std::vector<std::string> known_names(NormKind) {
  return names_of(norms());
}
std::vector<std::string> known_names(Distribution) {
  return names_of(distributions());
}
std::vector<std::string> known_names(InputKind) {
  return names_of(inputs());
}
std::vector<std::string> known_names(Loss) {
  return names_of(losses());
}
std::vector<std::string> known_names(Reduction) {
  return names_of(reductions());
}
std::vector<std::string> known_names(Pooling) {
  return names_of(poolings());
}
std::vector<std::string> known_names(AdaptiveNorm) {
  return names_of(modulations());
}
std::vector<std::string> known_names(RotaryScaling) {
  return names_of(scalings());
}

void from_name(const std::string& name, const std::string&, std::string& value) {
  value = name;
}
void from_name(const std::string& name, const std::string& where, ModelSpec::Kind& value) {
  value = by_name(kinds(), "kind", name, where);
}
void from_name(const std::string& name, const std::string& where, Placement& value) {
  value = placement_from(name, where);
}
void from_name(const std::string& name, const std::string& where, NormKind& value) {
  value = norm_from(name, where);
}
void from_name(const std::string& name, const std::string& where, Distribution& value) {
  value = distribution_from(name, where);
}
void from_name(const std::string& name, const std::string& where, InputKind& value) {
  value = by_name(inputs(), "input kind", name, where);
}
void from_name(const std::string& name, const std::string& where, Loss& value) {
  value = by_name(losses(), "loss", name, where);
}
void from_name(const std::string& name, const std::string& where, Reduction& value) {
  value = by_name(reductions(), "reduction", name, where);
}
void from_name(const std::string& name, const std::string& where, Pooling& value) {
  value = by_name(poolings(), "pool", name, where);
}
void from_name(const std::string& name, const std::string& where, AdaptiveNorm& value) {
  value = by_name(modulations(), "modulation", name, where);
}
void from_name(const std::string& name, const std::string& where, RotaryScaling& value) {
  value = by_name(scalings(), "rotary_scaling", name, where);
}
void from_name(const std::string& name, const std::string& where, DropoutPlaces& value) {
  value = dropout_places_from(name, where);
}

const std::vector<std::string>& placement_names() {
  static const std::vector<std::string> names = names_of(placements());
  return names;
}

bool has_final_norm(Placement placement) {
  return placement != Placement::post && placement != Placement::ngpt &&
         placement != Placement::none;
}

}  // namespace scalecalc
