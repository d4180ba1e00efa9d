#include "moments/trace_of.hpp"

#include <cmath>

namespace scalecalc::moments {
namespace {

struct HasMask {
  bool operator()(const Attention& layer) const { return layer.causal; }
  bool operator()(const Residual& layer) const {
    return is_causal(layer.body) || is_causal(layer.shortcut);
  }
  bool operator()(const DualStream& layer) const {
    for (const Residual& sublayer : layer.sublayers)
      if ((*this)(sublayer)) return true;
    return false;
  }
  template <class Op>
  bool operator()(const Op&) const {
    return false;
  }
};

Figure figure(double value, double scale, double error, double truncation) {
  return {value, std::fabs(scale) * error, std::fabs(scale) * truncation};
}

void add_gradient(Site& site, const SiteRecord<double>& from, bool has_cross) {
  const double g = from.gradient.second;
  site.grad_second = figure(g, g, from.grad_error.second, from.grad_truncation.second);
  if (has_cross)
    site.grad_cross =
        figure(from.gradient.cross, g, from.grad_error.cross, from.grad_truncation.cross);
  site.grad_spread = from.grad_spread.all;
}

}  // namespace

bool is_causal(const std::vector<Layer>& layers) {
  for (const Layer& layer : layers)
    if (std::visit(HasMask{}, layer.op)) return true;
  return false;
}

Site site_of(const SiteRecord<double>& from, bool backward) {
  Site site;
  site.path.reserve(from.path->size() + 4);
  site.path = *from.path;
  site.path += from.suffix;
  site.kind = from.kind;
  site.width = from.width;
  site.tokens = from.tokens;
  const double m = from.x.second;
  const bool has_cross = from.tokens > 1;
  site.mean = figure(from.x.mean, std::sqrt(m), from.error.second, from.truncation.second);
  site.second = figure(m, m, from.error.second, from.truncation.second);
  if (has_cross) site.cross = figure(from.x.cross, m, from.error.cross, from.truncation.cross);
  if (backward) add_gradient(site, from, has_cross);
  site.spread = from.spread.all;
  site.second_finite = m * (1 + from.spread.shift);
  site.second_typical = site.second_finite * std::exp(-from.spread.all / 2);
  return site;
}

ParameterMoments parameter_of(const ParameterRecord<double>& from, bool backward) {
  ParameterMoments made;
  made.path = *from.path + from.suffix;
  made.rows = from.rows;
  made.columns = from.columns;
  made.second = {from.second, 0, 0};
  if (backward) {
    made.grad_second = figure(from.gradient, from.gradient, from.error, from.truncation);
    made.grad_spread = from.spread;
  }
  return made;
}

}  // namespace scalecalc::moments
