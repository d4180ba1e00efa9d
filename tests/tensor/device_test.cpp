#include "tensor/device.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "scalecalc/error.hpp"
#include "tensor/cuda.hpp"

namespace scalecalc::tensor {
namespace {

ErrorKind kind_of(const std::string& name, int threads) {
  try {
    make_device<float>(name, threads);
  } catch (const Error& error) {
    return error.kind();
  }
  FAIL("accepted");
  return ErrorKind::usage;
}

}  // namespace

TEST_CASE("devices are found by name") {
  CHECK(make_device<double>("cpu", 1)->name() == "cpu");
  if (!cuda_available()) {
    CHECK(make_device<float>("auto", 2)->name() == "cpu");
    CHECK(kind_of("cuda", 1) == ErrorKind::fault);
  }
  CHECK(kind_of("gpu", 1) == ErrorKind::input);
  CHECK(kind_of("", 1) == ErrorKind::input);
  for (const int threads : {0, -1, 1000000}) CHECK(kind_of("cpu", threads) == ErrorKind::input);
}

TEST_CASE("a device draws the same values for any number of threads") {
  const Draw draw{Draw::Kind::normal, 0.5, {3, 4}};
  std::vector<double> one(50001), two(50001), direct(50001);
  make_device<double>("cpu", 1)->draw(draw, 50001, one.data());
  make_device<double>("cpu", 2)->draw(draw, 50001, two.data());
  fill(draw, 0, 50001, direct.data());
  CHECK(one == two);
  CHECK(one == direct);
}

// AddressSanitizer ends the program at such a size instead of letting the allocation fail.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("a device without memory left says so") {
  const auto device = make_device<double>("cpu", 1);
  try {
    device->allocate(std::size_t{1} << 62);
    FAIL("allocated");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::fault);
  }
  CHECK(device->bytes_in_use() == 0);
}
#endif

}  // namespace scalecalc::tensor
