#include <algorithm>
#include <cmath>
#include <variant>

#include "steps/logit_rows.hpp"
#include "steps/walk.hpp"

/// Features of an output whose gradients are not alike.
namespace scalecalc::steps {

/// At the output y of the activation the features' gradients are alike; what phi' is at the part
/// that a feature's samples share makes its own gradient at the input larger or smaller.
std::vector<GradientClass> Walk::behind_activation(const Linear& layer, const ActivationLayer& next,
                                                   const Samples& samples) {
  const Site& at = site(layer.path);
  const Point x{{}, values_of(at, samples), at.mean.value, samples};
  const Entries g = entries_of(gradients_of(site(next.path), samples), samples);
  std::vector<GradientClass> made;
  for (const auto& [share, d2, dd, d4] : slopes_of(next, x).near.slopes)
    made.push_back({share,
                    at_least_zero(kernel_of({d2 * g.same, dd * g.cross, dd * g.between}, samples)),
                    d2 > 0 ? d4 / (d2 * d2) : 1});
  return made;
}

/// A matrix of fan_out columns adds 1/fan_out, an activation leaves of overlaps E d_s d_t of E d^2.
std::vector<double> Walk::behind_each(const std::vector<Layer>& layers, const Samples& samples) {
  std::vector<double> made(layers.size());
  double behind = behind_;
  for (std::size_t i = layers.size(); i-- > 0;) {
    made[i] = behind;
    if (const auto* linear = std::get_if<Linear>(&layers[i].op)) {
      behind += 1 / static_cast<double>(linear->fan_out);
    } else if (const auto* attention = std::get_if<Attention>(&layers[i].op)) {
      behind += 1 / static_cast<double>(attention->o.fan_out);
    } else if (const auto* next = std::get_if<ActivationLayer>(&layers[i].op);
               next != nullptr && i > 0) {
      const auto* before = std::get_if<Linear>(&layers[i - 1].op);
      if (before == nullptr) continue;
      const Site& at = site(before->path);
      const SlopeAverages slopes =
          slopes_of(*next, Point{{}, values_of(at, samples), at.mean.value, samples}).near;
      const double left = slopes.d2 > 0 ? slopes.dd / slopes.d2 : 1;
      behind *= left * left;
    }
  }
  return made;
}

/// dL/dz = p - 1 where the class is the target, else p: classes that are no sample's target, and
/// the others.
std::vector<GradientClass> Walk::of_logits(const Site& head, const Samples& samples) const {
  const double classes = static_cast<double>(head.width), n = samples.count();
  const double each = network_.reduction == Reduction::mean ? 1 / n : 1;
  const double share = std::pow(1 - 1 / classes, n);
  const Entries z = entries_of(values_of(head, samples), samples);
  const double p = each * each / (classes * classes);
  const double alike = z.same - head.mean.value * head.mean.value;
  const auto product = [&](double covariance) { return p * std::exp(std::min(covariance, alike)); };
  const Kernel no_target =
      kernel_of({product(alike), product(z.cross), product(z.between)}, samples);
  const Kernel all = gradients_of(head, samples);
  const double left = diagonal_of(all - no_target * share, samples);
  // Of a condensed softmax e^z overflows, and says nothing of p.
  if (share <= 0 || share >= 1 || !(left > 0)) return {};
  const double tokens = samples.tokens - 1, apart = n - samples.tokens;
  const double common = n > 1 ? (tokens * z.cross + apart * z.between) / (n - 1) : 0;
  const double shared = std::clamp(common - head.mean.value * head.mean.value, 0.0, alike);
  const Kernel target = at_least_zero((all - no_target * share) * (1 / (1 - share)));
  return {{share, at_least_zero(no_target), 1, rows_of_others(n, alike - shared, shared)},
          {1 - share, target, 1,
           rows_of_targets(n, classes, std::exp(alike) / (classes * classes),
                           target.all / (each * each))}};
}

/// What a head's own step leaves out: of rows with targets the second order of N/classes.
double Walk::unresolved(const std::string& path, MatrixUse use) {
  const Update update = update_of(indices_.at(path));
  const auto second = [&](const OwnChange& own) {
    return diagonal_of(own.noise + own.response * own.response * use.gradient, use.samples);
  };
  const double left_out = own_change(update, use).truncation;
  use.outputs.erase(use.outputs.begin());
  const double others = std::min(use.samples.count() / use.fan_out, 1.0);
  return left_out + others * others * second(own_change(update, use));
}

double Walk::more_where_steep(const std::string& path, MatrixUse use) {
  const Update update = update_of(indices_.at(path));
  const auto diagonal = [&](const Kernel& kernel) { return diagonal_of(kernel, use.samples); };
  const OwnChange plain = own_change(update, use);
  const double average = diagonal(use.gradient);
  if (average <= 0 || use.outputs.empty()) return 0;
  double squares = 0, total = 0;
  for (GradientClass& output : use.outputs) {
    const double weight = diagonal(output.gradient) / average;
    squares += output.share * weight * weight;
    output.share *= weight;
    total += output.share;
  }
  const double left = diagonal(plain.noise) - plain.of_row;
  const bool is_gradient = update.entry.kind == EntryRule::Kind::itself && update.entry.bound == 0;
  // What is linear in a row of the gradient goes with its size.
  if (update.rule == Update::Rule::orthogonal || is_gradient)
    return std::max(squares - 1, 0.0) * std::max(left, 0.0);
  for (GradientClass& output : use.outputs) output.share /= total;
  const OwnChange steep = own_change(update, use);
  const auto second = [&](const OwnChange& own) {
    return diagonal(own.noise + own.response * own.response * use.gradient) - own.of_row;
  };
  return std::fabs(second(steep) - second(plain));
}

}  // namespace scalecalc::steps
