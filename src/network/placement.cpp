#include "network/parts.hpp"
#include "network/validate.hpp"

namespace scalecalc {
namespace {

/// The scalars in front of the skip and of the branch.
struct Scalars {
  Expr skip = 1, branch = 1;
};

Scalars scalars_of(const ModelSpec& spec) {
  const Expr alpha = Expr::symbol("alpha");
  switch (spec.placement) {
    case Placement::post:
    case Placement::pre:
    // Loshchilov et al. 2024: (1-a) x + a Norm(F(x)) is a times this at alpha = 1/a - 1.
    case Placement::ngpt:
    case Placement::none: return {alpha, 1};
    case Placement::res_post:
    case Placement::sandwich: return {1, 1 / alpha};
    // Liu et al. 2023: the branch grows from 0 to 1 by the ramp; at ramp a this is post placement
    // with alpha = 1/a.
    case Placement::branchnorm: return {1, 1 / alpha};
    // Bachlechner et al. 2020; De and Smith 2020: the scalar starts at 0 and is trained.
    case Placement::rezero:
    case Placement::skipinit: return {1, 0};
    case Placement::sub_ln:
    case Placement::resi_dual:
    case Placement::fixup: break;
  }
  return {};
}

}  // namespace

Residual plain_residual(const ModelSpec& spec, const Bindings& values) {
  Scalars scalars = scalars_of(spec);
  if (spec.ramp != 1) scalars.branch = Expr(Rational::shortest(spec.ramp)) * scalars.branch;
  Residual residual;
  residual.skip = evaluate(scalars.skip, values);
  residual.branch = evaluate(scalars.branch, values);
  residual.skip_formula = scalars.skip;
  residual.branch_formula = scalars.branch;
  residual.trainable_branch =
      spec.placement == Placement::rezero || spec.placement == Placement::skipinit;
  if (spec.kind != ModelSpec::Kind::transformer || spec.layer_scale == 0) return residual;
  residual.branch = spec.layer_scale;
  residual.branch_formula = Expr(Rational::shortest(spec.layer_scale));
  residual.trainable_branch = true;
  residual.scale_features = spec.width;
  return residual;
}

std::vector<Layer> Parts::normed(const std::string& path, std::vector<Layer> body,
                                 double scale) const {
  const auto norm_first = [&] {
    Norm first = norm(path + ".norm", spec_.width);
    first.scale = scale;
    body.insert(body.begin(), {std::move(first)});
  };
  switch (spec_.placement) {
    case Placement::pre:
    case Placement::sub_ln: norm_first(); break;
    case Placement::res_post: body.push_back({norm(path + ".norm", spec_.width)}); break;
    case Placement::sandwich:
      norm_first();
      body.push_back({norm(path + ".out_norm", spec_.width)});
      break;
    case Placement::ngpt: body.push_back({norm(path + ".out_norm", spec_.width)}); break;
    case Placement::post:
    case Placement::branchnorm:
    case Placement::resi_dual:
    case Placement::rezero:
    case Placement::skipinit:
    case Placement::fixup:
    case Placement::none: break;
  }
  return body;
}

Residual Parts::residual(const std::string& path, std::vector<Layer> body) const {
  Residual sum = residual_;
  sum.path = path;
  sum.body = std::move(body);
  switch (spec_.placement) {
    case Placement::post:
    case Placement::branchnorm:
    case Placement::ngpt:
    case Placement::resi_dual: sum.norm = norm(path + ".norm", spec_.width); break;
    case Placement::pre:
    case Placement::sub_ln:
    case Placement::res_post:
    case Placement::sandwich:
    case Placement::rezero:
    case Placement::skipinit:
    case Placement::fixup:
    case Placement::none: break;
  }
  return sum;
}

}  // namespace scalecalc
