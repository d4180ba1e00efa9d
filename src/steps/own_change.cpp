#include "steps/own_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace scalecalc::steps {
namespace {

struct Node {
  double at, weight;
};
/// Of a standard normal number: equal steps, whose error falls faster than any power.
template <std::size_t count>
const std::array<Node, count>& normal_nodes() {
  static const auto nodes = [] {
    constexpr double reach = 5;
    std::array<Node, count> made{};
    double total = 0;
    for (std::size_t i = 0; i < count; ++i) {
      made[i].at = reach * (2 * static_cast<double>(i) / (count - 1) - 1);
      made[i].weight = std::exp(-made[i].at * made[i].at / 2);
      total += made[i].weight;
    }
    for (Node& node : made) node.weight /= total;
    return made;
  }();
  return nodes;
}

/// How often each eigenvalue of a kernel is there.
Kernel multiplicities(const Samples& samples) {
  return {samples.count() - samples.sequences, samples.sequences - 1, 1};
}
double trace_of(const Kernel& kernel, const Samples& samples) {
  const Kernel counted = kernel * multiplicities(samples);
  return counted.token + counted.sequence + counted.all;
}

/// Averages over the rows g of the gradient: with S the sum of g over the samples and R the sum of
/// squares, an entry of the parameter's gradient is N(m S, v R) behind a feature of a class (m, v).
/// What of R is not of S is taken as a chi-square number (Wilson and Hilferty's cube).
class RowAverages {
 public:
  RowAverages(const EntryRule& rule, const MatrixUse& use)
      : rule_(rule), use_(use), n_(use.samples.count()) {
    if (use.outputs.empty()) add_outputs({1, use.gradient, 0});
    for (const GradientClass& output : use.outputs) add_outputs(output);
    const Kernel parts = use.gradient * multiplicities(use.samples);
    const double rest = parts.token + parts.sequence;
    if (rest > 0) slope_ /= rest;
    if (use.gradient.all > 0) all_ /= use.gradient.all;
  }

  /// Of sum_t f(G_t..) x: per unit of g, and E of its square, by eigenvalue.
  Kernel response() const { return {slope_, slope_, all_}; }
  const Kernel& second() const { return second_; }
  double square() const { return square_; }
  /// E f(G)^2 x_s x_t.
  Kernel of_features() const { return kernel_of({own_, shared_, shared_}, use_.samples); }

 private:
  void add_outputs(const GradientClass& output) {
    const Kernel& gradient = output.gradient;
    const double share = output.share, mean = output.mean * std::sqrt(n_);
    const double deviation = std::sqrt(std::max(gradient.all - mean * mean, 0.0));
    const Kernel counts = multiplicities(use_.samples);
    const Kernel part = gradient * counts;
    rest_ = std::max(part.token + part.sequence, 0.0);
    const double squares =
        (counts.token > 0 ? part.token * part.token / counts.token : 0) +
        (counts.sequence > 0 ? part.sequence * part.sequence / counts.sequence : 0);
    const double spread = squares > 0 ? 2 * squares / (9 * rest_ * rest_) : 0;
    // Rules are odd: without a mean, both signs of the sum give the same.
    const bool is_odd = mean == 0;
    for (Node sum : normal_nodes<33>()) {
      if (is_odd && sum.at < 0) continue;
      if (is_odd && sum.at > 0) sum.weight *= 2;
      const double along = mean + deviation * sum.at;
      if (rest_ <= 0) add(along, share * sum.weight, 0, gradient);
      for (const Node& of_rest : normal_nodes<9>()) {
        if (rest_ <= 0) break;
        const double root = std::max(1 - spread + std::sqrt(spread) * of_rest.at, 0.0);
        add(along, share * sum.weight * of_rest.weight, root * root * root, gradient);
      }
    }
  }

  /// `along`: of g, on the vector of ones, of length 1; `rest` in its mean.
  void add(double along, double weight, double rest, const Kernel& gradient) {
    const double squares = rest_ * rest + along * along;
    double mean = 0, slope = 0;
    for (const FeatureClass& feature : use_.features) {
      const EntryMoments f = entry_moments(rule_, feature.mean * along * std::sqrt(n_),
                                           std::sqrt(feature.variance * squares));
      mean += feature.share * feature.mean * f.mean;
      slope += feature.share * feature.variance * f.slope;
      const double shared = feature.mean * feature.mean * f.square;
      const double each = weight * feature.share;
      square_ += each * f.square;
      shared_ += each * shared;
      own_ += each * (shared + feature.variance * f.square);
    }
    const double of_all = mean * std::sqrt(n_) + slope * along;
    all_ += weight * of_all * along;
    second_.all += weight * of_all * of_all;
    slope_ += weight * slope * rest_ * rest;
    second_.token += weight * slope * slope * rest * gradient.token;
    second_.sequence += weight * slope * slope * rest * gradient.sequence;
  }

  const EntryRule& rule_;
  const MatrixUse& use_;
  double n_, rest_ = 0;
  double slope_ = 0, all_ = 0, square_ = 0, shared_ = 0, own_ = 0;
  Kernel second_;
};

OwnChange by_entries(const Update& update, const MatrixUse& use) {
  const RowAverages rows(update.entry, use);
  const double n = use.fan_in, size = update.scale * use.multiplier;
  OwnChange made;
  made.response = rows.response() * (-size * n);
  const Kernel coherent = made.response * made.response * use.gradient;
  const Kernel rows_second = rows.second() * (size * size * n * n);
  // Of a sum over n features of the input, which are independent draws.
  const Kernel of_features = at_least_zero(rows.of_features() - rows.second()) * (size * size * n);
  made.noise = at_least_zero(rows_second - coherent) + of_features;
  // Overlaps vary by more than that of independent features where a layer before is narrow.
  double product = 0;
  for (const FeatureClass& feature : use.features) {
    const double second = feature.mean * feature.mean + feature.variance;
    product += feature.share * second * second;
  }
  const Entries x = entries_of(use.input, use.samples);
  const double shared = use.samples.tokens > 1 ? x.cross : x.between;
  const double more = use.overlap_variance - std::max(product - shared * shared, 0.0) / n;
  const double slope = x.same > shared ? made.response.token / (x.same - shared) : 0;
  made.noise = made.noise + diagonal(std::max(more, 0.0) * (use.samples.count() - 1) * slope *
                                     slope * diagonal_of(use.gradient, use.samples));
  made.update_second = update.scale * update.scale * rows.square();
  return made;
}

/// G itself: exact kernels, and the overlaps of n Gaussian features beside them.
OwnChange by_gradient(const Update& update, const MatrixUse& use) {
  const double n = use.fan_in, size = update.scale * use.multiplier;
  OwnChange made;
  made.response = use.input * (-size * n);
  const double q = trace_of(use.input * use.gradient, use.samples);
  // Of the overlaps of x_s with the others, and of its own length, whose features are independent.
  double of_one = 0;
  for (const FeatureClass& feature : use.features) {
    const double mean = feature.mean * feature.mean, second = mean + feature.variance;
    of_one += feature.share *
              (second * second + 2 * second * feature.variance + 2 * mean * feature.variance);
  }
  const Entries x = entries_of(use.input, use.samples), g = entries_of(use.gradient, use.samples);
  const double others = use.samples.count() - 1;
  made.noise = diagonal(
      g.same * (others * use.overlap_variance * n + std::max(of_one - x.same * x.same, 0.0)));
  // What two samples have of it together.
  const double pair = std::max(q - g.same * x.same, 0.0) * x.cross;
  made.noise = made.noise +
               kernel_of({0, std::min(pair, diagonal_of(made.noise, use.samples)), 0}, use.samples);
  made.noise = made.noise * (size * size * n);
  made.update_second = update.scale * update.scale * q;
  return made;
}

/// The polynomial that Muon applies, to a singular value of G/|G|.
double after_polynomials(double value, int times) {
  for (int i = 0; i < times; ++i) {
    const double square = value * value;
    value *= 3.4445 + square * (-4.7750 + square * 2.0315);
  }
  return value;
}

/// G = Y X^T with rows of Y of second moments `gradient` over the samples and of X those of
/// `input`: U V^T x = Y (Y^T Y)^(-1/2) (X^T X)^(1/2), by eigenvalue. Singular values spread as
/// those of a product of two Wishart matrices: Var log s^2 = N/n + N/m to first order.
class OrthogonalChange {
 public:
  OrthogonalChange(const Update& update, const MatrixUse& use) : update_(update), use_(use) {
    const Kernel counts = multiplicities(use.samples);
    const double most = std::min(use.fan_in, use.fan_out);
    total_ = trace_of(use.input * use.gradient, use.samples);
    left_ = most;
    add(use.input.all * use.gradient.all, counts.all, made_.response.all, kept_.all);
    add(use.input.sequence * use.gradient.sequence, counts.sequence, made_.response.sequence,
        kept_.sequence);
    add(use.input.token * use.gradient.token, counts.token, made_.response.token, kept_.token);
  }

  OwnChange run() {
    const double size = update_.scale * use_.multiplier;
    const Kernel per_unit = ratio_of(use_.input, use_.gradient);
    OwnChange made;
    const double from = std::sqrt(use_.fan_in / use_.fan_out);
    made.response = made_.response * per_unit * (-size * from);
    const Kernel all = kept_ * use_.input * (size * size * use_.fan_in / use_.fan_out);
    made.noise = at_least_zero(all - made.response * made.response * use_.gradient);
    made.update_second = update_.scale * update_.scale * squares_ / (use_.fan_in * use_.fan_out);
    return made;
  }

 private:
  /// Directions that the gradient has hardly any of are none that the step follows.
  static Kernel ratio_of(const Kernel& a, const Kernel& b) {
    constexpr double kNone = 1e-6;
    const double least = kNone * std::max({b.token, b.sequence, b.all});
    const auto root = [&](double x, double y) { return y > least ? std::sqrt(x / y) : 0; };
    return {root(a.token, b.token), root(a.sequence, b.sequence), root(a.all, b.all)};
  }

  /// `square`: an eigenvalue of the two kernels' product, which is there `count` times.
  void add(double square, double count, double& first, double& second) {
    const double there = std::min(count, left_);
    if (there <= 0 || square <= 0 || total_ <= 0) return;
    left_ -= there;
    const double spread = std::log1p(std::min(count / use_.fan_in + count / use_.fan_out, 2.0));
    double weights = 0, along = 0, squares = 0, entries = 0;
    for (const Node& node : normal_nodes<17>()) {
      // s^2 = square e^(z sqrt(spread) - spread/2)
      const double stretch = std::exp((node.at * std::sqrt(spread) - spread / 2) / 2);
      const double s = std::min(std::sqrt(square / total_) * stretch, 1.0);
      const double value = after_polynomials(update_.polynomials > 0 ? s : 1, update_.polynomials);
      weights += node.weight;
      along += node.weight * value * stretch;
      squares += node.weight * value * value;
      entries += node.weight * value * value;
    }
    const double share = there / count;  // of the inputs' space that is reached
    first = along / weights * share;
    second = squares / weights * share;
    squares_ += there * entries / weights;
  }

  const Update& update_;
  const MatrixUse& use_;
  OwnChange made_;
  Kernel kept_;
  double total_ = 0, left_ = 0, squares_ = 0;
};

/// A row's gradient is the sum of g over the samples that read it: `input` says with what chance
/// another does.
OwnChange by_rows(const Update& update, const MatrixUse& use) {
  const Kernel& read = use.input;
  const Entries chance = entries_of(read, use.samples);
  const double sequence = use.samples.tokens - 1, others = use.samples.count() - 1 - sequence;
  // E of an indicator's square is its mean.
  const double more = sequence * (chance.cross - chance.cross * chance.cross) +
                      others * (chance.between - chance.between * chance.between);
  const double square = diagonal_of(read * read * use.gradient, use.samples) +
                        more * diagonal_of(use.gradient, use.samples);
  const EntryMoments f = entry_moments(update.entry, 0, std::sqrt(std::max(square, 0.0)));
  const double size = update.scale * use.multiplier;
  OwnChange made;
  made.response = read * (-size * f.slope);
  const Kernel second = read * (size * size * f.square);
  const Kernel linear = made.response * made.response * use.gradient;
  made.noise = at_least_zero(second - linear);
  // Where gradients that are alike ask for more than the rule gives, and that is cut off, what the
  // row of one sample moves by stays what it is.
  const double left = diagonal_of(second, use.samples) - diagonal_of(linear, use.samples);
  const double noise = diagonal_of(made.noise, use.samples);
  if (noise > 0) made.noise = made.noise * (std::max(left, 0.0) / noise);
  made.update_second = update.scale * update.scale * f.square * use.rows_read;
  return made;
}

OwnChange of_parameter(const Update& update, const MatrixUse& use) {
  if (use.is_table && update.rule == Update::Rule::entry) return by_rows(update, use);
  if (update.rule == Update::Rule::orthogonal) return OrthogonalChange(update, use).run();
  if (update.entry.kind == EntryRule::Kind::itself && update.entry.bound == 0)
    return by_gradient(update, use);
  return by_entries(update, use);
}

double orders_left_out(const Update& update, const MatrixUse& use) {
  const double samples = use.samples.count();
  // Biases and gains are read one by one: nothing is averaged over. Of a table it is the samples
  // that read the same row whose number is taken at its average.
  if (use.is_table) {
    const Entries chance = entries_of(use.input, use.samples);
    return (samples - 1) * chance.cross * (1 - chance.cross);
  }
  if (use.fan_in == 1) return 0;
  const double length = diagonal_of(use.input, use.samples);
  double left = samples / use.fan_in;
  // Overlaps of inputs vary, and together with those of gradients, which vary by 1/logits.
  if (length > 0) {
    const double varies = use.overlap_variance / (length * length);
    const double together = use.logits > 0 ? std::sqrt(varies / use.logits) : 0;
    left = std::max(left, (samples - 1) * std::max(varies, together));
  }
  if (update.rule == Update::Rule::orthogonal && update.polynomials > 0) {
    // Squares of the polynomial lie between 0.68^2 and 1.13^2, and are taken at singular values
    // that are spread by a law.
    constexpr double kPolynomial = 0.15;
    left += kPolynomial;
  }
  if (update.rule == Update::Rule::entry && update.entry.kind != EntryRule::Kind::itself)
    left += use.excess / samples;  // of a sum over the samples
  if (update.entry.kind == EntryRule::Kind::row_over_rms)
    left += 2 / samples;  // of the column's own size
  return left;
}

}  // namespace

std::vector<FeatureClass> gaussian_features(double mean, const Kernel& values,
                                            const Samples& samples) {
  const Entries x = entries_of(values, samples);
  const double others = samples.count() - 1;
  const double shared =
      others > 0
          ? ((samples.tokens - 1) * x.cross + (others - samples.tokens + 1) * x.between) / others
          : x.same;
  const double common = std::clamp(shared - mean * mean, 0.0, std::max(x.same - mean * mean, 0.0));
  std::vector<FeatureClass> made;
  if (common == 0) return {{1, mean, std::max(x.same - mean * mean, 0.0)}};
  for (const Node& node : normal_nodes<17>())
    made.push_back({node.weight, mean + std::sqrt(common) * node.at,
                    std::max(x.same - mean * mean - common, 0.0)});
  return made;
}

OwnChange own_change(const Update& update, const MatrixUse& use) {
  if (update.scale == 0) return {};
  // Of theta the gradient is multiplier times that of what acts.
  MatrixUse of_theta = use;
  const double square = use.multiplier * use.multiplier;
  of_theta.gradient = use.gradient * square;
  for (GradientClass& output : of_theta.outputs) {
    output.gradient = output.gradient * square;
    output.mean *= use.multiplier;
  }
  OwnChange made = of_parameter(update, of_theta);
  made.response = made.response * use.multiplier;
  const Kernel second = made.noise + made.response * made.response * use.gradient;
  made.truncation = std::min(1.0, orders_left_out(update, use)) * diagonal_of(second, use.samples);
  return made;
}

}  // namespace scalecalc::steps
