#include "compare.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/network.hpp"
#include "scalecalc/passes.hpp"

namespace scalecalc::tensor {

TEST_CASE("cuda: memory is counted and handed out again") {
  if (!cuda_is_there()) return;
  const auto device = make_device<float>("cuda", 1);
  void* a = device->allocate(1000);
  CHECK(device->bytes_in_use() == 1000);
  const std::size_t held = device->bytes_held();
  CHECK(held >= 1000);
  device->release(a, 1000);
  CHECK(device->bytes_in_use() == 0);
  CHECK(device->bytes_held() == held);
  CHECK(device->allocate(1000) == a);
  device->release(a, 1000);
}

TEST_CASE("cuda: the same requests get the same addresses, whatever is released first") {
  if (!cuda_is_there()) return;
  const auto device = make_device<float>("cuda", 1);
  const auto addresses = [&device](const std::vector<std::size_t>& released_in_order) {
    std::vector<void*> all;
    for (std::size_t i = 0; i < released_in_order.size(); ++i) {
      all.push_back(device->allocate(1000));
    }
    for (const std::size_t i : released_in_order) device->release(all[i], 1000);
    return all;
  };
  addresses({0, 2, 1});
  const std::vector<void*> second = addresses({0, 2, 1});
  CHECK(addresses({0, 2, 1}) == second);
  CHECK(addresses({2, 1, 0}) == second);
}

TEST_CASE("cuda: what is asked for beyond the memory is an error that says what fits") {
  if (!cuda_is_there()) return;
  const auto device = make_device<float>("cuda", 1);
  const std::size_t half = cuda_devices().front().memory_free / 8 * 5;
  void* a = device->allocate(half);
  try {
    device->allocate(std::size_t{1} << 50);
    FAIL("allocated");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::fault);
    CHECK(std::string(error.what()).find("out of memory") != std::string::npos);
    CHECK(std::string(error.what()).find("cuda:0") != std::string::npos);
  }
  device->release(a, half);
  // What is kept for reuse is given back for a request that needs it.
  void* b = device->allocate(half / 2 * 2 + 512);
  device->release(b, half / 2 * 2 + 512);
}

TEST_CASE(
    "cuda: a network that the device cannot hold is an error that says how much of it would") {
  if (!cuda_is_there()) return;
  const double free = static_cast<double>(cuda_devices().front().memory_free);
  ModelSpec spec = default_spec(ModelSpec::Kind::mlp);
  spec.width = 256;
  // Weights alone twice as large as what is free, in layers of 256 x 256 floats.
  spec.layers = static_cast<std::int64_t>(2.0 * free / (256.0 * 256.0 * sizeof(float)));
  if (spec.layers > 100000) return;
  try {
    const Passes<float> passes(build_network(spec), {0, 1, "cuda"});
    FAIL("made");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    const std::string text = error.what();
    CHECK(text.find("cuda:0 has") != std::string::npos);
    CHECK(text.find("layers fit") != std::string::npos);
  }
}

TEST_CASE("cuda: devices have names") {
  if (!cuda_is_there()) return;
  CHECK(make_device<double>("cuda", 1)->name() == "cuda:0");
  CHECK(make_device<double>("cuda:0+tf32", 1)->name() == "cuda:0");
  try {
    make_device<float>("cuda:97", 1);
    FAIL("there");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::input);
    CHECK(std::string(error.what()).find("cuda:0") != std::string::npos);
  }
}

}  // namespace scalecalc::tensor
