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
  for (const char* name : {"cpu", "cpu+eigen"}) {
    CHECK(make_device<double>(name, 1)->name() == "cpu");
    CHECK(runs_on_cpu(name));
  }
  const DeviceInfo first = cuda_devices().front();
  if (first.name == "cuda") {
    CHECK(!first.available());
    CHECK(make_device<float>("auto", 2)->name() == "cpu");
    for (const char* name : {"cuda", "cuda:0", "cuda:7", "cuda+tf32", "cuda+nograph"}) {
      CHECK(kind_of(name, 1) == ErrorKind::fault);
    }
  } else {
    CHECK(kind_of("cuda:1000", 1) == ErrorKind::input);
  }
  for (const char* name :
       {"gpu", "", "cuda:", "cuda:x", "cuda:-1", "cuda: 1", "cuda:1x", "cuda:99999999999", "+tf32",
        "cpu+nograph", "cpu+eigen+eigen", "cuda+nograph+nograph"}) {
    CAPTURE(name);
    CHECK(kind_of(name, 1) == ErrorKind::input);
    CHECK_THROWS_AS(check_device_name(name), Error);
  }
  for (const char* name : {"auto", "cpu", "cpu+eigen", "cuda", "cuda:0", "cuda:12", "cuda:1+tf32",
                           "cuda:0+nograph", "cuda+tf32+nograph"}) {
    check_device_name(name);
  }
  for (const int threads : {0, -1, 1000000}) CHECK(kind_of("cpu", threads) == ErrorKind::input);
}

TEST_CASE("the list of devices begins with the CPU and says why there is no other") {
  const std::vector<DeviceInfo> all = devices();
  REQUIRE(all.size() >= 2);
  CHECK(all[0].name == "cpu");
  CHECK(all[0].available());
  CHECK(all[0].threads >= 1);
  CHECK(all[0].products.ends_with("Eigen"));
  CHECK(all[0].memory_total > 0);
  CHECK(all[0].memory_free <= all[0].memory_total);
  for (std::size_t i = 1; i < all.size(); ++i) {
    CHECK(all[i].name.starts_with("cuda"));
    CHECK(all[i].available() == (all[i].memory_total > 0));
  }
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
