#include "moments/positions.hpp"

#include <algorithm>
#include <cmath>

namespace scalecalc::moments {
namespace {

constexpr std::int64_t dense = 64;
/// Past `first`, steps are this share of the position.
constexpr std::int64_t first = 8;
constexpr double step = 0.125;

std::vector<std::int64_t> places(std::int64_t tokens, bool all) {
  std::vector<std::int64_t> at;
  if (all || tokens <= dense) {
    for (std::int64_t t = 0; t < tokens; ++t) at.push_back(t);
    return at;
  }
  for (std::int64_t t = 0; t < tokens - 1;
       t += std::max<std::int64_t>(1, t < first ? 1 : std::llround(step * static_cast<double>(t))))
    at.push_back(t);
  at.push_back(tokens - 1);
  return at;
}

/// Row s holds the weights of the two neighbours of token s.
Eigen::MatrixXd linear_interpolation(const Eigen::ArrayXi& at, Eigen::Index tokens) {
  Eigen::MatrixXd rows = Eigen::MatrixXd::Zero(tokens, at.size());
  for (Eigen::Index s = 0, right = 1; s < tokens; ++s) {
    while (right + 1 < at.size() && at[right] < s) ++right;
    const double share = static_cast<double>(s - at[right - 1]) / (at[right] - at[right - 1]);
    rows(s, right - 1) = 1 - share;
    rows(s, right) = share;
  }
  return rows;
}

}  // namespace

std::shared_ptr<const Positions> make_positions(std::int64_t tokens, bool all) {
  const std::vector<std::int64_t> at = places(tokens, all);
  const auto size = static_cast<Eigen::Index>(at.size());
  auto made = std::make_shared<Positions>();
  made->tokens = tokens;
  made->at.resize(size);
  for (Eigen::Index t = 0; t < size; ++t) made->at[t] = static_cast<int>(at[t]);
  if (made->all()) {
    made->weight = Eigen::ArrayXd::Ones(size);
    made->pairs = 1 - Eigen::ArrayXXd(Eigen::MatrixXd::Identity(size, size));
    return made;
  }
  const Eigen::MatrixXd rows = linear_interpolation(made->at, tokens);
  made->weight = rows.colwise().sum().transpose().array();
  made->pairs =
      (made->weight.matrix() * made->weight.matrix().transpose() - rows.transpose() * rows).array();
  made->interpolation = rows;
  return made;
}

PerPosition spread_over(const Alike<double>& x, std::shared_ptr<const Positions> positions,
                        std::int64_t batch) {
  const Eigen::Index size = positions->at.size(), pairs = batch > 1 ? size : 0;
  return {std::move(positions), Eigen::ArrayXd::Constant(size, x.mean),
          Eigen::ArrayXd::Constant(size, x.second), Eigen::ArrayXXd::Constant(size, size, x.cross),
          Eigen::ArrayXXd::Constant(pairs, pairs, x.between)};
}

}  // namespace scalecalc::moments
