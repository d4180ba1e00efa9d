#include "moments/relative_bias.hpp"

#include "moments/positions.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;

/// C = diag f - f f' of rows whose keys fall into the buckets with shares f, averaged, and with it
/// the relative variance 2 tr C^2/(tr C)^2 of b' C b over Gaussian b.
class SharesOfRows {
 public:
  explicit SharesOfRows(Index buckets) : sum_(MatrixXd::Zero(buckets, buckets)) {}
  /// Returns that of the row alone.
  double add(const Eigen::VectorXd& shares, double weight) {
    MatrixXd one = -shares * shares.transpose();
    one.diagonal() += shares;
    sum_ += weight * one;
    return relative(one);
  }
  double variance() const { return relative(sum_); }

 private:
  static double relative(const MatrixXd& c) {
    const double trace = c.trace();
    return trace > 0 ? 2 * c.squaredNorm() / (trace * trace) : 0;
  }
  MatrixXd sum_;
};

}  // namespace

/// With R_t the keys of row t in a bucket: the same numbers, in another order, are its queries at
/// each key, as buckets go by s - t.
BiasOverlap<Alike<double>> bias_overlap(const RelativeBias& bias, std::int64_t tokens) {
  BiasOverlap<Alike<double>> made;
  if (tokens < 2) return made;
  Eigen::VectorXd row = Eigen::VectorXd::Zero(bias.buckets), all = row;
  const auto bucket = [&](std::int64_t offset) {
    return static_cast<Index>(relative_bucket(bias, false, offset));
  };
  SharesOfRows shares(bias.buckets);
  for (std::int64_t s = 0; s < tokens; ++s) row[bucket(s)] += 1;
  const double n = static_cast<double>(tokens);
  double squares = 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    made.row_variance += shares.add(row / n, 1 / n) / n;
    squares += row.squaredNorm();
    all += row;
    row[bucket(tokens - 1 - t)] -= 1;
    row[bucket(-t - 1)] += 1;
  }
  const double total = all.squaredNorm();
  const double pairs = n * n * (n - 1);
  const double at_one = (squares - n * n) / pairs;
  const double at_two = (total - 2 * squares + n * n) / (pairs * (n - 1));
  made.covariance = {0, 1 - at_one, at_one - at_two, 0};
  made.head_variance = shares.variance();
  return made;
}

BucketRows::BucketRows(const RelativeBias& bias, std::shared_ptr<const Positions> positions)
    : positions_(std::move(positions)) {
  const auto tokens = static_cast<Index>(positions_->tokens);
  const Index size = positions_->at.size();
  buckets_.assign(static_cast<std::size_t>(relative_bucket(bias, true, 1 - tokens)) + 1,
                  {MatrixXd::Zero(size, tokens), {}});
  SharesOfRows shares_of_rows(static_cast<Index>(buckets_.size()));
  for (Index j = 0; j < size; ++j) {
    const Index seen = positions_->at[j] + 1;
    for (Index s = 0; s < seen; ++s) {
      const auto b = static_cast<std::size_t>(relative_bucket(bias, true, s + 1 - seen));
      buckets_[b].rows(j, s) = 1;
    }
    const double keys = static_cast<double>(seen);
    Eigen::VectorXd shares(static_cast<Index>(buckets_.size()));
    Index b = 0;
    for (Bucket& bucket : buckets_) {
      const double share = shares[b++] = bucket.rows.row(j).sum() / keys;
      bucket.rows.row(j).head(seen).array() -= share;
      bucket.rows.row(j) /= keys;
    }
    row_variance_ = shares_of_rows.add(shares, positions_->weight[j]);
  }
  head_variance_ = shares_of_rows.variance();
  for (Bucket& bucket : buckets_)
    bucket.gathered =
        positions_->all() ? bucket.rows : MatrixXd(bucket.rows * interpolation_of(*positions_));
  slopes_.resize(size, size);
  for (Index t = 0; t < size; ++t)
    for (Index u = 0; u < size; ++u) {
      const double one = positions_->at[t] + 1.0, other = positions_->at[u] + 1.0;
      slopes_(t, u) = (1 - 1 / std::min(one, other)) / std::max(one, other);
    }
}

ArrayXXd BucketRows::through(const PerPosition& values) const {
  const bool all = positions_->all();
  const ArrayXd diagonal = values.cross.matrix().diagonal().array();
  ArrayXd own = values.second - diagonal;
  if (!all) {
    const MatrixXd near = interpolation_of(*positions_);
    own = (near * values.second.matrix()).array() -
          ((near * values.cross.matrix()).array() * near.array()).rowwise().sum();
  }
  ArrayXXd sum = ArrayXXd::Zero(values.second.size(), values.second.size());
  for (const Bucket& bucket : buckets_)
    sum += (bucket.gathered * values.cross.matrix() * bucket.gathered.transpose() +
            bucket.rows * own.matrix().asDiagonal() * bucket.rows.transpose())
               .array();
  return sum;
}

namespace {

/// sum/(slopes D), 0 where a row has one key or tokens do not differ.
PerPosition over_slopes(const BucketRows& rows, const ArrayXXd& sum, const PerPosition& apart) {
  PerPosition made = without_means(apart);
  const auto over = [](double x, double of) { return of > 0 ? x / of : 0; };
  for (Index t = 0; t < made.second.size(); ++t) {
    made.second[t] = std::max(0.0, over(sum(t, t), rows.slopes()(t, t) * apart.second[t]));
    for (Index u = 0; u < made.second.size(); ++u)
      made.cross(t, u) = over(sum(t, u), rows.slopes()(t, u) * apart.cross(t, u));
  }
  return made;
}

}  // namespace

PerPosition bias_gradient(const BucketRows& rows, const PerPosition& values,
                          const PerPosition& apart) {
  return over_slopes(rows, rows.through(values), apart);
}

const KnownBucketRows& bucket_rows(KnownBucketRows& known, const RelativeBias& bias,
                                   const PerPosition& rows) {
  if (known.positions == rows.positions.get() && known.buckets == bias.buckets &&
      known.distance == bias.distance)
    return known;
  known = {rows.positions.get(),
           bias.buckets,
           bias.distance,
           std::make_shared<BucketRows>(bias, rows.positions),
           {}};
  const PerPosition each = uniform(rows, Alike<double>{0, 1, 0, 0});
  const PerPosition one = uniform(rows, Alike<double>{0, 1, 1, 0});
  known.overlap = {over_slopes(*known.rows, known.rows->through(each), one),
                   known.rows->row_variance(), known.rows->head_variance()};
  return known;
}

}  // namespace scalecalc::moments
