#include "moments/trace_of.hpp"

#include <cmath>
#include <string_view>

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

/// With one allocation.
std::string joined(const std::string& path, std::string_view suffix) {
  std::string text;
  text.reserve(path.size() + suffix.size());
  text += path;
  text += suffix;
  return text;
}

struct FindActivation {
  const std::function<bool(const std::string&)>& is_sought;
  std::string operator()(const ActivationLayer& layer) const { return one(layer.function); }
  std::string operator()(const Gated& layer) const { return one(layer.function); }
  std::string operator()(const Residual& layer) const {
    const std::string found = find_activation(layer.body, is_sought);
    return found.empty() ? find_activation(layer.shortcut, is_sought) : found;
  }
  std::string operator()(const DualStream& layer) const {
    for (const Residual& sublayer : layer.sublayers)
      if (std::string found = (*this)(sublayer); !found.empty()) return found;
    return {};
  }
  template <class Op>
  std::string operator()(const Op&) const {
    return {};
  }
  std::string one(const std::string& name) const { return is_sought(name) ? name : std::string(); }
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
  if (from.has_grad_shift) site.grad_second_finite = g * (1 + from.grad_spread.shift);
}

}  // namespace

bool is_causal(const std::vector<Layer>& layers) {
  for (const Layer& layer : layers)
    if (std::visit(HasMask{}, layer.op)) return true;
  return false;
}

std::string find_activation(const std::vector<Layer>& layers,
                            const std::function<bool(const std::string&)>& is_sought) {
  for (const Layer& layer : layers)
    if (std::string found = std::visit(FindActivation{is_sought}, layer.op); !found.empty())
      return found;
  return {};
}

void fill(Site& site, const SiteRecord<double>& from, bool backward) {
  site.path = joined(*from.path, from.suffix);
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
  if (from.spread.far > 0) return;
  site.second_finite = m * (1 + from.spread.shift);
  site.second_typical = site.second_finite * std::exp(-from.spread.all / 2);
}

void fill(ParameterMoments& parameter, const ParameterRecord<double>& from, bool backward) {
  parameter.path = joined(*from.path, from.suffix);
  parameter.rows = from.rows;
  parameter.columns = from.columns;
  parameter.second = {from.second, 0, 0};
  if (!backward) return;
  parameter.grad_second = figure(from.gradient, from.gradient, from.error, from.truncation);
  parameter.grad_spread = from.spread;
  if (from.grad_shift) parameter.grad_second_finite = from.gradient * (1 + *from.grad_shift);
}

}  // namespace scalecalc::moments
