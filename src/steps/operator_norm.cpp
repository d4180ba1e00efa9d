#include "steps/operator_norm.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "steps/own_parts.hpp"

namespace scalecalc::steps {
namespace {

/// |M|^2 as a function of t = 1/D^2 of what would have it in the place of a part:
/// (n/t) m (1 + Psi/n) (1 + Psi/m) ..., Psi = sum D^2 t/(1 - D^2 t) + rest t.
class Edge {
 public:
  explicit Edge(const MatrixLaw& law) : law_(law) {
    for (const MatrixLaw::Part& part : law.parts)
      if (is_bulk(part)) largest_ = std::max(largest_, part.square);
  }

  Figure run() const {
    const double far = std::numeric_limits<double>::infinity();
    const double least = has_bulk() ? place_of_least() : 0;
    Figure made = has_bulk() ? bulk(least) : Figure{0, 0, 0};
    const double end = has_bulk() ? time_at(least) : far;
    for (const MatrixLaw::Part& part : law_.parts) {
      if (is_bulk(part) || part.square <= 0 || part.count <= 0 || 1 / part.square >= end) continue;
      const double apart = square_at(1 / part.square, part.square);
      if (apart <= made.value) continue;
      // |z'|^2 |z|^2 of two vectors.
      const double deviation = std::sqrt(2 / law_.fan_in + 2 / law_.fan_out);
      made = {apart, 0, apart * deviation};
    }
    return made;
  }

 private:
  /// One direction is no continuum of them.
  static bool is_bulk(const MatrixLaw::Part& part) { return part.count > 1 && part.square > 0; }
  bool has_bulk() const { return largest_ > 0 || law_.rest > 0; }

  /// Of the bulk, and of single parts whose square is below `apart`.
  double sum_at(double t, double apart) const {
    double sum = 0;
    for (const MatrixLaw::Part& part : law_.parts) {
      const double size = part.square * t;
      if (is_bulk(part) || part.square < apart) sum += part.count * size / (1 - size);
    }
    return sum;
  }
  double square_at(double t, double apart = 0) const {
    const double parts = sum_at(t, apart), all = parts + law_.rest * t;
    double made = (law_.fan_in + all) * (law_.fan_out + all) / t;
    for (const double narrow : law_.narrow) made *= 1 + parts * narrow;
    return made;
  }

  /// t over all that it can be, by a number without bounds.
  double time_at(double x) const {
    const double grown = std::exp(x);
    if (largest_ > 0) return grown / (1 + grown) / largest_;
    return grown * std::sqrt(law_.fan_in * law_.fan_out) / law_.rest;
  }

  double place_of_least() const {
    constexpr double reach = 30;
    constexpr int cuts = 90;
    const double ratio = (std::sqrt(5.0) - 1) / 2;
    double low = -reach, high = reach;
    for (int i = 0; i < cuts; ++i) {
      const double a = high - ratio * (high - low), b = low + ratio * (high - low);
      square_at(time_at(a)) < square_at(time_at(b)) ? high = b : low = a;
    }
    return (low + high) / 2;
  }

  /// The edge, and the law of Tracy and Widom there: the largest of so many lies below it.
  Figure bulk(double x) const {
    constexpr double kMean = -1.2065335745820, kVariance = 1.607781034581;
    constexpr double h = 1e-3;
    const auto square = [&](double at) { return square_at(time_at(at)); };
    const auto sum = [&](double at) { return sum_at(time_at(at), 0) + law_.rest * time_at(at); };
    const double edge = square(x);
    const double curve = std::max(square(x + h) - 2 * edge + square(x - h), 0.0) / (h * h);
    const double slope = (sum(x + h) - sum(x - h)) / (2 * h);
    const double scale = std::cbrt(edge * edge * curve / (slope * slope) / 2);
    return {edge + kMean * scale, 0, std::sqrt(kVariance) * scale};
  }

  const MatrixLaw& law_;
  double largest_ = 0;
};

/// Fourth powers of signals that are next to nothing underflow, and quotients of them are no
/// numbers.
bool is_finite(const MatrixLaw& law) {
  const auto is_number = [](double x) { return std::isfinite(x); };
  return is_number(law.rest) && std::all_of(law.narrow.begin(), law.narrow.end(), is_number) &&
         std::all_of(law.parts.begin(), law.parts.end(), [&](const MatrixLaw::Part& part) {
           return is_number(part.square) && is_number(part.count);
         });
}

/// sum s v^2/(sum s v)^2 - 1.
template <class Of, class Value>
double unevenness(const std::vector<Of>& classes, const Value& value) {
  double mean = 0, squares = 0;
  for (const Of& one : classes) {
    mean += one.share * value(one);
    squares += one.share * value(one) * value(one);
  }
  return mean > 0 ? std::max(squares / (mean * mean) - 1, 0.0) : 0;
}

/// A sign sees rows divided by their length, in which what is large has less of its share: of a
/// spread of eigenvalues s, s/(1 + 2 s/n) has so much.
double left_by_sign(double spread, double n) {
  double weights = 0, mean = 0, square = 0;
  for (const Node& node : normal_nodes<65>()) {
    const double cube = std::max(1 - spread / 9 + std::sqrt(spread) / 3 * node.at, 0.0);
    const double s = cube * cube * cube, made = s / (1 + 2 * s / n);
    weights += node.weight;
    mean += node.weight * made;
    square += node.weight * made * made;
  }
  return std::min((square * weights / (mean * mean) - 1) / spread, 1.0);
}

/// What the overlaps of two samples vary by beside those of fan_in independent features, fan_out
/// independent rows.
std::vector<double> narrow_of(const Update& update, const MatrixUse& use) {
  std::vector<double> made;
  const Entries x = entries_of(use.input, use.samples);
  const double n = use.samples.count();
  const double shared = use.samples.tokens > 1 ? x.cross : x.between;
  double product = 0;
  for (const FeatureClass& feature : use.features) {
    const double second = feature.mean * feature.mean + feature.variance;
    product += feature.share * second * second;
  }
  const double more = use.overlap_variance - std::max(product - shared * shared, 0.0) / use.fan_in;
  if (more > 0 && x.same > shared) made.push_back(more / ((x.same - shared) * (x.same - shared)));
  const bool is_sign = update.entry.kind == EntryRule::Kind::sign;
  // Of one draw's covariance of a row: of the layers behind, and of each head by itself.
  const double uneven = std::max(use.concentration * n - 1, 0.0), layers = use.behind * n;
  const double kept = is_sign && uneven + layers > 0 ? left_by_sign(uneven + layers, n) : 1;
  made.push_back(use.behind * kept);
  made.push_back(uneven / n / use.parts * kept);
  // A sign is as large whatever feature and row it is of.
  if (is_sign) return made;
  made.push_back(unevenness(use.features, [](const FeatureClass& of) { return of.variance; }) /
                 use.fan_in);
  // Rows with a target are few, and have one large number each.
  const bool of_targets = !use.outputs.empty() && !use.outputs.front().rows.empty();
  if (!of_targets)
    made.push_back(
        unevenness(use.outputs,
                   [&](const GradientClass& of) { return diagonal_of(of.gradient, use.samples); }) /
        use.fan_out);
  return made;
}

/// Of the share of an entry's square that is no linear function of the samples' gradients, odd
/// functions of third and fifth order have so many directions. Of a sign: (2/pi)/6 and (2/pi) 3/40
/// of 1 - 2/pi.
void add_orders(const MatrixUse& use, MatrixLaw& law) {
  constexpr double third = 0.29198, fifth = 0.13139;
  // A sum has as many terms as would be alike.
  double peaked = 0;
  for (const GradientClass& output : use.outputs) peaked += output.share * output.peaked;
  const double terms = use.samples.count() / std::max(peaked, 1.0) / (1 + use.excess);
  const double even = use.concentration > 0 ? 1 / use.concentration : terms;
  const double n = std::max(std::min(terms, even), 1.0);
  const double of_third = n * (n + 1) * (n + 2) / 6;
  const double of_fifth = of_third * (n + 3) * (n + 4) / 20;
  law.parts.push_back({law.rest * third / of_third, of_third});
  law.parts.push_back({law.rest * fifth / of_fifth, of_fifth});
  law.rest *= 1 - third - fifth;
}

}  // namespace

Figure largest_square(const MatrixLaw& law) {
  return Edge(law).run();
}

Figure norm_of_change(const Update& update, const MatrixUse& use, const OwnChange& own) {
  const double entries = use.fan_in * use.fan_out, all = entries * own.update_second;
  // Of a vector, and of one sample's gradient with its signs.
  const bool is_one = use.fan_in == 1 || use.fan_out == 1 || use.samples.count() == 1;
  if (update.scale == 0 || (is_one && !use.is_table)) return {all, 0, 0};
  // What overflows is named where it arrives; the edge is found by fourth powers of it.
  if (use.is_table || use.averaged || !std::isfinite(all * all * all)) return {};
  // More values than follow from independent draws lie near the most, since they repel each other.
  if (update.rule == Update::Rule::orthogonal) return {own.largest, 0, own.most - own.largest};
  MatrixLaw law{use.fan_in, use.fan_out, {}, own.update_second, narrow_of(update, use)};
  const Kernel counts = multiplicities(use.samples);
  law.parts = {{own.parts.token, counts.token},
               {own.parts.sequence, counts.sequence},
               {own.parts.all, counts.all}};
  for (const MatrixLaw::Part& part : law.parts) law.rest -= part.square * part.count;
  law.rest = std::max(law.rest, 0.0);
  const bool is_gradient = update.entry.kind == EntryRule::Kind::itself && update.entry.bound == 0;
  if (is_gradient) law.rest = 0;
  if (update.entry.kind == EntryRule::Kind::sign) add_orders(use, law);
  if (!is_finite(law)) return {};
  return largest_square(law);
}

Figure norm_of_start(const ParameterInfo& parameter) {
  const double rows = static_cast<double>(parameter.rows);
  const double columns = static_cast<double>(parameter.columns);
  if (!parameter.distribution)
    return {rows * columns * parameter.constant * parameter.constant, 0, 0};
  const double variance = parameter.std * parameter.std;
  if (std::min(rows, columns) == 1) return {rows * columns * variance, 0, 0};
  if (*parameter.distribution == Distribution::orthogonal)
    return {std::max(rows, columns) * variance, 0, 0};
  return largest_square({rows, columns, {}, variance});
}

}  // namespace scalecalc::steps
