#include <algorithm>
#include <cmath>
#include <variant>

#include "scalecalc/softmax.hpp"
#include "steps/walk.hpp"

namespace scalecalc::steps {

Kernel Walk::gradient_into(const Linear& layer, const Samples& samples) {
  return gradients_of(site(layer.path), samples) *
         (static_cast<double>(layer.fan_out) * variance_of(layer));
}

Kernel Walk::gradient_into(const Layer& layer, const Point& x) {
  const auto at = [&](const std::string& path) { return gradients_of(site(path), x.samples); };
  if (const auto* linear = std::get_if<Linear>(&layer.op)) return gradient_into(*linear, x.samples);
  if (const auto* norm = std::get_if<Norm>(&layer.op)) {
    const double square = centred_square(*norm, x) / (norm->scale * norm->scale);
    return square > 0 ? at(norm->path) * (1 / square) : at(norm->path);
  }
  if (const auto* attention = std::get_if<Attention>(&layer.op))
    return gradient_into(attention->q, x.samples) + gradient_into(attention->k, x.samples) +
           gradient_into(attention->v, x.samples);
  if (const auto* gated = std::get_if<Gated>(&layer.op))
    return gradient_into(gated->gate, x.samples) + gradient_into(gated->in, x.samples);
  if (const auto* activation = std::get_if<ActivationLayer>(&layer.op))
    return by_entry(at(activation->path), slopes_of(*activation, x).kernel, x.samples);
  if (const auto* parallel = std::get_if<Parallel>(&layer.op)) return gradient_into(*parallel, x);
  if (const auto* residual = std::get_if<Residual>(&layer.op)) {
    return gradient_into(residual->body, x) + gradient_along(*residual, x);
  }
  if (const auto* dropout = std::get_if<Dropout>(&layer.op)) return at(dropout->path);
  return {};
}

Kernel Walk::gradient_into(const std::vector<Layer>& layers, const Point& x) {
  return layers.empty() ? Kernel{} : gradient_into(layers.front(), x);
}

Kernel Walk::gradient_into(const Parallel& layer, const Point& x) {
  Kernel total;
  for (const std::vector<Layer>& branch : layer.branches) total = total + gradient_into(branch, x);
  return total;
}

double Walk::sum_square(const Residual& layer) {
  // Only a sum that is normalised has no site of its own; its gradient then is that of the norm's
  // output, divided by the sum's size.
  const auto known = sums_.find(&layer);
  return known == sums_.end() ? 1 : known->second;
}

Kernel Walk::gradient_along(const Residual& layer, const Point& x) {
  if (!layer.shortcut.empty()) return gradient_into(layer.shortcut, x);
  const Kernel gradient = gradients_of(site(layer.path), x.samples);
  return gradient * (layer.skip * layer.skip / sum_square(layer));
}

Point Walk::step(const Residual& layer, const Point& x) {
  // The size of the sum must be known before the gradient of what enters it.
  const double skip = layer.skip * layer.skip, branch = layer.branch * layer.branch;
  if (layer.norm) sums_[&layer] = norm_of_sum(layer, x);
  const Kernel into = gradient_into(layer.body, x), along = gradient_along(layer, x);
  const Point body = run(layer.body, enter(x, into, into + along));
  Point stream = enter(x, along, into + along);
  if (!layer.shortcut.empty()) stream = run(layer.shortcut, stream);
  Point sum;
  sum.samples = stream.samples;
  sum.change.response = stream.change.response * skip + body.change.response * branch;
  sum.change.noise = stream.change.noise * skip + body.change.noise * branch;
  sum.change.truncation = stream.change.truncation * skip + body.change.truncation * branch;
  sum.values = stream.values * skip + body.values * branch;
  sum.mean = layer.skip * stream.mean + layer.branch * body.mean;
  const Site& at = site(layer.path);
  sum.overlap_variance = stream.overlap_variance * skip * skip +
                         body.overlap_variance * branch * branch +
                         2 * skip * branch * diagonal_of(stream.values, sum.samples) *
                             diagonal_of(body.values, sum.samples) / static_cast<double>(at.width);
  const Kernel gradient = gradients_of(at, sum.samples) * (1 / sum_square(layer));
  if (layer.trainable_branch) add_scale(layer, body.values, gradient, sum);
  if (!layer.norm) {
    Point y = arrive(at, sum.change, sum.samples);
    y.overlap_variance = sum.overlap_variance;
    return y;
  }
  return through_norm(*layer.norm, at, sum);
}

/// What the norm divides the sum by, squared.
double Walk::norm_of_sum(const Residual& layer, const Point& x) {
  const auto last = [&](const std::vector<Layer>& layers) {
    const Site& at = site(end_of(layers));
    return Point{{}, values_of(at, x.samples), at.mean.value, x.samples};
  };
  const Point body = last(layer.body);
  const Point stream = layer.shortcut.empty() ? x : last(layer.shortcut);
  Point sum;
  sum.samples = x.samples;
  sum.values =
      stream.values * (layer.skip * layer.skip) + body.values * (layer.branch * layer.branch);
  sum.mean = layer.skip * stream.mean + layer.branch * body.mean;
  const double square = centred_square(*layer.norm, sum);
  return square > 0 ? square : 1;
}

const std::string& Walk::end_of(const std::vector<Layer>& layers) {
  const Layer& last = layers.back();
  if (const auto* attention = std::get_if<Attention>(&last.op)) return attention->o.path;
  return std::visit(
      [](const auto& op) -> const std::string& {
        if constexpr (requires { op.path; }) return op.path;
      },
      last.op);
}

void Walk::add_scale(const Residual& layer, const Kernel& branch, const Kernel& gradient,
                     Point& sum) {
  const std::string path = layer.path + ".scale";
  if (layer.scale_features > 1) {
    const double width = static_cast<double>(layer.scale_features);
    MatrixUse use{1, width,      branch, gradient, gaussian_features(0, branch, sum.samples),
                  1, sum.samples};
    add_own(path, use, width, sum.change);
    return;
  }
  const std::size_t index = indices_.at(path);
  const ParameterMoments& moments = trace_.parameters[index];
  const Update update = update_of(index);
  const double deviation = std::sqrt(moments.grad_second.value);
  const EntryMoments step = entry_moments(update.entry, 0, deviation);
  const double second = update.scale * update.scale * step.square;
  sum.change.noise = sum.change.noise + branch * second;
  loss_change_ -= update.scale * step.slope * deviation * deviation;
  StepParameter& made = made_.parameters[index];
  made.update.value += second * share_of_last(index);
  made.update_norm = made.update;
}

Point Walk::step(const Parallel& layer, const Point& x) {
  const Kernel all = gradient_into(layer, x);
  Tangent change;
  Samples samples = x.samples;
  double overlap = 0;
  for (const std::vector<Layer>& branch : layer.branches) {
    const Point end = run(branch, enter(x, gradient_into(branch, x), all));
    change.response = change.response + end.change.response;
    change.noise = change.noise + end.change.noise;
    change.truncation += end.change.truncation;
    samples = end.samples;
    overlap += end.overlap_variance;
  }
  Point y = arrive(site(layer.path), change, samples);
  y.overlap_variance = overlap;
  return y;
}

Point Walk::step(const Gated& layer, const Point& x) {
  const Kernel into_gate = gradient_into(layer.gate, x.samples);
  const Kernel into_in = gradient_into(layer.in, x.samples), all = into_gate + into_in;
  const Point gate = step(layer.gate, enter(x, into_gate, all));
  const Point in = step(layer.in, enter(x, into_in, all));
  const Site& at = site(layer.path);
  const Samples& samples = x.samples;
  const Entries i = entries_of(in.values, samples);
  const Slopes f = slopes_of(layer.function, gate);
  const Entries a = entries_of(gate.change.response, samples);
  const Entries b = entries_of(in.change.response, samples);
  const Kernel slopes =
      kernel_of({f.near.d2 * i.same, f.near.dd * i.cross, f.far.dd * i.between}, samples);
  const Kernel values = kernel_of({f.near.f2, f.near.ff, f.far.ff}, samples);
  Tangent change;
  change.response = by_entry(gate.change.response, slopes, samples) +
                    by_entry(in.change.response, values, samples);
  change.noise =
      by_entry(gate.change.noise, slopes, samples) + by_entry(in.change.noise, values, samples);
  change.truncation =
      gate.change.truncation * f.near.d2 * i.same + in.change.truncation * f.near.f2;
  const double mean = a.same * f.near.d2 * i.same + b.same * f.near.f2;
  const double own = a.same * a.same * f.near.d4 * 3 * i.same * i.same +
                     2 * a.same * b.same * f.near.d2f2 * i.same + b.same * b.same * f.near.f4 -
                     mean * mean;
  const auto apart = [&](double of_gate, double of_in, double product, const SlopeAverages& s) {
    const double both = i.same * i.same + 2 * product * product;
    return of_gate * of_gate * (s.d2d2 * both - s.dd * s.dd * product * product) +
           of_in * of_in * (s.f2 * s.f2 - s.ff * s.ff);
  };
  const double others =
      (samples.tokens - 1) * apart(a.cross, b.cross, i.cross, f.near) +
      samples.tokens * (samples.sequences - 1) * apart(a.between, b.between, i.between, f.far);
  const double g = at.grad_second.value;
  change.noise = change.noise + diagonal(std::max((own + others) * g, 0.0));
  Point y = arrive(at, change, samples);
  if (f.near.f2 > 0) y.excess = std::max(f.near.f4 / (f.near.f2 * f.near.f2) - 1, 0.0);
  y.overlap_variance = gate.overlap_variance * f.near.dd * f.near.dd * i.cross * i.cross +
                       in.overlap_variance * f.near.ff * f.near.ff +
                       sampled_overlap(y, static_cast<double>(at.width));
  return y;
}

namespace {

/// E tr A^2/(E tr A)^2 of A = X X^T, X of rows x columns numbers that are independent.
double uneven_of(double rows, double columns, const Samples& samples) {
  return std::min((1 + 1 / rows) * (1 + 1 / columns) - 1, 1.0) / samples.sequences;
}

/// A row of q's gradient is M k over the queries, M = J V^T g of so many keys: of one draw it is as
/// uneven as the product of three Gaussian matrices of queries, keys and a head's features
/// (docs/theory/first-step.md#scores). `group`: heads that share a key.
double concentration_of(const Attention& layer, double weights, const Samples& samples,
                        double group) {
  if (samples.tokens < 2) return 0;
  const double keys = std::max(1 / weights - 1, 1.0);
  const double features = static_cast<double>(layer.head_width) * group;
  const double of_two = uneven_of(samples.tokens * group, keys, samples) * samples.sequences;
  return std::min((1 + of_two) * (1 + 1 / features) - 1, 1.0) / samples.sequences;
}

}  // namespace

Point Walk::step(const Attention& layer, const Point& x) {
  if (layer.dropout > 0)
    throw Error(ErrorKind::input,
                "the change by a step has no rule for dropout, whose masks are "
                "drawn anew after it",
                layer.path, "set dropout, attention_dropout and drop_path to 0");
  if (layer.softcap != 0) throw no_rule(layer.path, "scores behind a softcap");
  if (layer.relative.buckets != 0) throw no_rule(layer.path, "learnt biases of scores");
  if (layer.over_memory) throw no_rule(layer.path, "attention to a memory");
  if (layer.residual_attention) throw no_rule(layer.path, "scores that are added up over layers");
  if (layer.gives_values || layer.value_residual > 0)
    throw no_rule(layer.path, "values that later blocks read");
  const Kernel into_q = gradient_into(layer.q, x.samples);
  const Kernel into_k = gradient_into(layer.k, x.samples);
  const Kernel into_v = gradient_into(layer.v, x.samples), all = into_q + into_k + into_v;
  const double group = static_cast<double>(layer.heads) / static_cast<double>(layer.kv_heads);
  const MixWeights weights = weights_of(layer, x.samples);
  const double behind = behind_;
  averaged_ = layer.causal || layer.window > 0;
  behind_ = 0;  // what a head's matrix of scores is uneven by stands for it
  concentration_ = concentration_of(layer, weights.own, x.samples, 1);
  parts_ = static_cast<double>(layer.heads);
  const Point q = step(layer.q, enter(x, into_q, all));
  concentration_ = concentration_of(layer, weights.own, x.samples, group);
  parts_ = static_cast<double>(layer.kv_heads);
  const Point k = step(layer.k, enter(x, into_k, all));
  behind_ = behind + 1 / static_cast<double>(layer.o.fan_out);
  // Of v it is p^T g, of as many independent numbers as there are queries.
  concentration_ = x.samples.tokens > 1
                       ? uneven_of(x.samples.tokens * group, x.samples.tokens - 1, x.samples)
                       : 0;
  parts_ = static_cast<double>(layer.kv_heads);
  const Point v = step(layer.v, enter(x, into_v, all));
  Point mix = mixed(layer, q, k, v);
  if (layer.norm) mix = step(*layer.norm, mix);
  behind_ = behind;
  averaged_ = false;
  return step(layer.o, mix);
}

/// The moments of v and of the mix give them.
Walk::MixWeights Walk::weights_of(const Attention& layer, const Samples& samples) {
  const Site& at = site(layer.path + ".mix");
  const Entries values = entries_of(values_of(site(layer.v.path), samples), samples);
  MixWeights made{1 / samples.tokens, 1 / samples.tokens, values.same - values.cross};
  constexpr double kAlike = 1e-9;  // of values, below which tokens do not differ
  if (made.apart > kAlike * values.same) {
    made.own = std::clamp((at.second.value - values.cross) / made.apart, made.others, 1.0);
    made.others = samples.tokens > 1
                      ? std::clamp((at.cross.value - values.cross) / made.apart, 0.0, made.own)
                      : 1;
  }
  return made;
}

/// y_s = sum_t p_st v_t.
Point Walk::mixed(const Attention& layer, const Point& q, const Point& k, const Point& v) {
  const Site& at = site(layer.path + ".mix");
  const Samples& samples = q.samples;
  const MixWeights weights = weights_of(layer, samples);
  const double own = weights.own, others = weights.others;
  const auto mix = [&](const Kernel& kernel) {
    const Entries e = entries_of(kernel, samples);
    if (samples.tokens == 1) return kernel;
    return kernel_of(
        {own * e.same + (1 - own) * e.cross, others * e.same + (1 - others) * e.cross, e.between},
        samples);
  };
  const Kernel gradient = gradients_of(at, samples);
  const Kernel of_v = gradients_of(site(layer.v.path), samples);
  Tangent change;
  change.response = mix(v.change.response);
  const Kernel coherent = mix(v.change.response * v.change.response * of_v);
  change.noise =
      mix(v.change.noise) + at_least_zero(coherent - change.response * change.response * gradient);
  change.truncation = v.change.truncation;
  if (samples.tokens > 1) add_scores(layer, q, k, weights, at, change);
  Point y = arrive(at, change, samples);
  const double kept = own * own + others * others;
  y.overlap_variance =
      v.overlap_variance * std::min(kept, 1.0) + sampled_overlap(y, static_cast<double>(at.width));
  return y;
}

namespace {

/// E tr J^2 and E tr J^4 of the slope J of softmax over so many keys, whose scores are Gaussian of
/// the variance at which E sum p^2 is `weights`.
struct SoftmaxSlopes {
  double second = 0, fourth = 0;
};
SoftmaxSlopes softmax_slopes(double tokens, double weights) {
  const auto keys = static_cast<std::int64_t>(std::llround(tokens));
  double low = 0, high = 100;  // of the variance; E sum p^2 rises with it
  constexpr int halvings = 30;
  for (int i = 0; i < halvings; ++i) {
    const double middle = (low + high) / 2;
    (softmax_orders(keys, middle).p2 < weights ? low : high) = middle;
  }
  return {softmax_orders(keys, low).a, softmax_slope_fourth(keys, low).value};
}

}  // namespace

double Walk::scores_left_out(const Attention& layer, const Point& q) {
  // Queries of a mask have unlike numbers of keys; averages over them stand for each.
  if (layer.causal || layer.window > 0) return 1;
  const double length = diagonal_of(q.values, q.samples);
  const double overlaps =
      length > 0 ? (q.samples.count() - 1) * q.overlap_variance / (length * length) : 0;
  const double few = q.samples.tokens / static_cast<double>(layer.head_width);
  return std::min(few + 2 * overlaps, 1.0);
}

/// ds_st = scale (dq_s.k_t + q_s.dk_t), of which what differs from key to key moves the weights:
/// dy_s = sum_t p_st (ds_st - mean) v_t. What of it is along the gradient follows from
/// dq.g_q + dk.g_k, which is the same seen from the queries and keys.
void Walk::add_scores(const Attention& layer, const Point& q, const Point& k,
                      const MixWeights& weights, const Site& at, Tangent& change) {
  const Samples& samples = q.samples;
  const Kernel of_q = gradients_of(site(layer.q.path), samples);
  const Kernel of_k = gradients_of(site(layer.k.path), samples);
  double q_size = 1, k_size = 1;
  if (layer.qk_norm) {
    q_size = 1 / diagonal_of(q.values, samples);
    k_size = 1 / diagonal_of(k.values, samples);
  }
  const double moved = diagonal_of(q.change.total(of_q), samples) * k.values.token +
                       diagonal_of(q.values, samples) * k.change.total(of_k).token;
  const double features = static_cast<double>(layer.head_width);
  // Both parts lie along the gradient of the scores J g, which made those of q and k: a key has d
  // features of its own share of that, and of it the weights move by J (J g), whose square is
  // E tr J^4 of E tr J^2.
  const SoftmaxSlopes slopes = softmax_slopes(samples.tokens, weights.own);
  const auto aligned = [&](const Point& of, const Kernel& gradient, double other) {
    const Kernel moved_along = of.change.response * of.change.response * gradient;
    return std::sqrt(diagonal_of(moved_along, samples) * other * slopes.fourth / slopes.second) *
           features;
  };
  const double together =
      aligned(q, of_q, k.values.token) + aligned(k, of_k, diagonal_of(q.values, samples));
  const double turned = static_cast<double>(layer.rotary.width) / features;
  const double turned_scale = 1 - turned + turned * std::pow(layer.rotary.attention, 4);
  const double scores = layer.scale * layer.scale * turned_scale * q_size * k_size *
                        (slopes.second * features * std::max(moved, 0.0) + together * together);
  const Kernel along_q = q.change.response * of_q, along_k = k.change.response * of_k;
  const double per_head = static_cast<double>(layer.kv_heads) / static_cast<double>(layer.heads);
  const double along = diagonal_of(along_q, samples) + per_head * diagonal_of(along_k, samples);
  const double gradient = at.grad_second.value;
  const double response = gradient > 0 ? along / gradient : 0;
  change.response = change.response + diagonal(response);
  change.noise = change.noise + diagonal(weights.apart * scores);
  change.truncation += weights.apart * scores * scores_left_out(layer, q);
}

}  // namespace scalecalc::steps
