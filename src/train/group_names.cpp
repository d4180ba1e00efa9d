#include <utility>

#include "scalecalc/error.hpp"
#include "scalecalc/train.hpp"

namespace scalecalc {
namespace {

std::vector<TrainGroup> make_groups() {
  const Expr n = Expr::symbol("N"), quarter = Expr(1) / 4;
  std::vector<TrainGroup> groups = {
      {"none", "no norms", Placement::none},
      {"post", "Norm(x + F(x))", Placement::post},
      {"pre", "x + F(Norm(x))", Placement::pre},
      {"deepnorm", "Norm(alpha x + F(x)), alpha and lambda solved for the optimizer",
       Placement::post},
      {"deepnet", "the same with the published pair of a decoder (Wang et al. 2022)",
       Placement::post},
      {"res-post", "x + Norm(F(x))", Placement::res_post},
      {"sandwich", "x + Norm(F(Norm(x)))", Placement::sandwich},
      {"sub-ln", "pre, with a norm before the output projection", Placement::sub_ln},
      {"resi-dual", "post beside a stream without norms", Placement::resi_dual},
      {"rezero", "x + a F(x), a trained from 0", Placement::rezero},
      {"skipinit", "x + a F(x), a trained from 0", Placement::skipinit},
      {"fixup", "x + F(x), F ending in zeros", Placement::fixup},
      {"branchnorm", "Norm(x + ramp F(x)), the ramp growing from 0 to 1", Placement::branchnorm},
      {"realformer", "post, each attention adding the scores of the block before",
       Placement::post}};
  groups[3].alpha = groups[3].lambda = std::nullopt;
  groups[4].alpha = pow(2 * n, quarter);
  groups[4].lambda = pow(8 * n, -quarter);
  groups.back().residual_attention = true;
  for (TrainGroup& group : groups) group.ramp = group.placement == Placement::branchnorm;
  return groups;
}

constexpr std::string_view kRamp = "+ramp";

/// The same with a ramp.
TrainGroup with_ramp(TrainGroup group, const std::string& where) {
  if (group.ramp)
    throw Error(ErrorKind::input, "'" + group.name + "' has a ramp already", where,
                "leave +ramp out");
  if (group.placement == Placement::rezero || group.placement == Placement::skipinit)
    throw Error(ErrorKind::input,
                "the branches of '" + group.name + "' have a scalar that is trained from 0", where,
                "for example none+ramp");
  group.ramp = true;
  group.name += kRamp;
  group.title += ", a ramp from 0 to 1 in front of F";
  return group;
}

}  // namespace

const std::vector<TrainGroup>& train_groups() {
  static const std::vector<TrainGroup> groups = make_groups();
  return groups;
}

TrainGroup train_group(std::string_view name, const std::string& where) {
  const std::size_t at = name.find('@');
  std::string_view placement = name.substr(0, at);
  const bool is_ramped = placement.ends_with(kRamp);
  if (is_ramped) placement.remove_suffix(kRamp.size());
  std::vector<std::string> names;
  for (const TrainGroup& known : train_groups()) {
    names.push_back(known.name);
    if (known.name != placement) continue;
    TrainGroup group = is_ramped ? with_ramp(known, where) : known;
    if (at == std::string_view::npos) return group;
    group.dropout_place = dropout_places_from(name.substr(at + 1), where);
    group.name += "@" + to_string(*group.dropout_place);
    return group;
  }
  throw unknown_name("placement", placement, names, where);
}

}  // namespace scalecalc
