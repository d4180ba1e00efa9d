#include "steps/walk.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>
#include <variant>

#include "scalecalc/error.hpp"
#include "steps/first_update.hpp"
#include "steps/operator_norm.hpp"

namespace scalecalc::steps {
namespace {

/// The chance that two tokens are the same word.
double word_collision(const Network& network, const Embedding& layer) {
  if (network.token_collision > 0) return network.token_collision;
  double total = 0, squares = 0;
  for (std::int64_t k = 1; k <= layer.vocab; ++k) {
    const double share = std::pow(static_cast<double>(k), -network.zipf);
    total += share;
    squares += share * share;
  }
  return squares / (total * total);
}

/// A name, or an expression in x.
Activation activation_of(const std::string& function) {
  const auto names = activation_names();
  const bool is_name = std::ranges::find(names, function) != names.end();
  return is_name ? Activation::named(function) : Activation::from_expression(function);
}

/// All samples read the one value.
Kernel one_for_all(const Samples& samples) {
  return kernel_of({1, 1, 1}, samples);
}

}  // namespace

double variance_of(const Linear& layer) {
  const double std = layer.std * layer.multiplier;
  return std * std;
}

double sampled_overlap(const Point& x, double width) {
  double product = 0;
  for (const FeatureClass& feature : x.classes()) {
    const double second = feature.mean * feature.mean + feature.variance;
    product += feature.share * second * second;
  }
  const Entries values = entries_of(x.values, x.samples);
  const double other = x.samples.tokens > 1 ? values.cross : values.between;
  return std::max(product - other * other, 0.0) / width;
}

Error no_rule(const std::string& path, const std::string& what) {
  return {ErrorKind::input, "the change by a step has no rule for " + what, path,
          "leave the step out, or measure it"};
}

Walk::Walk(const Network& network, const Trace& trace, const OptimizerOptions& options, int steps)
    : network_(network),
      trace_(trace),
      options_(options),
      steps_(steps),
      parameters_(parameters(network)) {
  if (parameters_.size() != trace.parameters.size())
    throw Error(ErrorKind::input, "the moments are those of another network", "trace",
                "propagate this network");
  if (network.logit_softcap != 0) throw no_rule("head", "logits behind a softcap");
  input_ = {static_cast<double>(network.sequence), static_cast<double>(network.batch)};
  for (std::size_t i = 0; i < trace.sites.size(); ++i) {
    const Site& at = trace.sites[i];
    sites_.emplace(at.path, i);
    made_.sites.push_back({at.path, at.kind, at.width, at.tokens, {0, 0, 0}, at.second.value});
  }
  double square = 0;
  for (std::size_t i = 0; i < trace.parameters.size(); ++i) {
    const ParameterMoments& at = trace.parameters[i];
    if (!at.grad_second.is_known())
      throw Error(ErrorKind::input, "a step needs the gradients, which are not known", at.path,
                  "propagate backwards too");
    indices_.emplace(at.path, i);
    const Figure start = norm_of_start(parameters_[i]);
    made_.parameters.push_back(
        {at.path, at.rows, at.columns, {0, 0, 0}, at.second.value, {}, start});
    square += at.grad_second.value * static_cast<double>(at.rows) * static_cast<double>(at.columns);
  }
  global_norm_ = std::sqrt(square);
}

FirstStep Walk::run() {
  Point x;
  x.samples = input_;
  if (network_.input == InputKind::gaussian) {
    x = arrive(site("input"), {}, input_);
    x.overlap_variance = sampled_overlap(x, static_cast<double>(network_.features));
  }
  const Point logits = run(network_.layers, x);
  const double samples = logits.samples.count();
  const double each = network_.reduction == Reduction::mean ? 1 / samples : 1;
  const StepSite& head = made_.sites.back();
  const double hessian = network_.loss == Loss::mse ? static_cast<double>(head.width)
                                                    : 1 - 1 / static_cast<double>(head.width);
  made_.loss_curvature = each * samples * hessian * head.change.value / 2;
  made_.loss_change.value = loss_change_;
  // Beside the first order stands the second, and the averages over features of each gradient.
  const double width = static_cast<double>(network_.layers.empty() ? 1 : smallest_width());
  made_.loss_change.truncation =
      made_.loss_curvature + std::fabs(loss_change_) * std::min(1.0, input_.count() / width);
  add_later_orders();
  assume();
  return std::move(made_);
}

/// Each step changes the gradient that the next one follows by as large a share as it moves the
/// sites: of k steps (k - 1)/2 k such shares of their sum, twice that of its square.
void Walk::add_later_orders() {
  const double steps = static_cast<double>(steps_);
  const double share = std::min(1.0, (1 - 1 / steps) * largest_move().relative);
  for (StepSite& at : made_.sites) at.change.truncation += at.change.value * share;
  made_.loss_change.truncation += std::fabs(loss_change_) * share;
}

Walk::Move Walk::largest_move() const {
  Move most{made_.sites.front().path, 0};
  for (const StepSite& at : made_.sites) {
    const double relative = at.second > 0 ? std::sqrt(at.change.value / at.second) : 0;
    if (relative > most.relative) most = {at.path, relative};
  }
  return most;
}

std::int64_t Walk::smallest_width() const {
  std::int64_t width = made_.sites.front().width;
  for (const StepSite& at : made_.sites) width = std::min(width, at.width);
  return std::max<std::int64_t>(width, 1);
}

void Walk::assume() {
  const auto [where, largest] = largest_move();
  constexpr double kSmall = 0.3;
  made_.assumptions.push_back({"first step", "every site moves by the first order of the step",
                               where, fmt::format("rms dx/rms x = {:.2g} is small", largest),
                               largest < kSmall});
  const double samples = input_.count() / static_cast<double>(smallest_width());
  made_.assumptions.push_back(
      {"first step", "overlaps of two samples are those of wide layers", made_.sites.front().path,
       fmt::format("samples/width = {:.2g} is small", samples), samples < kSmall});
}

Point Walk::run(const std::vector<Layer>& layers, Point x) {
  const std::vector<double> behind = behind_each(layers, x.samples);
  const double end = behind_;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    behind_ = behind[i];
    next_ = i + 1 < layers.size() ? std::get_if<ActivationLayer>(&layers[i + 1].op) : nullptr;
    x = std::visit([&](const auto& op) { return step(op, x); }, layers[i].op);
  }
  behind_ = end;
  return x;
}

const Site& Walk::site(const std::string& path) {
  const auto found = sites_.find(path);
  if (found == sites_.end())
    throw Error(ErrorKind::input, "the moments have no site " + path, "trace",
                "propagate this network");
  return trace_.sites[found->second];
}

Point Walk::arrive(const Site& at, const Tangent& change, const Samples& samples) {
  StepSite& made = made_.sites[static_cast<std::size_t>(&at - trace_.sites.data())];
  made.change.value = diagonal_of(change.total(gradients_of(at, samples)), samples);
  if (!std::isfinite(made.change.value))
    throw Error(ErrorKind::input,
                fmt::format("the change by a step is no number: {}", made.change.value), at.path,
                "it overflows: a smaller learning rate, or smaller weights");
  // The next order of the step is as large against the first as the first against the value.
  const double relative = at.second.value > 0 ? made.change.value / at.second.value : 1;
  made.change.truncation = change.truncation + made.change.value * std::min(1.0, relative);
  return {change, values_of(at, samples), at.mean.value, samples};
}

Point Walk::enter(const Point& x, const Kernel& here, const Kernel& all) const {
  Point made = x;
  made.change.noise =
      at_least_zero(x.change.total(all) - x.change.response * x.change.response * here);
  return made;
}

Update Walk::update_of(std::size_t parameter) const {
  const ParameterInfo& info = parameters_[parameter];
  Update made = first_update(options_, info, trace_.parameters[parameter], global_norm_);
  made.scale *= repeated_steps(options_, info, steps_).sum;
  return made;
}

double Walk::share_of_last(std::size_t parameter) const {
  const RepeatedSteps steps = repeated_steps(options_, parameters_[parameter], steps_);
  return steps.sum > 0 ? (steps.last / steps.sum) * (steps.last / steps.sum) : 0;
}

OwnChange Walk::add_own(const std::string& path, const MatrixUse& use, double features,
                        Tangent& change) {
  const auto found = indices_.find(path);
  if (found == indices_.end()) return {};
  const std::size_t index = found->second;
  Update update = update_of(index);
  // The norm of a relative step is that of the rows that are read.
  if (options_.name == "lamb" && use.is_table) update.scale /= std::sqrt(use.rows_read);
  const OwnChange own = own_change(update, use);
  change.response = change.response + own.response;
  change.noise = change.noise + own.noise;
  change.truncation += own.truncation;
  loss_change_ +=
      features * use.samples.count() * diagonal_of(own.response * use.gradient, use.samples);
  StepParameter& made = made_.parameters[index];
  // What two uses of a matrix do to it together has no such norm.
  const bool is_first = made.update.value == 0;
  made.update.value += own.update_second * share_of_last(index);
  made.update_norm = is_first ? norm_of_change(update, use, own) : Figure{};
  made.update_norm.value *= share_of_last(index);
  made.update_norm.truncation = made.update_norm.truncation * share_of_last(index);
  return own;
}

Point Walk::step(const Linear& layer, const Point& x) {
  if (layer.tied) throw no_rule(layer.path, "a head that is tied to the embedding");
  if (layer.weight_norm != WeightNorm::none)
    throw no_rule(layer.path, "weights that are normalised");
  const Site& at = site(layer.path);
  const double in = static_cast<double>(layer.fan_in), out = static_cast<double>(layer.fan_out);
  const double each = variance_of(layer);
  const Kernel gradient = gradients_of(at, x.samples);
  // W (r W^T g) is fan_in var(w) r g, and the rest of its second moment; of an orthogonal W with
  // fan_out <= fan_in there is no rest.
  const Kernel squares = x.change.response * x.change.response * gradient;
  const bool orthogonal = layer.distribution == Distribution::orthogonal;
  const double rest = orthogonal ? std::max(out - in, 0.0) : out;
  Tangent change;
  change.response = x.change.response * (in * each);
  change.noise = (x.change.noise + squares * (each * rest)) * (in * each);
  // The change's overlaps with itself, of n features, add as much again in every layer.
  const double length = diagonal_of(x.values, x.samples);
  const double overlaps =
      length > 0 ? (x.samples.count() - 1) * x.overlap_variance / (length * length) : 0;
  const double few = std::min(1.0, std::max(x.samples.count() / in, overlaps));
  const double arrived = diagonal_of(x.change.noise + squares * (out * each), x.samples);
  change.truncation = (x.change.truncation + arrived * few) * (in * each);
  MatrixUse use{in, out, x.values, gradient, x.classes(), layer.multiplier, x.samples};
  use.overlap_variance = x.overlap_variance;
  use.excess = x.excess;
  use.logits = static_cast<double>(trace_.sites.back().width);
  use.concentration = std::exchange(concentration_, 0.0);
  use.parts = std::exchange(parts_, 1.0);
  use.behind = behind_;
  use.averaged = averaged_;
  const ActivationLayer* next = std::exchange(next_, nullptr);
  if (next != nullptr) use.outputs = behind_activation(layer, *next, x.samples);
  const bool is_head = &at == &trace_.sites.back();
  if (is_head && network_.loss == Loss::cross_entropy) use.outputs = of_logits(at, x.samples);
  const double without = change.truncation;
  const OwnChange own = add_own(layer.path + ".weight", use, out, change);
  if (is_head && !use.outputs.empty())
    change.truncation = without + unresolved(layer.path + ".weight", use);
  if (layer.bias) {
    MatrixUse bias{1, out, one_for_all(x.samples), gradient, {}, 1, x.samples, true};
    add_own(layer.path + ".bias", bias, out, change);
  }
  Point y = arrive(at, change, x.samples);
  y.overlap_variance = x.overlap_variance * (in * each) * (in * each);
  if (next == nullptr) return y;
  y.of_row = own.of_row;
  y.with_slopes = more_where_steep(layer.path + ".weight", use);
  return y;
}

Walk::Slopes Walk::slopes_of(const std::string& name, const Point& x) const {
  const Activation function = activation_of(name);
  const double centre = x.mean * x.mean;
  const Entries u = entries_of(x.values, x.samples);
  const double variance = std::max(u.same - centre, 0.0);
  const auto averages = [&](double product) {
    return slope_averages(function, x.mean, variance,
                          variance > 0 ? (product - centre) / variance : 0);
  };
  Slopes made;
  made.near = averages(u.cross);
  made.far = x.samples.sequences > 1 ? averages(u.between) : made.near;
  made.kernel = kernel_of({made.near.d2, made.near.dd, made.far.dd}, x.samples);
  return made;
}

Point Walk::step(const ActivationLayer& layer, const Point& x) {
  const Site& at = site(layer.path);
  const Kernel gradient = gradients_of(at, x.samples);
  const Slopes slopes = slopes_of(layer, x);
  const SlopeAverages &near = slopes.near, &far = slopes.far;
  Tangent change;
  change.response = by_entry(x.change.response, slopes.kernel, x.samples);
  change.noise = by_entry(x.change.noise, slopes.kernel, x.samples);
  change.truncation = x.change.truncation * near.d2;
  // What products of slopes are beside their averages.
  const double tokens = x.samples.tokens - 1;
  const double apart = x.samples.tokens * (x.samples.sequences - 1);
  const Entries r = entries_of(x.change.response, x.samples), g = entries_of(gradient, x.samples);
  const double own = r.same * r.same * (near.d4 - near.d2 * near.d2);
  const double others = tokens * r.cross * r.cross * (near.d2d2 - near.dd * near.dd) +
                        apart * r.between * r.between * (far.d2d2 - far.dd * far.dd);
  const double pairs =
      2 * tokens * r.same * r.cross * (near.d3d - near.d2 * near.dd) +
      tokens * std::max(tokens - 1, 0.0) * r.cross * r.cross * (near.d2dd - near.dd * near.dd);
  change.noise = change.noise + diagonal(std::max((own + others) * g.same + pairs * g.cross, 0.0));
  // What goes with a sample's own gradient goes with its slope: taken at slopes that know nothing
  // of the rest of the row.
  const double of_row = near.d2 > 0 ? x.of_row * std::max(near.d4 / near.d2 - near.d2, 0.0) : 0;
  change.noise = change.noise + diagonal(of_row);
  change.truncation += of_row / 2;
  // A feature's slope and how far it moves both follow what its samples share, and are taken as
  // independent but for the response.
  change.truncation += near.d2 * x.with_slopes;
  Point y = arrive(at, change, x.samples);
  y.features = near.features;
  if (near.f2 > 0) y.excess = std::max(near.f4 / (3 * near.f2 * near.f2) - 1, 0.0);
  y.overlap_variance =
      x.overlap_variance * near.dd * near.dd + sampled_overlap(y, static_cast<double>(at.width));
  return y;
}

double Walk::centred_square(const Norm& layer, const Point& x) const {
  const double second = diagonal_of(x.values, x.samples) + layer.eps;
  if (layer.kind == NormKind::batchnorm) return second - x.values.all / x.samples.count();
  if (layer.kind == NormKind::instancenorm)
    return x.values.token * (1 - 1 / x.samples.tokens) + layer.eps;
  return layer.kind == NormKind::layernorm ? second - x.mean * x.mean : second;
}

Point Walk::step(const Norm& layer, const Point& x) {
  return through_norm(layer, site(layer.path), x);
}

Point Walk::through_norm(const Norm& layer, const Site& at, const Point& x) {
  if (layer.kind == NormKind::dyt) throw no_rule(layer.path, "dyt in the place of a norm");
  const double scale = layer.scale * layer.scale, square = centred_square(layer, x) / scale;
  if (!(square > 0)) throw no_rule(layer.path, "a norm of what does not differ");
  Tangent change{x.change.noise * (1 / square), x.change.response * (1 / square),
                 x.change.truncation / square};
  if (layer.kind == NormKind::batchnorm || layer.kind == NormKind::instancenorm)
    change.noise.all = change.response.all = 0;
  if (layer.kind == NormKind::instancenorm) change.noise.sequence = change.response.sequence = 0;
  if (layer.affine) {
    const Kernel gradient = gradients_of(at, x.samples);
    const double width = static_cast<double>(layer.width);
    const Point y{{}, values_of(at, x.samples), 0, x.samples};
    MatrixUse gain{1, width, y.values, gradient, y.classes(), 1, x.samples};
    gain.overlap_variance = sampled_overlap(y, 1);
    add_own(layer.path + ".gain", gain, width, change);
    MatrixUse shift{1, width, one_for_all(x.samples) * scale, gradient, {}, 1, x.samples, true};
    add_own(layer.path + ".shift", shift, width, change);
  }
  Point y = arrive(at, change, x.samples);
  y.overlap_variance = x.overlap_variance / (square * square);
  return y;
}

Point Walk::step(const Dropout& layer, const Point& x) {
  if (layer.rate > 0)
    throw Error(ErrorKind::input,
                "the change by a step has no rule for dropout, whose masks are "
                "drawn anew after it",
                layer.path, "set dropout, attention_dropout and drop_path to 0");
  Point y = arrive(site(layer.path), x.change, x.samples);
  y.overlap_variance = x.overlap_variance;
  return y;
}

Point Walk::step(const Pool& layer, const Point& x) {
  if (layer.of == Pool::Of::last) throw no_rule(layer.path, "a last token that is read");
  if (layer.of != Pool::Of::all) throw no_rule(layer.path, "class tokens");
  const double tokens = x.samples.tokens;
  const Samples samples{1, x.samples.sequences};
  const auto pooled = [&](const Kernel& from) {
    return Kernel{0, from.sequence / tokens, from.all / tokens};
  };
  return arrive(site(layer.path),
                {pooled(x.change.noise), pooled(x.change.response), x.change.truncation}, samples);
}

Point Walk::step(const Embedding& layer, const Point& x) {
  const Site& at = site(layer.path);
  const Kernel gradient = gradients_of(at, x.samples);
  const double width = static_cast<double>(layer.width);
  const double same = word_collision(network_, layer);
  Tangent change;
  MatrixUse words{1,         width, kernel_of({1, same, same}, x.samples),
                  gradient,  {},    layer.multiplier,
                  x.samples, true};
  words.rows_read = 1 - std::pow(1 - same, x.samples.count());
  add_own(layer.path + ".weight", words, width, change);
  const double of_words = diagonal_of(change.noise, x.samples);
  MatrixUse positions{1,         width, kernel_of({1, 0, 1 / x.samples.tokens}, x.samples),
                      gradient,  {},    1,
                      x.samples, true};

  add_own(layer.path + ".position", positions, width, change);
  const double of_positions = std::max(diagonal_of(change.noise, x.samples) - of_words, 0.0);
  MatrixUse segments{1, width, one_for_all(x.samples), gradient, {}, 1, x.samples, true};
  add_own(layer.path + ".segment", segments, width, change);
  // Rows of words and of positions follow one gradient g_s, but for other samples of the same word:
  // what their steps have beside the response is of it too.
  const double alike = 1 / (1 + (x.samples.count() - 1) * same);
  change.noise = change.noise + diagonal(2 * alike * std::sqrt(of_words * of_positions));
  Point y = arrive(at, change, x.samples);
  // Two samples have the overlap of one word, or none.
  const double word = layer.std * layer.std * layer.multiplier * layer.multiplier;
  y.overlap_variance = sampled_overlap(y, width) + same * (1 - same) * word * word;
  return y;
}

template <class Op>
Point Walk::step(const Op& layer, const Point&) {
  std::string kind = "this kind of layer";
  if constexpr (std::is_same_v<Op, Conv2d>) kind = "convolutions";
  if constexpr (std::is_same_v<Op, DualStream>) kind = "two streams";
  if constexpr (std::is_same_v<Op, Encoder>) kind = "an encoder beside the decoder";
  if constexpr (std::is_same_v<Op, ClassTokens>) kind = "class tokens";
  if constexpr (std::is_same_v<Op, Experts>) kind = "mixtures of experts";
  if constexpr (std::is_same_v<Op, MaxPool>) kind = "max pools";
  if constexpr (std::is_same_v<Op, Upsample>) kind = "images that are made larger";
  if constexpr (std::is_same_v<Op, Concat>) kind = "skips that are concatenated";
  if constexpr (std::is_same_v<Op, ConditionLayer>) kind = "norms that a condition modulates";
  throw no_rule(layer.path, kind);
}
template Point Walk::step(const Conv2d&, const Point&);
template Point Walk::step(const DualStream&, const Point&);
template Point Walk::step(const Encoder&, const Point&);
template Point Walk::step(const ClassTokens&, const Point&);
template Point Walk::step(const Experts&, const Point&);
template Point Walk::step(const MaxPool&, const Point&);
template Point Walk::step(const Upsample&, const Point&);
template Point Walk::step(const Concat&, const Point&);
template Point Walk::step(const ConditionLayer&, const Point&);
template Point Walk::step(const Modulation&, const Point&);

}  // namespace scalecalc::steps
