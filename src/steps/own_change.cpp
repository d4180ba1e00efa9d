#include "steps/own_change.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>

#include "steps/own_parts.hpp"

namespace scalecalc::steps {
namespace {

/// By how much E |G| of G = sum_t g_t x_t, over samples x_t of a feature, is below that of a
/// Gaussian of its variance: Edgeworth's first order, kappa_4/24 - kappa_3^2/24, the cumulants of G
/// averaged over Gaussian g_t.
double short_of_gaussian(const FeatureClass& feature, double samples) {
  const double fourth = 3 / (samples + 2), third = 15 / ((samples + 2) * (samples + 4));
  return (feature.excess * fourth - feature.skewness * feature.skewness * third) / 24;
}

/// Averages over the rows g of the gradient: with S the sum of g over the samples and R the sum of
/// squares, an entry of the parameter's gradient is N(m S, v R) behind a feature of a class (m, v).
/// What of R is not of S is taken as a chi-square number (Wilson and Hilferty's cube).
class RowAverages {
 public:
  RowAverages(const EntryRule& rule, const MatrixUse& use)
      : rule_(rule), use_(use), n_(use.samples.count()) {
    if (use.outputs.empty()) add_outputs({1, use.gradient});
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
  /// E of (the slope times g)^2, of a sample.
  double sloped() const { return sloped_; }
  /// E of what an eigenvector of the samples adds to an entry of f(G), squared.
  const Kernel& parts() const { return parts_; }
  /// E f(G)^2 x_s x_t.
  Kernel of_features() const { return kernel_of({own_, shared_, shared_}, use_.samples); }

 private:
  void add_outputs(const GradientClass& output) {
    const double slope_before = slope_, all_before = all_, sloped_before = sloped_;
    const Kernel parts_before = parts_;
    const Kernel part = output.gradient * multiplicities(use_.samples);
    rest_ = std::max(part.token + part.sequence, 0.0);
    output.rows.empty() ? add_gaussian(output, part) : add_rows(output);
    const double along = (slope_ - slope_before + all_ - all_before) / output.share;
    const double less = along > 0 ? std::min(size_of_sums(output) / along, 1.0) : 1;
    slope_ = slope_before + (slope_ - slope_before) * less;
    all_ = all_before + (all_ - all_before) * less;
    sloped_ = sloped_before + (sloped_ - sloped_before) * less * less;
    parts_ = parts_before + (parts_ - parts_before) * (less * less);
  }

  void add_rows(const GradientClass& output) {
    const double squares = trace_of(output.gradient, use_.samples);
    for (const GradientRow& row : output.rows) {
      const double square = squares * row.square;
      const double rest = rest_ > 0 ? (1 - row.along) * square / rest_ : 0;
      add(std::sqrt(row.along * square), output.share * row.share, rest, output.gradient);
    }
  }

  void add_gaussian(const GradientClass& output, const Kernel& part) {
    const Kernel& gradient = output.gradient;
    const double share = output.share, deviation = std::sqrt(std::max(gradient.all, 0.0));
    const Kernel counts = multiplicities(use_.samples);
    const double squares =
        (counts.token > 0 ? part.token * part.token / counts.token : 0) +
        (counts.sequence > 0 ? part.sequence * part.sequence / counts.sequence : 0);
    // Of one draw it is uneven also by what the samples share of their logits.
    const double logits = use_.logits > 0 ? (n_ - 1) / (n_ * use_.logits) : 0;
    const double concentration =
        squares > 0
            ? std::min(std::max(squares / (rest_ * rest_), use_.concentration) + logits, 1.0)
            : 0;
    const double spread = 2 * concentration / 9;
    // Rules are odd: both signs of the sum give the same.
    for (Node sum : normal_nodes<33>()) {
      if (sum.at < 0) continue;
      if (sum.at > 0) sum.weight *= 2;
      const double along = deviation * sum.at;
      if (rest_ <= 0) add(along, share * sum.weight, 0, gradient);
      for (const Node& of_rest : normal_nodes<9>()) {
        if (rest_ <= 0) break;
        const double root = std::max(1 - spread + std::sqrt(spread) * of_rest.at, 0.0);
        add(along, share * sum.weight * of_rest.weight, root * root * root, gradient);
      }
    }
  }

  /// E |G| by the second moment and the fourth cumulant of G = sum_t g_t x_t,
  /// sqrt(2/pi) sqrt(E G^2) (1 - kappa_4/24 (E G^2)^2), where it is not Gaussian given g. Rows with
  /// few large g_t, and features that are mostly 0, have less than any law that is smooth.
  double size_of_sums(const GradientClass& output) const {
    const double none = std::numeric_limits<double>::infinity();
    if (rule_.kind != EntryRule::Kind::sign || !output.rows.empty()) return none;
    bool is_gaussian = output.peaked <= 1;
    double size = 0;
    const Entries g = entries_of(output.gradient, use_.samples);
    const double shared = n_ > 1 ? (output.gradient.all - g.same) / (n_ - 1) : 0;
    for (const FeatureClass& x : use_.features) {
      is_gaussian = is_gaussian && x.excess == 0;
      const double square = x.mean * x.mean, second = square + x.variance;
      const double fourth = (x.excess + 3) * x.variance * x.variance +
                            4 * x.mean * x.skewness * x.variance * std::sqrt(x.variance) +
                            6 * square * x.variance + square * square;
      const double sums = n_ * (g.same * second + (n_ - 1) * std::max(shared, 0.0) * square);
      if (sums <= 0) continue;
      const double cumulant =
          n_ * g.same * g.same * 3 * (output.peaked * fourth - second * second) / (sums * sums);
      constexpr double least = 0.5;
      size += x.share * std::sqrt(2 / std::numbers::pi * sums) *
              std::clamp(1 - cumulant / 24, least, 1.0);
    }
    return is_gaussian ? none : size;
  }

  /// `along`: of g, on the vector of ones, of length 1; `rest` in its mean.
  void add(double along, double weight, double rest, const Kernel& gradient) {
    const double squares = rest_ * rest + along * along;
    double mean = 0, slope = 0, of_square = 0;
    for (const FeatureClass& feature : use_.features) {
      const EntryMoments f = entry_moments(rule_, feature.mean * along * std::sqrt(n_),
                                           std::sqrt(feature.variance * squares));
      const Skewed skewed = skewed_by(feature, f, along, squares);
      mean += feature.share * feature.mean * (f.mean + skewed.mean);
      slope += feature.share * feature.variance * f.slope *
               (1 - short_of_gaussian(feature) + skewed.slope);
      of_square += feature.share * feature.variance * f.slope * skewed.of_square;
      const double shared = feature.mean * feature.mean * f.square;
      const double each = weight * feature.share;
      square_ += each * f.square;
      const double linear = each * feature.variance * f.slope * f.slope;
      parts_ = parts_ + Kernel{linear * rest * gradient.token, linear * rest * gradient.sequence,
                               each * f.mean * f.mean + linear * along * along};
      shared_ += each * shared;
      own_ += each * (shared + feature.variance * f.square);
    }
    // The squares g_s^2 have sum_t g_t^2/sqrt(N) along the ones, and 2 S/N times what else g has.
    const double of_all =
        mean * std::sqrt(n_) + slope * along + of_square * squares / std::sqrt(n_);
    slope += of_square * 2 * along / std::sqrt(n_);
    all_ += weight * of_all * along;
    second_.all += weight * of_all * of_all;
    slope_ += weight * slope * rest_ * rest;
    sloped_ += weight * slope * slope * squares / n_;
    second_.token += weight * slope * slope * rest * gradient.token;
    second_.sequence += weight * slope * slope * rest * gradient.sequence;
  }

  /// E sum_t g_t^3 given S = sum_t g_t and sum_t g_t^2.
  double cubes(double along, double squares) const {
    const double sum = along * std::sqrt(n_), rest = squares - along * along;
    return sum * sum * sum / (n_ * n_) + 3 * sum * rest / n_;
  }
  /// What a skewed feature adds to a sign: to E f(G), to the slope, a share, and to E f(G) x_s as
  /// much of g_s^2 (docs/theory/first-step.md#own-change).
  struct Skewed {
    double mean = 0, slope = 0, of_square = 0;
  };
  Skewed skewed_by(const FeatureClass& feature, const EntryMoments& f, double along,
                   double squares) const {
    if (rule_.kind != EntryRule::Kind::sign || feature.skewness == 0 || squares <= 0) return {};
    const double size = std::sqrt(squares), sum = along * std::sqrt(n_);
    const double third = feature.skewness * cubes(along, squares) / (squares * size);
    const double z = feature.mean * sum / (std::sqrt(feature.variance) * size);
    Skewed made;
    made.mean = third / 6 * (z * z - 1) * f.slope * std::sqrt(feature.variance) * size;
    made.slope = third / 6 * (3 * z - z * z * z);
    made.of_square = -feature.skewness * z / (2 * size);
    return made;
  }
  double short_of_gaussian(const FeatureClass& feature) const {
    return rule_.kind == EntryRule::Kind::sign ? steps::short_of_gaussian(feature, n_) : 0;
  }

  const EntryRule& rule_;
  const MatrixUse& use_;
  double n_, rest_ = 0;
  double slope_ = 0, all_ = 0, square_ = 0, shared_ = 0, own_ = 0, sloped_ = 0;
  Kernel second_, parts_;
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
  Kernel of_row = at_least_zero(rows_second - coherent);
  of_row.all = 0;  // all samples alike, whatever their g
  made.of_row = diagonal_of(of_row, use.samples);
  // Overlaps vary by more than that of independent features where a layer before is narrow.
  double product = 0;
  for (const FeatureClass& feature : use.features) {
    const double second = feature.mean * feature.mean + feature.variance;
    product += feature.share * second * second;
  }
  const Entries x = entries_of(use.input, use.samples);
  const double shared = use.samples.tokens > 1 ? x.cross : x.between;
  const double more = use.overlap_variance - std::max(product - shared * shared, 0.0) / n;
  const double apart = x.same > shared ? size * n / (x.same - shared) : 0;
  made.noise = made.noise + diagonal(std::max(more, 0.0) * (use.samples.count() - 1) * apart *
                                     apart * rows.sloped());
  made.update_second = update.scale * update.scale * rows.square();
  made.parts = rows.parts() * (update.scale * update.scale);
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
  made.parts = use.input * use.gradient * (update.scale * update.scale);
  return made;
}

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
  if (update.rule == Update::Rule::orthogonal) return orthogonal_change(update, use);
  if (update.entry.kind == EntryRule::Kind::itself && update.entry.bound == 0)
    return by_gradient(update, use);
  return by_entries(update, use);
}

/// Of a sum over the samples, whose features are not Gaussian: the next order where the first is
/// taken.
double unlike_gaussian(const EntryRule& rule, const MatrixUse& use) {
  double squares = 0;
  for (const FeatureClass& feature : use.features) {
    const double first = short_of_gaussian(feature, use.samples.count());
    squares += feature.share * first * first;
  }
  const bool is_taken = rule.kind == EntryRule::Kind::sign && squares > 0;
  return is_taken ? 2 * squares : use.excess / use.samples.count();
}

double orders_left_out(const Update& update, const MatrixUse& use) {
  const double samples = use.samples.count();
  // Biases and gains are read one by one: nothing is averaged over. Of a table it is the samples
  // that read the same row whose number is taken at its average.
  if (use.is_table) {
    const Entries chance = entries_of(use.input, use.samples);
    const double more = (samples - 1) * chance.cross * (1 - chance.cross);
    if (update.rule != Update::Rule::entry || update.entry.kind != EntryRule::Kind::sign)
      return more;
    // A sign is as large whatever the gradient is.
    const double square = diagonal_of(use.gradient, use.samples);
    const double less = entry_moments(update.entry, 0, std::sqrt(square)).square;
    const double most = entry_moments(update.entry, 0, std::sqrt(square * (1 + more))).square;
    return less > 0 ? most / less - 1 : more;
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
  if (update.rule == Update::Rule::entry && update.entry.kind != EntryRule::Kind::itself)
    left += unlike_gaussian(update.entry, use);
  if (update.entry.kind == EntryRule::Kind::row_over_rms)
    left += 2 / samples;  // of the column's own size
  return left;
}

}  // namespace

std::vector<FeatureClass> gaussian_features(double mean, const Kernel& values,
                                            const Samples& samples) {
  const Entries x = entries_of(values, samples);
  const double others = samples.count() - 1;
  // One sample shares nothing with another.
  const double shared =
      others > 0
          ? ((samples.tokens - 1) * x.cross + (others - samples.tokens + 1) * x.between) / others
          : 0;
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
  for (GradientClass& output : of_theta.outputs) output.gradient = output.gradient * square;
  OwnChange made = of_parameter(update, of_theta);
  made.response = made.response * use.multiplier;
  const Kernel second = made.noise + made.response * made.response * use.gradient;
  made.truncation = std::min(1.0, orders_left_out(update, of_theta) + made.left_out) *
                    diagonal_of(second, use.samples);
  return made;
}

}  // namespace scalecalc::steps
