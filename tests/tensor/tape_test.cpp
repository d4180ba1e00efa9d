#include "tensor/tape.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <stdexcept>

#include "support.hpp"
#include "tensor/ops.hpp"

namespace scalecalc::tensor {

TEST_CASE("tensors share their buffer and give it back once") {
  const auto device = make_device<double>("cpu", 1);
  {
    const Tensor<double> a(device, 3, 5);
    const Tensor<double> b = a;
    CHECK(a.data() == b.data());
    CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
    CHECK(device->bytes_in_use() == 120);
  }
  CHECK(device->bytes_in_use() == 0);
  const std::size_t held = device->bytes_held();
  const Tensor<double> again(device, 5, 3);
  CHECK(device->bytes_held() == held);
  const Tensor<double> empty(device, 0, 3);
  CHECK(empty.size() == 0);
}

TEST_CASE("a tensor keeps its device alive") {
  Tensor<float> tensor;
  {
    const auto device = make_device<float>("cpu", 1);
    tensor = Tensor<float>(device, 2, 2);
  }
  tensor.data()[3] = 1.0f;
  CHECK(tensor.data()[3] == 1.0f);
}

TEST_CASE("a tied weight is handed over once, with both gradients added") {
  const auto device = make_device<double>("cpu", 1);
  Tape<double> tape(device, true);
  const Tensor<double> w = upload(device, 1, 2, {2.0, 3.0});
  const auto y = blend(tape, 5.0, tape.parameter(0, w), 7.0, tape.parameter(0, w));
  tape.loss(y, [&](Tape<double>& t, const Tensor<double>& none) {
    CHECK(none.empty());
    t.gradient(y.slot)[0] += 1.0;
    t.gradient(y.slot)[1] += 10.0;
  });
  int calls = 0;
  tape.backward([&](std::size_t index, const Tensor<double>& gradient) {
    ++calls;
    CHECK(index == 0);
    CHECK(download(gradient) == Vector{12.0, 120.0});
  });
  CHECK(calls == 1);
}

TEST_CASE("probes see the whole gradient of a value, once, before its memory goes") {
  const auto device = make_device<double>("cpu", 1);
  Tape<double> tape(device, true);
  const auto x = tape.leaf(upload(device, 1, 2, {2.0, 3.0}));
  const auto y = blend(tape, 5.0, x, 0.0, x);
  const auto z = blend(tape, 1.0, blend(tape, 7.0, y, 1.0, x), 1.0, y);
  std::vector<Vector> seen;
  const auto keep = [&](const Tensor<double>& gradient) { seen.push_back(download(gradient)); };
  tape.probe(x, keep);
  tape.probe(y, keep);
  tape.probe(y, keep);
  tape.probe(tape.constant(x.value), keep);
  tape.loss(z, [&](Tape<double>& t, const Tensor<double>&) {
    t.gradient(z.slot)[0] += 1.0;
    t.gradient(z.slot)[1] += 10.0;
  });
  tape.backward([](std::size_t, const Tensor<double>&) { FAIL("there are no parameters"); });
  CHECK(seen == std::vector<Vector>{{8.0, 80.0}, {8.0, 80.0}, {41.0, 410.0}});
}

TEST_CASE("a leaf without recording is a constant") {
  const auto device = make_device<double>("cpu", 1);
  Tape<double> tape(device, false);
  CHECK(tape.leaf(upload(device, 1, 1, {2.0})).slot < 0);
}

TEST_CASE("a tape that does not record keeps nothing") {
  const auto device = make_device<double>("cpu", 1);
  const Tensor<double> w = upload(device, 1, 4, normal_values(4, 1));
  const std::size_t before = device->bytes_in_use();
  Tape<double> tape(device, false);
  for (int i = 0; i < 10; ++i) activate(tape, ActivationKind::tanh, tape.parameter(0, w));
  CHECK(device->bytes_in_use() == before);
}

TEST_CASE("operations on constants are not recorded") {
  const auto device = make_device<double>("cpu", 1);
  Tape<double> tape(device, true);
  const auto x = tape.constant(upload(device, 1, 4, normal_values(4, 1)));
  const auto y = normalise(tape, true, 0.0, activate(tape, ActivationKind::tanh, x));
  CHECK(y.slot < 0);
  tape.backward([](std::size_t, const Tensor<double>&) { FAIL("there are no parameters"); });
}

TEST_CASE("activations are released while backward consumes them") {
  const auto device = make_device<double>("cpu", 1);
  Tape<double> tape(device, true);
  const Tensor<double> w = upload(device, 1, 100, normal_values(100, 1));
  Variable<double> x = tape.parameter(0, w);
  constexpr int kLayers = 50;
  for (int i = 0; i < kLayers; ++i) {
    const auto gain = tape.parameter(static_cast<std::size_t>(i) + 1, w);
    x = affine(tape, x, gain, gain);
  }
  tape.loss(x, [slot = x.slot](Tape<double>& t, const Tensor<double>&) { t.gradient(slot); });
  x = {};
  std::size_t last = device->bytes_in_use();
  CHECK(last > 48 * w.bytes());
  tape.backward([&](std::size_t index, const Tensor<double>&) {
    // The weight, the inputs of the layers still to come, this gradient and that of the layer
    // below.
    CHECK(device->bytes_in_use() <= std::max<std::size_t>(index + 1, 3) * w.bytes());
  });
  CHECK(device->bytes_in_use() == w.bytes());
}

TEST_CASE("an exception in the sink leaves nothing behind") {
  const auto device = make_device<double>("cpu", 1);
  const Tensor<double> w = upload(device, 1, 4, normal_values(4, 1));
  const std::size_t before = device->bytes_in_use();
  {
    Tape<double> tape(device, true);
    const auto y = activate(tape, ActivationKind::gelu, tape.parameter(0, w));
    tape.loss(y, [slot = y.slot](Tape<double>& t, const Tensor<double>&) { t.gradient(slot); });
    CHECK_THROWS_AS(
        tape.backward([](std::size_t, const Tensor<double>&) { throw std::runtime_error("stop"); }),
        std::runtime_error);
  }
  CHECK(device->bytes_in_use() == before);
}

}  // namespace scalecalc::tensor
