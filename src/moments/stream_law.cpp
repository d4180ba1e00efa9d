#include "moments/stream_law.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace scalecalc::moments {
namespace {

constexpr Eigen::Index cells = 160, terms = 10;
constexpr double reach = 7;  ///< of the cells, in standard deviations
constexpr double least_variance =
    0.01;  ///< of a v whose shape cells tell, in squares of their width
constexpr std::size_t most_pairs = 6;
constexpr double seldom = 1e-3;  ///< of a kind, whose shape then counts no more than cells' width

double below(double z) {
  return std::erfc(-z / std::numbers::sqrt2) / 2;
}

/// z of which `below` is p.
double score_of(double p) {
  double low = -reach - 1, high = reach + 1;
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (below(middle) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

StreamLaw empty_law(double mean, double variance) {
  const double deviation = std::sqrt(variance);
  StreamLaw law;
  law.mean = mean;
  law.variance = variance;
  law.step = 2 * reach * deviation / static_cast<double>(cells - 1);
  law.from = law.step * std::floor((mean - reach * deviation) / law.step);
  law.middle = law.from + law.step * (Eigen::ArrayXd::LinSpaced(cells, 0, cells - 1) + 0.5);
  law.width.setConstant(cells, law.step);
  law.chance.setZero(cells);
  return law;
}

void set_scores(StreamLaw& law, const Eigen::ArrayXd& score) {
  law.hermite.resize(terms, cells);
  law.hermite.row(0).setOnes();
  law.hermite.row(1) = score.transpose();
  // He_(n+1)/sqrt((n+1)!) = (z He_n/sqrt(n!) - sqrt(n) He_(n-1)/sqrt((n-1)!))/sqrt(n+1).
  for (Eigen::Index n = 1; n + 1 < terms; ++n) {
    const auto order = static_cast<double>(n);
    law.hermite.row(n + 1) =
        (score.transpose() * law.hermite.row(n) - std::sqrt(order) * law.hermite.row(n - 1)) /
        std::sqrt(order + 1);
  }
}

/// Squares of the Hermite coefficients of f, and what all others have.
Eigen::ArrayXd spectrum(const StreamLaw& law, const Eigen::ArrayXd& f) {
  Eigen::ArrayXd squares(terms + 1);
  const Eigen::ArrayXd weighed = law.chance * f;
  squares.head(terms) = (law.hermite.matrix() * weighed.matrix()).array().square();
  squares[terms] = std::max(0.0, (weighed * f).sum() - squares.head(terms).sum());
  return squares;
}

double at_correlation(const Eigen::ArrayXd& squares, double c) {
  double sum = 0, power = 1;
  for (const double square : squares) {
    sum += square * power;
    power *= c;
  }
  return sum;
}

/// Chances of the cells of `to` for N(mean, variance).
Eigen::ArrayXd chances(const StreamLaw& to, double mean, double deviation) {
  Eigen::ArrayXd made(cells);
  double last = 0;
  for (Eigen::Index j = 0; j + 1 < cells; ++j) {
    const double upto = below((to.from + to.step * static_cast<double>(j + 1) - mean) / deviation);
    made[j] = upto - last;
    last = upto;
  }
  made[cells - 1] = 1 - last;
  return made;
}

bool is_wide(const StreamLaw& to, double variance) {
  return variance > least_variance * to.step * to.step;
}

/// What a cell makes of x' where v is narrow: even over an interval of the mean and the variance
/// that a phi(x) + v has in the cell.
struct Image {
  double middle = 0, width = 0;
};
Image image_of(const StreamCells& from, Eigen::Index i, double factor, double mean,
               double variance) {
  const double scatter = std::max(0.0, from.square[i] - from.value[i] * from.value[i]);
  return {factor * from.value[i] + mean, std::sqrt(12 * (factor * factor * scatter + variance))};
}

/// `part(j, share, middle, width)` for each cell of `to` that the image meets.
template <class Part>
void for_each_part(const StreamLaw& to, const Image& image, const Part& part) {
  const auto cell = [&](double at) {
    return std::clamp<Eigen::Index>(static_cast<Eigen::Index>(std::floor((at - to.from) / to.step)),
                                    0, cells - 1);
  };
  const double low = image.middle - image.width / 2, high = image.middle + image.width / 2;
  const Eigen::Index first = cell(low), last = cell(high);
  if (first == last) {
    part(first, 1.0, image.middle, image.width);
    return;
  }
  for (Eigen::Index j = first; j <= last; ++j) {
    const double edge = to.from + to.step * static_cast<double>(j);
    const double from = j == first ? low : edge, upto = j == last ? high : edge + to.step;
    part(j, (upto - from) / image.width, (from + upto) / 2, upto - from);
  }
}

/// Chances of the cells of `to` for what cell i of `from` becomes by a v of this kind.
Eigen::ArrayXd chances_of(const StreamSum& sum, const StreamLaw& to, Eigen::Index i,
                          double variance) {
  const StreamCells& from = *sum.from;
  if (is_wide(to, variance))
    return chances(to, sum.factor * from.value[i] + sum.mean, std::sqrt(variance));
  Eigen::ArrayXd made = Eigen::ArrayXd::Zero(cells);
  for_each_part(to, image_of(from, i, sum.factor, sum.mean, variance),
                [&](Eigen::Index j, double share, double, double) { made[j] += share; });
  return made;
}

/// Where in each cell x is, of parts that come into it one by one.
class CellParts {
 public:
  explicit CellParts(const StreamLaw& law) : law_(law) {}
  void add(Eigen::Index j, double chance, double middle, double width) {
    const double apart = middle - law_.middle[j];
    has_parts_ = true;
    all_[j] += chance;
    first_[j] += chance * apart;
    square_[j] += chance * (apart * apart + width * width / 12);
  }
  /// With what is even in the cells.
  void add(const Eigen::ArrayXd& chance) {
    all_ += chance;
    square_ += chance * law_.step * law_.step / 12;
  }
  void give(StreamLaw& law) const {
    law.chance = all_;
    if (!has_parts_) return;
    for (Eigen::Index j = 0; j < cells; ++j) {
      if (!(all_[j] > 0)) continue;
      const double apart = first_[j] / all_[j];
      law.middle[j] += apart;
      // No part of it lies beyond the cell.
      law.width[j] = std::min(std::sqrt(12 * std::max(0.0, square_[j] / all_[j] - apart * apart)),
                              law.step - 2 * std::fabs(apart));
    }
  }

 private:
  const StreamLaw& law_;
  bool has_parts_ = false;
  Eigen::ArrayXd all_ = Eigen::ArrayXd::Zero(cells), first_ = all_, square_ = all_;
};

/// The scores of a law whose cells have no others: of the middle of each one's chance.
void set_own_scores(StreamLaw& law) {
  Eigen::ArrayXd score(cells);
  double below_cell = 0;
  for (Eigen::Index i = 0; i < cells; ++i) {
    score[i] = score_of(below_cell + law.chance[i] / 2);
    below_cell += law.chance[i];
  }
  set_scores(law, score);
}

double covariance_of(const Alike<double>& x, double cross) {
  return cross - x.mean * x.mean;
}

/// As many as are kept: the two that have passed most layers are alike.
void limit(std::vector<StreamGradient::Pair>& pairs) {
  while (pairs.size() > most_pairs) {
    StreamGradient::Pair &a = pairs[0], &b = pairs[1];
    const double first = std::fabs(a.within) + std::fabs(a.between),
                 second = std::fabs(b.within) + std::fabs(b.between);
    if (first + second > 0) a.f = (first * a.f + second * b.f) / (first + second);
    a.within += b.within;
    a.between += b.between;
    pairs.erase(pairs.begin() + 1);
  }
}

}  // namespace

StreamLaw gaussian_law(double mean, double variance) {
  StreamLaw law = empty_law(mean, variance);
  const double deviation = std::sqrt(variance);
  law.chance = chances(law, mean, deviation);
  set_scores(law, (law.middle - mean) / deviation);
  return law;
}

StreamLaw law_of_kinds(const Mixture& kinds, double variance) {
  StreamLaw law = empty_law(0, variance);
  CellParts parts(law);
  for (Eigen::Index k = 0; k < kinds.weight.size(); ++k) {
    const double own = kinds.variance[k] * variance, weight = kinds.weight[k];
    if (is_wide(law, own)) {
      parts.add(weight * chances(law, 0, std::sqrt(own)));
      continue;
    }
    // On both sides of the edge at 0.
    const auto above = static_cast<Eigen::Index>(std::lround(-law.from / law.step));
    parts.add(above - 1, weight / 2, 0, 0);
    parts.add(above, weight / 2, 0, 0);
  }
  parts.give(law);
  set_own_scores(law);
  return law;
}

StreamCells stream_cells(const Activation& phi, StreamLaw law) {
  constexpr Eigen::Index points = 8;
  std::vector<double> at, value(cells * points), slope(cells * points);
  at.reserve(cells * points);
  for (Eigen::Index i = 0; i < cells; ++i)
    for (Eigen::Index j = 0; j < points; ++j)
      at.push_back(law.middle[i] +
                   law.width[i] *
                       ((static_cast<double>(j) + 0.5) / static_cast<double>(points) - 0.5));
  phi.evaluate(at.data(), value.data(), slope.data(), at.size());
  const auto averages = [&](const std::vector<double>& of) {
    return Eigen::Map<const Eigen::ArrayXXd>(of.data(), points, cells).eval();
  };
  const Eigen::ArrayXXd y = averages(value), s = averages(slope);
  StreamCells made;
  made.law = std::move(law);
  made.is_smooth = phi.breaks().empty();
  made.value = y.colwise().mean().transpose();
  made.square = y.square().colwise().mean().transpose();
  made.slope = s.colwise().mean().transpose();
  made.slope_square = s.square().colwise().mean().transpose();
  return made;
}

StreamPairs::StreamPairs(const StreamLaw& law, double covariance) : law_(law) {
  Eigen::ArrayXd squares = spectrum(law, law.middle - law.mean);
  squares[0] = 0;
  const auto at = [&](double c) { return at_correlation(squares, c); };
  double low = -1, high = 1;
  if (covariance >= at(high)) {
    correlation_ = 1;
    return;
  }
  if (covariance <= at(low)) {
    correlation_ = -1;
    return;
  }
  for (int i = 0; i < 50; ++i) {
    const double middle = (low + high) / 2;
    (at(middle) < covariance ? low : high) = middle;
  }
  correlation_ = (low + high) / 2;
}

double StreamPairs::operator()(const Eigen::ArrayXd& f) const {
  return at_correlation(spectrum(law_, f), correlation_);
}

std::shared_ptr<const StreamSum> stream_sum(std::shared_ptr<const StreamCells> from, double factor,
                                            const StreamBranch& v) {
  const Eigen::ArrayXd value = factor * from->value;
  const double average = (from->law.chance * value).sum();
  const double spread = (from->law.chance * (value - average).square()).sum();
  if (!(v.variance > 0) || !std::isfinite(spread + v.variance)) return nullptr;
  StreamLaw to = empty_law(average + v.mean, spread + v.variance);
  StreamSum made;
  // Of a v that is narrow whatever its kind is, cells see the variance alone.
  if (v.kinds.plain() || !is_wide(to, v.variance)) {
    made.kinds.push_back({1, v.variance});
  } else {
    for (Eigen::Index k = 0; k < v.kinds.weight.size(); ++k)
      made.kinds.push_back({v.kinds.weight[k], v.kinds.variance[k] * v.variance});
  }
  // Relu leaves an atom at 0 and leaky ones nearly that: v makes parts of it that cells cannot
  // tell, and the next one has its kink there.
  double narrow = 0;
  for (const StreamSum::Kind& kind : made.kinds) {
    const bool wide = is_wide(to, kind.variance);
    if (wide && !v.is_gaussian) return nullptr;
    if (!wide) narrow += kind.weight;
  }
  if (narrow > seldom && !from->is_smooth) return nullptr;
  made.from = std::move(from);
  made.factor = factor;
  made.mean = v.mean;
  made.variance = v.variance;
  CellParts parts(to);
  for (Eigen::Index i = 0; i < cells; ++i) {
    const double chance = made.from->law.chance[i];
    if (!(chance > 0)) continue;
    for (const StreamSum::Kind& kind : made.kinds) {
      const double both = chance * kind.weight;
      if (is_wide(to, kind.variance)) {
        parts.add(both * chances_of(made, to, i, kind.variance));
        continue;
      }
      for_each_part(to, image_of(*made.from, i, factor, v.mean, kind.variance),
                    [&](Eigen::Index j, double share, double middle, double width) {
                      parts.add(j, share * both, middle, width);
                    });
    }
  }
  parts.give(to);
  set_own_scores(to);
  made.to = std::make_shared<const StreamLaw>(std::move(to));
  return std::make_shared<const StreamSum>(std::move(made));
}

StreamExcess stream_excess(const Activation& phi, const StreamCells& of, const Alike<double>& x) {
  const StreamCells gaussian = stream_cells(phi, gaussian_law(x.mean, x.second - x.mean * x.mean));
  StreamExcess excess;
  const auto add = [&](const StreamCells& at, double sign) {
    const StreamPairs within(at.law, covariance_of(x, x.cross)),
        between(at.law, covariance_of(x, x.between));
    const auto mean = [&](const Eigen::ArrayXd& f) { return sign * (at.law.chance * f).sum(); };
    excess.values.mean += mean(at.value);
    excess.values.second += mean(at.square);
    excess.values.cross += sign * within(at.value);
    excess.values.between += sign * between(at.value);
    excess.slopes.second += mean(at.slope_square);
    excess.slopes.cross += sign * within(at.slope);
    excess.slopes.between += sign * between(at.slope);
    excess.correlation =
        std::max(std::fabs(within.correlation()), std::fabs(between.correlation()));
  };
  add(gaussian, -1);
  add(of, 1);
  return excess;
}

StreamPassed through_slopes(const std::shared_ptr<const StreamCells>& at,
                            const StreamGradient* known, const Alike<double>& g,
                            const Alike<double>& slopes, const Alike<double>& inputs,
                            const Alike<double>& x) {
  const StreamLaw& law = at->law;
  const StreamPairs within(law, covariance_of(x, x.cross)),
      between(law, covariance_of(x, x.between));
  const Eigen::ArrayXd apart = law.middle - law.mean;
  StreamPassed made;
  made.known.at = at;
  made.known.second.setZero(cells);
  Alike<double> rest{0, g.second, g.cross, g.between};
  if (known != nullptr) {
    rest.second -= (law.chance * known->second).sum();
    made.known.second = known->second * at->slope_square;
    made.x.second = (law.chance * made.known.second).sum();
    made.product.second = (law.chance * made.known.second * apart.square()).sum();
    for (const StreamGradient::Pair& pair : known->pairs) {
      rest.cross -= pair.within * within(pair.f);
      rest.between -= pair.between * between(pair.f);
      const Eigen::ArrayXd f = pair.f * at->slope, of_input = f * apart;
      made.x.cross += pair.within * within(f);
      made.x.between += pair.between * between(f);
      made.product.cross += pair.within * within(of_input);
      made.product.between += pair.between * between(of_input);
      made.known.pairs.push_back({f, pair.within, pair.between});
    }
  }
  made.known.second += rest.second * at->slope_square;
  made.known.pairs.push_back({at->slope, rest.cross, rest.between});
  limit(made.known.pairs);
  made.x.second += rest.second * slopes.second;
  made.x.cross += rest.cross * slopes.cross;
  made.x.between += rest.between * slopes.between;
  made.product.second += rest.second * inputs.second;
  made.product.cross += rest.cross * inputs.cross;
  made.product.between += rest.between * inputs.between;
  return made;
}

StreamParts through_stream_sum(const StreamSum& sum, const StreamGradient& known,
                               const Alike<double>& g, const Alike<double>& v) {
  const StreamLaw &from = sum.from->law, &to = *sum.to;
  const auto pairs = static_cast<Eigen::Index>(known.pairs.size());
  // By columns: what is known by x', and that times v.
  Eigen::MatrixXd of(cells, 1 + pairs), by_stream(cells, 1 + pairs);
  of.col(0) = known.second;
  for (Eigen::Index j = 0; j < pairs; ++j)
    of.col(1 + j) = known.pairs[static_cast<std::size_t>(j)].f;
  Eigen::RowVectorXd first = Eigen::RowVectorXd::Zero(1 + pairs),
                     square = Eigen::RowVectorXd::Zero(1 + pairs);
  for (Eigen::Index i = 0; i < cells; ++i) {
    const double at = sum.factor * sum.from->value[i] + sum.mean;
    const Eigen::ArrayXd apart = to.middle - at;
    by_stream.row(i).setZero();
    for (const StreamSum::Kind& kind : sum.kinds) {
      const Eigen::ArrayXd chance = chances_of(sum, to, i, kind.variance);
      const Eigen::RowVectorXd here = chance.matrix().transpose() * of;
      by_stream.row(i) += kind.weight * here;
      const double both = from.chance[i] * kind.weight;
      if (!is_wide(to, kind.variance)) {
        // A narrow v moves no f.
        square += both * kind.variance * here;
        continue;
      }
      first += both * ((chance * apart).matrix().transpose() * of);
      square += both * ((chance * apart.square()).matrix().transpose() * of);
    }
  }
  StreamParts made;
  made.stream.at = sum.from;
  made.stream.second = by_stream.col(0);
  Alike<double> rest{0, g.second - (to.chance * known.second).sum(), 0, 0};
  made.product.second = square[0] + std::max(0.0, rest.second) * v.second;
  double of_within = 0, of_between = 0;
  for (Eigen::Index j = 0; j < pairs; ++j) {
    const StreamGradient::Pair& pair = known.pairs[static_cast<std::size_t>(j)];
    made.stream.pairs.push_back({by_stream.col(1 + j), pair.within, pair.between});
    // E v_t f_t v_u f_u by the first two Hermite polynomials of v.
    const double mean = first[1 + j], slope = square[1 + j] / sum.variance;
    made.product.cross += pair.within * (mean * mean + v.cross * slope * slope);
    made.product.between += pair.between * (mean * mean + v.between * slope * slope);
    const double all = (to.chance * pair.f).sum();
    of_within += pair.within * all * all;
    of_between += pair.between * all * all;
  }
  made.product.cross += (g.cross - of_within) * v.cross;
  made.product.between += (g.between - of_between) * v.between;
  return made;
}

void scale(StreamGradient& known, double square) {
  known.second *= square;
  for (StreamGradient::Pair& pair : known.pairs) {
    pair.within *= square;
    pair.between *= square;
  }
}

}  // namespace scalecalc::moments
