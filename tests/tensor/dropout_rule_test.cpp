#include "tensor/dropout_rule.hpp"

#include <doctest/doctest.h>

#include "support.hpp"
#include "tolerance.hpp"

namespace scalecalc::tensor {

using namespace testing;

TEST_CASE("dropout rule: one value of a stream is that of the bulk draw") {
  const Stream mask{7, stream_id("mask")};
  for (const std::uint64_t first : {std::uint64_t{0}, std::uint64_t{3}, (std::uint64_t{1} << 33)}) {
    Vector bulk(101);
    fill_uniform(mask, first, static_cast<std::int64_t>(bulk.size()), bulk.data());
    for (std::size_t i = 0; i < bulk.size(); ++i) CHECK(uniform_value(mask, first + i) == bulk[i]);
  }
}

TEST_CASE("dropout rule: a share of the rate is dropped, and the mean is kept") {
  for (const double rate : {0.0, 0.25, 0.5, 0.875}) {
    const double kept = kept_factor<double>(rate);
    int dropped = 0;
    double sum = 0.0;
    for (int i = 0; i < 1024; ++i) {
      const double factor = dropout_factor((i + 0.5) / 1024.0, rate, kept);
      dropped += factor == 0.0 ? 1 : 0;
      sum += factor;
    }
    CHECK(dropped == 1024.0 * rate);
    CHECK(sum == rounded(1024.0, 1024));
  }
  CHECK(dropout_factor(0.25, 0.25, 4.0F / 3.0F) == 4.0F / 3.0F);
}

}  // namespace scalecalc::tensor
