#include "tensor/cuda/calls.hpp"

#include <doctest/doctest.h>

#include <array>

namespace scalecalc::tensor::cuda {
namespace {

struct Padded {
  double value;
  bool flag;
};
struct Order {
  const void* at;
  std::int64_t count;
};
void send(void*, const char*, const void*) {}
void send_otherwise(void*, const char*, const void*) {}

const int kernels[2] = {};

Calls of(const void* kernel, Extent blocks, double value, std::int64_t count = 5) {
  Calls calls;
  calls.add_kernel("first", kernel, blocks, {32}, std::tuple(Padded{value, true}, 3));
  calls.add_fixed("second", &send, nullptr, Order{nullptr, count});
  return calls;
}

}  // namespace

TEST_CASE("cuda: calls keep copies of their arguments in order") {
  Calls calls;
  for (int i = 0; i < 100; ++i) {
    calls.add_kernel("k", &kernels[0], {}, {}, std::tuple(static_cast<char>(i), 0.5 * i, i));
  }
  REQUIRE(calls.size() == 100);
  for (int i = 0; i < 100; ++i) {
    const Call& call = calls[static_cast<std::size_t>(i)];
    REQUIRE(call.count == 3);
    CHECK(*static_cast<const char*>(calls.argument(call, 0)) == i);
    CHECK(*static_cast<const double*>(calls.argument(call, 1)) == 0.5 * i);
    CHECK(*static_cast<const int*>(calls.argument(call, 2)) == i);
  }
  calls.clear();
  CHECK(calls.empty());
}

TEST_CASE("cuda: the arguments of kernels are no part of the shape, all else is") {
  const Calls one = of(&kernels[0], {2}, 1.0);
  const Calls same = of(&kernels[0], {2}, 2.0);
  CHECK(one.same_shape(same));
  CHECK(one.shape_hash() == same.shape_hash());
  CHECK_FALSE(one.same_arguments(same, 0));
  CHECK(one.same_arguments(same, 1));
  CHECK(one.same_arguments(of(&kernels[0], {2}, 1.0), 0));

  CHECK_FALSE(one.same_shape(of(&kernels[1], {2}, 1.0)));
  CHECK_FALSE(one.same_shape(of(&kernels[0], {3}, 1.0)));
  CHECK_FALSE(one.same_shape(of(&kernels[0], {2, 2}, 1.0)));
  CHECK_FALSE(one.same_shape(of(&kernels[0], {2}, 1.0, 6)));
  CHECK(one.shape_hash() != of(&kernels[1], {2}, 1.0).shape_hash());
  CHECK(one.shape_hash() != of(&kernels[0], {2}, 1.0, 6).shape_hash());

  Calls more = of(&kernels[0], {2}, 1.0);
  more.add_fixed("third", &send, nullptr, Order{});
  CHECK_FALSE(one.same_shape(more));
  Calls otherwise;
  otherwise.add_kernel("first", &kernels[0], {2}, {32}, std::tuple(Padded{1.0, true}, 3));
  otherwise.add_fixed("second", &send_otherwise, nullptr, Order{nullptr, 5});
  CHECK_FALSE(one.same_shape(otherwise));
}

TEST_CASE("cuda: what lies between the members of an argument is no difference") {
  std::array<Calls, 2> both;
  for (unsigned char filler = 0; filler < 2; ++filler) {
    alignas(Padded) std::array<unsigned char, sizeof(Padded)> room;
    room.fill(static_cast<unsigned char>(0x55 * filler));
    auto* padded = reinterpret_cast<Padded*>(room.data());
    padded->value = 1.5;
    padded->flag = true;
    both[filler].add_kernel("k", &kernels[0], {}, {}, std::tuple(*padded));
  }
  CHECK(both[0].same_arguments(both[1], 0));
}

}  // namespace scalecalc::tensor::cuda
