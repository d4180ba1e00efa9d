#include "moments/positions.hpp"

#include <algorithm>
#include <cmath>

#include "moments/masked_sums.hpp"

namespace scalecalc::moments {
namespace {

/// So many tokens have a position each.
constexpr std::int64_t dense = 64;
/// Up to here positions stand one apart.
constexpr std::int64_t first = 6;

std::vector<std::int64_t> places(std::int64_t tokens, double step, bool last_apart) {
  std::vector<std::int64_t> at;
  if (step == 0) {
    for (std::int64_t t = 0; t < tokens; ++t) at.push_back(t);
    return at;
  }
  for (std::int64_t t = 0; t < tokens - 1;
       t += std::max<std::int64_t>(1, t < first ? 1 : std::llround(step * static_cast<double>(t))))
    at.push_back(t);
  if (last_apart && at.back() != tokens - 2) at.push_back(tokens - 2);
  at.push_back(tokens - 1);
  return at;
}

/// Of a row of n keys what is interpolated is linear in this.
double coordinate(double position) {
  return 1 / std::sqrt(position + 1);
}

void place_tokens(Positions& positions) {
  const auto tokens = static_cast<Eigen::Index>(positions.tokens);
  positions.left.resize(tokens);
  positions.share.resize(tokens);
  for (Eigen::Index s = 0, left = 0; s < tokens; ++s) {
    if (left + 1 < positions.at.size() && positions.at[left + 1] == s) ++left;
    positions.left[s] = static_cast<int>(left);
    positions.share[s] = 0;
    if (positions.at[left] == s) continue;
    const double from = coordinate(positions.at[left]), to = coordinate(positions.at[left + 1]);
    positions.share[s] = (coordinate(static_cast<double>(s)) - from) / (to - from);
  }
}

/// With w_s the shares of token s, what it is between its two neighbours: sums of w over the
/// tokens, and of w w' over pairs of different ones.
void weigh_positions(Positions& positions) {
  const Eigen::Index size = positions.at.size();
  positions.weight = Eigen::ArrayXd::Zero(size);
  Eigen::ArrayXXd same = Eigen::ArrayXXd::Zero(size, size);
  for (Eigen::Index s = 0; s < positions.left.size(); ++s) {
    const int left = positions.left[s];
    const double rest = positions.share[s], kept = 1 - rest;
    positions.weight[left] += kept;
    same(left, left) += kept * kept;
    if (rest == 0) continue;
    positions.weight[left + 1] += rest;
    same(left + 1, left + 1) += rest * rest;
    same(left, left + 1) += kept * rest;
    same(left + 1, left) += kept * rest;
  }
  const Eigen::VectorXd weight = positions.weight.matrix();
  positions.pairs = (weight * weight.transpose()).array() - same;
}

}  // namespace

Eigen::MatrixXd interpolation_of(const Positions& positions) {
  const Eigen::Index tokens = positions.left.size();
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(tokens, positions.at.size());
  for (Eigen::Index s = 0; s < tokens; ++s) {
    const int left = positions.left[s];
    rows(s, left) = 1 - positions.share[s];
    if (positions.share[s] > 0) rows(s, left + 1) = positions.share[s];
  }
  return rows;
}

std::shared_ptr<const Positions> make_positions(std::int64_t tokens, bool all, bool last_apart,
                                                double spacing) {
  auto made = std::make_shared<Positions>();
  made->tokens = tokens;
  made->step = all || tokens <= dense ? 0 : spacing;
  made->last_apart = last_apart;
  const std::vector<std::int64_t> at = places(tokens, made->step, last_apart);
  const auto size = static_cast<Eigen::Index>(at.size());
  made->at.resize(size);
  for (Eigen::Index t = 0; t < size; ++t) made->at[t] = static_cast<int>(at[t]);
  place_tokens(*made);
  made->masked = std::make_shared<MaskedSums>(*made);
  if (made->all()) {
    made->weight = Eigen::ArrayXd::Ones(size);
    made->pairs = 1 - Eigen::ArrayXXd(Eigen::MatrixXd::Identity(size, size));
    return made;
  }
  weigh_positions(*made);
  return made;
}

std::shared_ptr<const Positions> make_kinds(std::int64_t class_tokens, std::int64_t tokens) {
  const auto last = static_cast<Eigen::Index>(class_tokens);
  auto made = std::make_shared<Positions>();
  made->tokens = tokens;
  made->kinds = true;
  made->at = Eigen::ArrayXi::LinSpaced(last + 1, 0, static_cast<int>(class_tokens));
  made->weight = Eigen::ArrayXd::Ones(last + 1);
  made->weight[last] = static_cast<double>(tokens - class_tokens);
  const Eigen::VectorXd weight = made->weight.matrix();
  made->pairs = (weight * weight.transpose()).array();
  made->pairs.matrix().diagonal() -= weight;
  return made;
}

std::shared_ptr<const Positions> make_last_apart(std::int64_t tokens) {
  auto made = std::make_shared<Positions>(*make_kinds(1, tokens));
  made->last_apart = true;
  return made;
}

PerPosition with_class_tokens(const PerPosition& x, double count, double tokens, double second) {
  const auto classes = static_cast<std::int64_t>(count);
  const Alike<double> others = average(x);
  PerPosition made = spread_over({0, second, 0, 0},
                                 make_kinds(classes, classes + static_cast<std::int64_t>(tokens)),
                                 x.between.size() > 0 ? 2 : 1);
  const Eigen::Index last = made.second.size() - 1;
  made.mean[last] = others.mean;
  made.second[last] = others.second;
  made.cross(last, last) = others.cross;
  if (made.between.size() == 0) return made;
  made.between.matrix().diagonal().setConstant(second);
  made.between(last, last) = others.between;
  return made;
}

PerPosition position_table(const PerPosition& x, double second, double /*tokens*/) {
  PerPosition made = uniform(x, {0, second, 0, 0});
  if (made.between.size() > 0)
    made.between.matrix().diagonal() = (second / x.positions->weight).matrix();
  return made;
}

PerPosition with_own_positions(PerPosition x, double second) {
  if (!x.positions->last_apart || x.between.size() == 0) return x;
  x.between -= second / static_cast<double>(x.positions->tokens);
  x.between.matrix().diagonal() += (second / x.positions->weight).matrix();
  return x;
}

Alike<double> same_positions(const PerPosition& x) {
  Alike<double> mean = average(x);
  if (!x.positions->last_apart || x.between.size() == 0) return mean;
  mean.between = (x.between.matrix().diagonal().array() * x.positions->weight).sum() /
                 static_cast<double>(x.positions->tokens);
  return mean;
}

Sinusoids sinusoids_of(std::int64_t tokens, std::int64_t width, std::int64_t columns) {
  const bool is_grid = columns > 0;
  const Eigen::Index count = width / (is_grid ? 4 : 2),
                     places = is_grid ? std::max(columns, tokens / columns) : tokens;
  const double steps = static_cast<double>(is_grid ? count : std::max<Eigen::Index>(1, count - 1));
  Eigen::ArrayXd omega(count);
  for (Eigen::Index i = 0; i < count; ++i)
    omega[i] = std::pow(10000.0, -static_cast<double>(i) / steps);
  Sinusoids made{Eigen::ArrayXd(tokens), Eigen::ArrayXd(places), columns};
  Eigen::ArrayXd mean(places);  // of the sines and cosines of a row, or of a column
  for (Eigen::Index at = 0; at < places; ++at) {
    const Eigen::ArrayXd angle = omega * static_cast<double>(at), cosine = angle.cos();
    made.cosine[at] = cosine.mean();
    mean[at] = (angle.sin().mean() + made.cosine[at]) / 2;
  }
  for (Eigen::Index t = 0; t < tokens; ++t)
    made.mean[t] = is_grid ? (mean[t / columns] + mean[t % columns]) / 2 : mean[t];
  return made;
}

double Sinusoids::product(Eigen::Index t, Eigen::Index s) const {
  if (columns == 0) return cosine[std::abs(t - s)] / 2;
  return (cosine[std::abs(t / columns - s / columns)] +
          cosine[std::abs(t % columns - s % columns)]) /
         4;
}

namespace {

/// E p_t p_s of token t and each other, summed over these.
Eigen::ArrayXd with_others(const Sinusoids& of) {
  const Eigen::Index tokens = of.mean.size();
  Eigen::ArrayXd sums = Eigen::ArrayXd::Zero(tokens);
  for (Eigen::Index t = 0; t < tokens; ++t)
    for (Eigen::Index s = 0; s < t; ++s) {
      const double product = of.product(t, s);
      sums[t] += product;
      sums[s] += product;
    }
  return sums;
}

double number_of_pairs(double tokens) {
  return std::max(1.0, tokens * (tokens - 1));
}

}  // namespace

Alike<double> sinusoid_table(const Sinusoids& of, const Alike<double>& /*x*/) {
  const auto tokens = static_cast<double>(of.mean.size());
  const double cross = with_others(of).sum() / number_of_pairs(tokens);
  return {of.mean.mean(), 0.5, cross, (0.5 + (tokens - 1) * cross) / tokens};
}

PerPosition sinusoid_table(const Sinusoids& of, const PerPosition& x) {
  PerPosition made = uniform(x, {0, 0.5, 0, 0});
  const Eigen::ArrayXi& at = made.positions->at;
  for (Eigen::Index t = 0; t < at.size(); ++t) {
    made.mean[t] = of.mean[at[t]];
    for (Eigen::Index s = 0; s < at.size(); ++s) made.cross(t, s) = of.product(at[t], at[s]);
  }
  if (made.between.size() > 0) made.between = made.cross;
  return made;
}

double pair_scatter(const Sinusoids& of) {
  const Eigen::Index tokens = of.mean.size();
  if (tokens < 3) return 0;
  const double others = static_cast<double>(tokens - 1);
  const Eigen::ArrayXd sums = with_others(of);
  const double mean = sums.mean() / others;
  const Eigen::ArrayXd own = (sums / others - mean) * (others / (others - 1));
  double squares = 0;
  for (Eigen::Index t = 0; t < tokens; ++t)
    for (Eigen::Index s = 0; s < t; ++s) {
      const double rest = of.product(t, s) - mean - own[t] - own[s];
      squares += 2 * rest * rest;
    }
  return squares / number_of_pairs(static_cast<double>(tokens));
}

PerPosition among(const PerPosition& x, std::int64_t tokens) {
  if (x.positions->tokens == tokens) return x;
  return spread_over(average(x),
                     make_positions(tokens, x.positions->all(), x.positions->last_apart,
                                    x.positions->step > 0 ? x.positions->step : Spacing::wide),
                     x.between.size() > 0 ? 2 : 1);
}

Alike<double> of_kind(const PerPosition& x, Kind kind) {
  const Eigen::Index last = x.second.size() - 1;
  const bool has_between = x.between.size() > 0;
  if (kind == Kind::others)
    return {x.mean[last], x.second[last], x.cross(last, last),
            has_between ? x.between(last, last) : 0};
  if (last == 0) return {};
  const double pairs = static_cast<double>(last * (last - 1));
  const double crosses =
      x.cross.topLeftCorner(last, last).sum() - x.cross.matrix().diagonal().head(last).sum();
  return {x.mean.head(last).mean(), x.second.head(last).mean(), pairs > 0 ? crosses / pairs : 0,
          has_between ? x.between.matrix().diagonal().head(last).mean() : 0};
}

namespace {

/// Where the state has the last token: of tokens that are alike it is the one in front of the rest.
Eigen::Index last_of(const PerPosition& x) {
  return x.positions->kinds ? 0 : x.second.size() - 1;
}

/// That entry as `value` says, and nothing elsewhere.
PerPosition at_one(PerPosition x, Eigen::Index at, const Alike<double>& value) {
  x = uniform(std::move(x), {});
  x.second[at] = value.second;
  x.cross(at, at) = value.cross;
  if (x.between.size() > 0) x.between(at, at) = value.between;
  return x;
}

}  // namespace

Alike<double> of_first(const PerPosition& x) {
  return {x.mean[0], x.second[0], x.second[0], x.between.size() > 0 ? x.between(0, 0) : 0};
}

Alike<double> of_last(const PerPosition& x) {
  const Eigen::Index at = last_of(x);
  return {x.mean[at], x.second[at], x.second[at], x.between.size() > 0 ? x.between(at, at) : 0};
}

PerPosition on_kind(PerPosition x, Kind kind, const Alike<double>& value) {
  const Eigen::Index at = kind == Kind::others ? x.second.size() - 1 : 0;
  return at_one(std::move(x), at, value);
}

PerPosition on_last(PerPosition x, const Alike<double>& value) {
  const Eigen::Index at = last_of(x);
  return at_one(std::move(x), at, value);
}

PerPosition without_class_tokens(const PerPosition& x) {
  const Eigen::Index last = x.second.size() - 1;
  const auto tokens = static_cast<std::int64_t>(x.positions->weight[last]);
  return spread_over(of_kind(x, Kind::others), make_kinds(0, tokens), x.between.size() > 0 ? 2 : 1);
}

PerPosition spread_over(const Alike<double>& x, std::shared_ptr<const Positions> positions,
                        std::int64_t batch) {
  const Eigen::Index size = positions->at.size(), pairs = batch > 1 ? size : 0;
  return {std::move(positions), Eigen::ArrayXd::Constant(size, x.mean),
          Eigen::ArrayXd::Constant(size, x.second), Eigen::ArrayXXd::Constant(size, size, x.cross),
          Eigen::ArrayXXd::Constant(pairs, pairs, x.between)};
}

}  // namespace scalecalc::moments
