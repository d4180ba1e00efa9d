#include <array>

#include "tensor/cpu/cpu_device.hpp"
#include "tensor/cpu/lanes.hpp"
#include "tensor/cpu/parallel.hpp"
#include "tensor/element_update.hpp"
#include "tensor/factored_average.hpp"

namespace scalecalc::tensor {

template <class Real>
void CpuDevice<Real>::update(const ElementUpdate& update, std::int64_t count, Real* theta,
                             Real* gradient, Real* first, Real* second) {
  const ElementFactors<Real> factors(update);
  with_rule(update.rule, [&]<ElementRule rule>() {
    for_ranges(threads_, count, kEntries, [=](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        update_entry<rule>(factors, i, theta, gradient, first, second);
      }
    });
  });
}

template <class Real>
void CpuDevice<Real>::average_square_sums(std::int64_t rows, std::int64_t columns, double beta,
                                          double eps, const Real* x, Real* by_row,
                                          Real* by_column) {
  const auto average = [=](Real& kept, double squares, std::int64_t count) {
    kept = averaged_squares(beta, kept, squares, static_cast<double>(count), eps);
  };
  const auto square = [x](std::int64_t i) {
    return static_cast<double>(x[i]) * static_cast<double>(x[i]);
  };
  for_ranges(threads_, rows, rows_per_tile(columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      average(by_row[row], sum_in_lanes(row * columns, (row + 1) * columns, square), columns);
    }
  });
  constexpr std::int64_t kColumns = 64;
  for_ranges(threads_, columns, kColumns, [&](std::int64_t begin, std::int64_t end) {
    std::array<double, kColumns> sums{};
    for (std::int64_t row = 0; row < rows; ++row) {
      for (std::int64_t i = begin; i < end; ++i) {
        sums[static_cast<std::size_t>(i - begin)] += square(row * columns + i);
      }
    }
    for (std::int64_t i = begin; i < end; ++i) {
      average(by_column[i], sums[static_cast<std::size_t>(i - begin)], rows);
    }
  });
}

template <class Real>
void CpuDevice<Real>::divide_by_factored_root(std::int64_t rows, std::int64_t columns,
                                              const Real* by_row, const Real* by_column,
                                              double total, Real* x) {
  for_ranges(threads_, rows, rows_per_tile(columns), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const Real share = row_share(total, by_row[row]);
      Real* entries = x + row * columns;
      for (std::int64_t i = 0; i < columns; ++i) {
        entries[i] = divided_by_root(entries[i], by_column[i], share);
      }
    }
  });
}

template class CpuDevice<float>;
template class CpuDevice<double>;

}  // namespace scalecalc::tensor
