#include "moments/turned_windows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "moments/at_tokens.hpp"

namespace scalecalc::moments {
namespace {

using Eigen::ArrayXd;
using Eigen::ArrayXXd;
using Eigen::Index;
using Eigen::MatrixXd;

/// (part, row) x key as row x (part, key), the same numbers: sums over parts and keys are then one
/// product.
Eigen::Map<const MatrixXd> by_rows(const MatrixXd& stack) {
  const Index size = stack.cols();
  return {stack.data(), size, stack.rows()};
}

/// Columns of complex numbers.
struct TurnedColumns {
  ArrayXXd re, im;

  TurnedColumns(Index rows, Index columns)
      : re(ArrayXXd::Zero(rows, columns)), im(ArrayXXd::Zero(rows, columns)) {}
  /// Adds to column `to` column `from` of x times a + i b.
  template <class Part>
  void add(Index to, const Part& x_re, const Part& x_im, Index from, double a, double b) {
    re.col(to) += a * x_re.col(from) - b * x_im.col(from);
    im.col(to) += b * x_re.col(from) + a * x_im.col(from);
  }
  void copy(Index to, const TurnedColumns& x, Index from) {
    re.col(to) = x.re.col(from);
    im.col(to) = x.im.col(from);
  }
};

}  // namespace

TurnedWindows::TurnedWindows(std::int64_t window, std::shared_ptr<const Positions> positions,
                             const std::vector<KeyTurn>& turns)
    : window_(window), positions_(std::move(positions)), sums_(window, *positions_) {
  const auto count = static_cast<Index>(turns.size());
  const Index size = positions_->at.size();
  weight_ = (positions_->at.cast<double>() + 1).min(static_cast<double>(window)).inverse();
  roots_.resize(count);
  turns_.resize(2 * count, static_cast<Index>(positions_->tokens));
  for (Index i = 0; i < count; ++i) {
    const auto& [theta, share] = turns[static_cast<std::size_t>(i)];
    roots_[i] = std::sqrt(share);
    for (Index s = 0; s < turns_.cols(); ++s) {
      turns_(i, s) = std::cos(theta * static_cast<double>(s));
      turns_(count + i, s) = std::sin(theta * static_cast<double>(s));
    }
  }
  MatrixXd at(2 * count, size);
  for (Index t = 0; t < size; ++t) {
    at.col(t).head(count) = roots_ * turns_.col(positions_->at[t]).head(count);
    at.col(t).tail(count) = roots_ * turns_.col(positions_->at[t]).tail(count);
  }
  cosines_ = (at.transpose() * at).array();
  first_meeting_.resize(size);
  last_meeting_.resize(size);
  for (Index u = 0; u < size; ++u) {
    Index from = 0, to = u;
    while (positions_->at[from] < first_key(u)) ++from;
    while (to + 1 < size && first_key(to + 1) <= positions_->at[u]) ++to;
    first_meeting_[u] = static_cast<int>(from);
    last_meeting_[u] = static_cast<int>(to);
  }
  unturned_ = MatrixXd::Zero(size, size);
  for (Index t = 0; t < size; ++t)
    for (Index s = first_key(t); s <= positions_->at[t]; ++s) {
      const double share = share_of_next(s);
      unturned_(t, cell_of(s)) += (1 - share) * weight_[t];
      if (share > 0) unturned_(t, cell_of(s) + 1) += share * weight_[t];
    }
  gather();
}

Index TurnedWindows::first_key(Index row) const {
  return std::max<Index>(0, positions_->at[row] + 1 - static_cast<Index>(window_));
}

Index TurnedWindows::cell_of(Index token) const {
  return positions_->all() ? token : positions_->left[token];
}

double TurnedWindows::share_of_next(Index token) const {
  return positions_->all() ? 0 : positions_->share[token];
}

TurnedWindows::CellSums TurnedWindows::cell_sums(const ArrayXd& f) const {
  const Index size = positions_->at.size(), parts = turns_.rows();
  const ArrayXXd none = ArrayXXd::Zero(parts, size);
  CellSums sums{none, none, none, none};
  const auto add = [&](Index s, Index to, ArrayXXd& left, ArrayXXd& right) {
    const double share = share_of_next(s);
    left.col(to) += (f[s] * (1 - share)) * turns_.col(s);
    if (share > 0) right.col(to) += (f[s] * share) * turns_.col(s);
  };
  for (Index s = 0; s < f.size(); ++s) add(s, cell_of(s), sums.left, sums.right);
  for (Index row = 0; row < size; ++row) {
    const Index first = first_key(row);
    for (Index s = positions_->at[cell_of(first)]; s < first; ++s)
      add(s, row, sums.before_left, sums.before_right);
  }
  return sums;
}

void TurnedWindows::gather() {
  const Index size = positions_->at.size(), count = roots_.size();
  const CellSums cells = cell_sums(ArrayXd::Ones(positions_->tokens));
  gathered_ = MatrixXd::Zero(2 * count * size, size);
  ArrayXXd of_row(2 * count, size);
  for (Index t = 0; t < size; ++t) {
    of_row.setZero();
    const Index first = cell_of(first_key(t));
    for (Index cell = first; cell < t; ++cell) {
      of_row.col(cell) += cells.left.col(cell);
      of_row.col(cell + 1) += cells.right.col(cell);
    }
    of_row.col(first) -= cells.before_left.col(t);
    if (first + 1 < size) of_row.col(first + 1) -= cells.before_right.col(t);
    of_row.col(t) += turns_.col(positions_->at[t]);
    const auto row = turns_.col(positions_->at[t]);
    for (Index i = 0; i < count; ++i) {
      const double cosine = roots_[i] * weight_[t] * row[i],
                   sine = roots_[i] * weight_[t] * row[count + i];
      const auto part = [&](Index of) { return gathered_.row(of * size + t).array(); };
      part(i) = cosine * of_row.row(i) + sine * of_row.row(count + i);
      part(count + i) = sine * of_row.row(i) - cosine * of_row.row(count + i);
    }
  }
}

ArrayXXd TurnedWindows::with_own(const MatrixXd& x, const ArrayXd& f) const {
  const Index size = positions_->at.size(), count = roots_.size();
  const CellSums cells = cell_sums(f);
  ArrayXXd sums = ArrayXXd::Zero(size, size);
  for (Index i = 0; i < count; ++i) {
    const auto re = x.middleRows(i * size, size).array(),
               im = x.middleRows((count + i) * size, size).array();
    // Over the keys in front of each position, up to it, and in front of the first key of a row.
    TurnedColumns before(size, size), through(size, size), outside(size, size);
    for (Index c = 0; c < size; ++c) {
      const Index at = positions_->at[c];
      through.copy(c, before, c);
      through.add(c, re, im, c, f[at] * turns_(i, at), f[at] * turns_(count + i, at));
      if (c + 1 == size) break;
      before.copy(c + 1, before, c);
      before.add(c + 1, re, im, c, cells.left(i, c), cells.left(count + i, c));
      before.add(c + 1, re, im, c + 1, cells.right(i, c), cells.right(count + i, c));
    }
    for (Index row = 0; row < size; ++row) {
      const Index c = cell_of(first_key(row));
      outside.copy(row, before, c);
      outside.add(row, re, im, c, cells.before_left(i, row), cells.before_left(count + i, row));
      if (c + 1 < size)
        outside.add(row, re, im, c + 1, cells.before_right(i, row),
                    cells.before_right(count + i, row));
    }
    const ArrayXd last_re = through.re.matrix().diagonal(),
                  last_im = through.im.matrix().diagonal(),
                  first_re = outside.re.matrix().diagonal(),
                  first_im = outside.im.matrix().diagonal();
    for (Index u = 0; u < size; ++u) {
      const Index at = positions_->at[u];
      const double cosine = roots_[i] * turns_(i, at), sine = roots_[i] * turns_(count + i, at);
      const Index from = first_meeting_[u], shorter = u + 1 - from;
      sums.col(u).segment(from, shorter) +=
          cosine * (last_re - outside.re.col(u)).segment(from, shorter) +
          sine * (last_im - outside.im.col(u)).segment(from, shorter);
      const Index longer = last_meeting_[u] - u;
      sums.col(u).segment(u + 1, longer) +=
          cosine * (through.re.col(u) - first_re).segment(u + 1, longer) +
          sine * (through.im.col(u) - first_im).segment(u + 1, longer);
    }
  }
  return (sums.colwise() * weight_).rowwise() * weight_.transpose();
}

ArrayXXd TurnedWindows::through(const PerPosition& values, const PerPosition& keys) const {
  const Positions& positions = *positions_;
  const Index size = positions.at.size(), parts = turns_.rows();
  const ArrayXXd both = values.cross * keys.cross;
  const ArrayXd second_v = at_tokens(positions, values.second),
                second_k = at_tokens(positions, keys.second);
  const ArrayXd own_v = second_v - diagonal_at_tokens(positions, values.cross),
                own_k = second_k - diagonal_at_tokens(positions, keys.cross),
                past = second_v * second_k - diagonal_at_tokens(positions, both);
  const MatrixXd v = unturned_ * values.cross.matrix(), k = gathered_ * keys.cross.matrix();
  MatrixXd plain = gathered_ * both.matrix();
  for (Index part = 0; part < parts; ++part)
    plain.middleRows(part * size, size) -= 2 * v.cwiseProduct(k.middleRows(part * size, size));
  const MatrixXd rows = by_rows(plain) * by_rows(gathered_).transpose();
  const ArrayXXd of_keys = (by_rows(k) * by_rows(gathered_).transpose()).array() +
                           cosines_ * sums_.selves_of_rows(own_k).array();
  const ArrayXXd of_values =
      (v * unturned_.transpose()).array() + sums_.selves_of_rows(own_v).array();
  // Where what a key has with itself meets the mean over the keys of a row.
  MatrixXd own = columns_at_tokens(positions, v) * own_k.matrix().asDiagonal();
  for (Index t = 0; t < size; ++t) {
    const Index first = first_key(t), behind = positions.at[t] + 1;
    own.row(t) *= weight_[t];
    own.row(t).head(first).setZero();
    own.row(t).tail(own.cols() - behind).setZero();
  }
  const ArrayXXd twice = sums_.selves_of_rows(own_v * own_k).array().colwise() * weight_;
  const ArrayXXd from_mean = cosines_ * (sums_.with_rows(own).array() + twice) + with_own(k, own_v);
  return (rows + rows.transpose()).array() / 2 + of_values * of_keys +
         cosines_ * sums_.selves_of_rows(past).array() - from_mean - from_mean.transpose();
}

}  // namespace scalecalc::moments
