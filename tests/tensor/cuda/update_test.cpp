#include "compare.hpp"
#include "tensor/element_update.hpp"

namespace scalecalc::tensor {

TEST_CASE_TEMPLATE("cuda: steps of the optimizers by entry", Real, float, double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  const std::int64_t count = 1003;
  for (int rule = 0; rule <= static_cast<int>(ElementRule::root_mean_square); ++rule) {
    CAPTURE(rule);
    ElementUpdate update;
    update.rule = static_cast<ElementRule>(rule);
    update.rate = 0.1;
    update.decay = 0.01;
    update.coupled_decay = 0.02;
    update.scale = 0.7;
    update.limit = 1.5;
    update.beta1 = 0.9;
    update.beta2 = 0.99;
    update.eps = 1e-3;
    update.second_correction = 2.0;
    std::vector<Real> squares = values<Real>(count, 4);
    for (Real& x : squares) x = x * x + Real(1);
    const auto theta = pair.random(count, 1), gradient = pair.random(count, 2);
    const auto first = pair.random(count, 3), second = pair.array(squares);
    pair.run([&](Device<Real>& d, int k) {
      d.update(update, count, theta.on(k), gradient.on(k), first.on(k), second.on(k));
    });
    // A dozen roundings of numbers of the size of the inputs; divisors are at least 0.9.
    const double size = 8.0 * (largest(second.read(0)) + largest(first.read(0)) + 4.0);
    for (const auto* array : {&theta, &gradient, &first, &second}) {
      CHECK(array->difference() <= 12.0 * Pair<Real>::eps * size);
    }
  }
}

TEST_CASE_TEMPLATE("cuda: averages of square sums, and the steps they divide", Real, float,
                   double) {
  if (!cuda_is_there()) return;
  const Pair<Real> pair;
  for (const std::int64_t rows : {3, 600}) {
    const std::int64_t columns = 75;
    const auto x = pair.random(rows * columns, 1);
    const auto by_row = pair.array(std::vector<Real>(static_cast<std::size_t>(rows), Real(2)));
    const auto by_column =
        pair.array(std::vector<Real>(static_cast<std::size_t>(columns), Real(3)));
    pair.run([&](Device<Real>& d, int k) {
      d.average_square_sums(rows, columns, 0.75, 0.5, x.on(k), by_row.on(k), by_column.on(k));
    });
    // Sums of at most 600 terms in double, rounded to Real.
    const double relative =
        2.0 * Pair<Real>::eps + 2.0 * 600.0 * std::numeric_limits<double>::epsilon();
    CHECK(by_row.difference() <= relative * largest(by_row.read(0)));
    CHECK(by_column.difference() <= relative * largest(by_column.read(0)));
    pair.run([&](Device<Real>& d, int k) {
      d.divide_by_factored_root(rows, columns, by_row.on(k), by_column.on(k), 100.0, x.on(k));
    });
    // The relative errors of both factors, and four roundings.
    CHECK(x.difference() <= (2.0 * relative + 8.0 * Pair<Real>::eps) * largest(x.read(0)));
  }
}

}  // namespace scalecalc::tensor
