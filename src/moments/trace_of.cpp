#include "moments/trace_of.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>

#include "scalecalc/error.hpp"

namespace scalecalc::moments {
namespace {

void read(const std::vector<Layer>& layers, Contents& contents) {
  const auto inside = [&](const Residual& layer) {
    read(layer.body, contents);
    read(layer.shortcut, contents);
  };
  const auto note = [&]<class Op>(const Op& op) {
    if constexpr (std::is_same_v<Op, Residual>) {
      inside(op);
    } else if constexpr (std::is_same_v<Op, DualStream>) {
      for (const Residual& sublayer : op.sublayers) inside(sublayer);
    } else if constexpr (std::is_same_v<Op, Parallel>) {
      for (const std::vector<Layer>& branch : op.branches) read(branch, contents);
    } else if constexpr (std::is_same_v<Op, Experts>) {
      for (const std::vector<Layer>& expert : op.experts) read(expert, contents);
    } else if constexpr (std::is_same_v<Op, Encoder>) {
      read(op.layers, contents);
    } else if constexpr (std::is_same_v<Op, ConditionLayer>) {
      read(op.layers, contents);
      read(op.activated, contents);
    } else if constexpr (std::is_same_v<Op, Concat>) {
      read(op.body, contents);
    } else if constexpr (std::is_same_v<Op, Attention>) {
      ++contents.attentions;
      contents.causal |= op.causal;
      contents.alibi |= op.alibi != 0;
      contents.window |= op.window != 0;
      contents.relative |= op.relative.buckets > 0;
      contents.rotary |= op.rotary.width > 0;
    } else if constexpr (std::is_same_v<Op, Pool>) {
      contents.reads_last |= op.of == Pool::Of::last;
    } else if constexpr (std::is_same_v<Op, ClassTokens>) {
      contents.class_tokens |= op.count > 0;
    } else if constexpr (std::is_same_v<Op, ActivationLayer> || std::is_same_v<Op, Gated>) {
      std::vector<std::string>& names = contents.activations;
      if (std::find(names.begin(), names.end(), op.function) == names.end())
        names.push_back(op.function);
    }
  };
  for (const Layer& layer : layers) std::visit(note, layer.op);
}

/// With one allocation.
std::string joined(const std::string& path, std::string_view suffix) {
  std::string text;
  text.reserve(path.size() + suffix.size());
  text += path;
  text += suffix;
  return text;
}

Figure figure(double value, double scale, double error, double truncation) {
  return {value, std::fabs(scale) * error, std::fabs(scale) * truncation};
}

void add_gradient(Site& site, const SiteRecord<double>& from, bool has_cross) {
  const double g = from.gradient.second;
  site.grad_second = figure(g, g, from.grad_error.second, from.grad_truncation.second);
  site.grad_between = from.gradient.between;
  if (has_cross)
    site.grad_cross =
        figure(from.gradient.cross, g, from.grad_error.cross, from.grad_truncation.cross);
  site.grad_spread = from.grad_spread.batch_variance;
  if (from.has_grad_shift) site.grad_second_finite = g * (1 + from.grad_spread.mean_shift);
}

}  // namespace

Contents contents_of(const std::vector<Layer>& layers) {
  Contents contents;
  read(layers, contents);
  return contents;
}

void fill(Site& site, const SiteRecord<double>& from, bool backward) {
  site.path = joined(*from.path, from.suffix);
  site.kind = from.kind;
  site.width = from.width;
  site.tokens = from.tokens;
  const double m = from.x.second;
  const bool has_cross = from.tokens > 1;
  site.mean = figure(from.x.mean, std::sqrt(m), from.error.second,
                     from.truncation.second + from.truncation.mean);
  site.second = figure(m, m, from.error.second, from.truncation.second);
  if (has_cross) site.cross = figure(from.x.cross, m, from.error.cross, from.truncation.cross);
  site.between = from.x.between;
  if (backward) add_gradient(site, from, has_cross);
  site.spread = from.spread.batch_variance;
  if (from.spread.log_range > 0) return;
  site.second_finite = m * (1 + from.spread.mean_shift);
  site.second_typical = site.second_finite * std::exp(-from.spread.batch_variance / 2);
}

void fill(ParameterMoments& parameter, const ParameterRecord<double>& from, bool backward) {
  parameter.path = joined(*from.path, from.suffix);
  parameter.rows = from.rows;
  parameter.columns = from.columns;
  parameter.second = {from.second, 0, 0};
  if (!backward) return;
  if (!std::isfinite(from.gradient) || std::isnan(from.gradient * from.truncation))
    throw Error(ErrorKind::input,
                fmt::format("the gradient's second moment is no number: {}", from.gradient),
                parameter.path, "it overflows; fewer layers or a smaller gain");
  parameter.grad_second = figure(from.gradient, from.gradient, from.error, from.truncation);
  parameter.grad_spread = from.spread;
  if (from.grad_shift) parameter.grad_second_finite = from.gradient * (1 + *from.grad_shift);
}

}  // namespace scalecalc::moments
