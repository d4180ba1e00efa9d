#include <doctest/doctest.h>

#include <limits>

#include "support.hpp"
#include "tensor/ops.hpp"
#include "tolerance.hpp"

namespace scalecalc::tensor {
namespace {

using namespace testing;

template <class Real>
double device_dot(const Vector& a, const Vector& b, int threads = 1) {
  const auto device = make_device<Real>("cpu", threads);
  const auto size = static_cast<std::int64_t>(a.size());
  const Tensor<Real> left = upload(device, 1, size, a), right = upload(device, 1, size, b);
  return device->dot(size, left.data(), right.data());
}

}  // namespace

TEST_CASE("dot: against a plain sum, for any number of threads") {
  for (const std::size_t size : {1u, 7u, 8u, 16385u, 100000u}) {
    const Vector a = normal_values(size, 1), b = normal_values(size, 2);
    const double rounding =
        static_cast<double>(size) * std::numeric_limits<double>::epsilon() * norm(a) * norm(b);
    CHECK(std::fabs(device_dot<double>(a, b) - dot(a, b)) <= rounding);
    CHECK(device_dot<double>(a, b, 1) == device_dot<double>(a, b, 2));
  }
}

TEST_CASE("dot: float entries are added in double") {
  const Vector tiny(1 << 20, 1e-4);
  // In float the sum would stop growing near 2^24 of its terms; here only 1e-4 itself is rounded.
  CHECK(device_dot<float>(tiny, Vector(1 << 20, 1.0)) ==
        doctest::Approx(1e-4 * (1 << 20)).epsilon(std::numeric_limits<float>::epsilon()));
}

TEST_CASE("squared error: half of the square, summed or as a mean over rows") {
  const auto device = make_device<double>("cpu", 1);
  const Vector y = normal_values(12, 1), t = normal_values(12, 2);
  double expected = 0.0;
  for (std::size_t i = 0; i < 12; ++i) expected += 0.5 * (y[i] - t[i]) * (y[i] - t[i]);
  for (const Reduction reduction : {Reduction::sum, Reduction::mean}) {
    const double share = reduction == Reduction::mean ? 0.25 : 1.0;
    Tape<double> tape(device, true);
    const auto parameter = tape.parameter(0, upload(device, 4, 3, y));
    const double loss = squared_error(tape, parameter, upload(device, 4, 3, t), reduction);
    CHECK(loss == rounded(share * expected, 64));
    tape.backward([&](std::size_t, const Tensor<double>& g) {
      for (std::size_t i = 0; i < 12; ++i) CHECK(g.data()[i] == share * (y[i] - t[i]));
    });
  }
}

}  // namespace scalecalc::tensor
