#include <algorithm>
#include <array>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/norm_rule.hpp"

namespace scalecalc::tensor {
namespace {

constexpr std::int64_t kColumns = 64;
using Columns = std::array<double, kColumns>;

/// body(first entry, columns, index of the first column in `inverse`) for each piece of a group.
template <class Body>
void for_columns(int threads, const ColumnNormShape& s, const Body& body) {
  const std::int64_t across = pieces(s.width, kColumns);
  for_tiles(threads, s.groups * across, [&](std::int64_t tile) {
    const std::int64_t group = tile / across, column = tile % across * kColumns;
    body(group * s.rows * s.width + column, std::min(kColumns, s.width - column),
         group * s.width + column);
  });
}

/// The mean over the rows of term(entry), for each column.
template <class Term>
Columns means(const ColumnNormShape& s, std::int64_t first, std::int64_t columns,
              const Term& term) {
  Columns mean{};
  for (std::int64_t row = 0; row < s.rows; ++row) {
    for (std::int64_t i = 0; i < columns; ++i) mean[i] += term(first + row * s.width + i, i);
  }
  for (double& entry : mean) entry /= static_cast<double>(s.rows);
  return mean;
}

/// Where the variance is rounding, the mean by distances from the first entry, so that those of a
/// constant column are exactly 0. Whether there was any.
template <class Real>
bool centre_again(const ColumnNormShape& s, const Real* x, std::int64_t columns,
                  const Columns& variance, Columns& mean) {
  bool any = false;
  for (std::int64_t i = 0; i < columns; ++i) {
    if (!is_rounding(variance[i], mean[i], s.rows)) continue;
    const double first = static_cast<double>(x[i]);
    double sum = 0.0;
    for (std::int64_t row = 0; row < s.rows; ++row) {
      sum += static_cast<double>(x[row * s.width + i]) - first;
    }
    mean[i] = first + sum / static_cast<double>(s.rows);
    any = true;
  }
  return any;
}

}  // namespace

template <class Real>
void CpuDevice<Real>::column_norm_forward(const ColumnNormShape& s, const Real* x, Real* y,
                                          Real* inverse) {
  for_columns(threads_, s, [&](std::int64_t first, std::int64_t columns, std::int64_t out) {
    Columns mean{};
    if (s.centred) {
      mean = means(s, first, columns,
                   [=](std::int64_t at, std::int64_t) { return static_cast<double>(x[at]); });
    }
    const auto squares = [&] {
      return means(s, first, columns, [&](std::int64_t at, std::int64_t i) {
        const double apart = static_cast<double>(x[at]) - mean[i];
        return apart * apart;
      });
    };
    Columns power = squares();
    if (s.centred && centre_again(s, x + first, columns, power, mean)) power = squares();
    Columns factor;
    for (std::int64_t i = 0; i < columns; ++i) {
      factor[i] = norm_factor(power[i] + s.eps);
      inverse[out + i] = static_cast<Real>(factor[i]);
    }
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for (std::int64_t i = 0; i < columns; ++i) {
        const std::int64_t at = first + row * s.width + i;
        y[at] = static_cast<Real>(normalised(static_cast<double>(x[at]), mean[i], factor[i]));
      }
    }
  });
}

template <class Real>
void CpuDevice<Real>::column_norm_backward(const ColumnNormShape& s, const Real* y,
                                           const Real* inverse, const Real* dy, Into<Real> dx) {
  for_columns(threads_, s, [&](std::int64_t first, std::int64_t columns, std::int64_t out) {
    Columns mean{};
    if (s.centred) {
      mean = means(s, first, columns,
                   [=](std::int64_t at, std::int64_t) { return static_cast<double>(dy[at]); });
    }
    const Columns along = means(s, first, columns, [=](std::int64_t at, std::int64_t) {
      return static_cast<double>(dy[at]) * static_cast<double>(y[at]);
    });
    for (std::int64_t row = 0; row < s.rows; ++row) {
      for (std::int64_t i = 0; i < columns; ++i) {
        const std::int64_t at = first + row * s.width + i;
        const double gradient =
            norm_gradient(static_cast<double>(dy[at]), mean[i], static_cast<double>(y[at]),
                          along[i], static_cast<double>(inverse[out + i]));
        dx.data[at] = dx(at, static_cast<Real>(gradient));
      }
    }
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
