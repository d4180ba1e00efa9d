#include <bit>
#include <utility>

#include "activation/program.hpp"

namespace scalecalc::activation_room {

int Builder::emit(Op op, int a, int b, double k) {
  const auto [place, is_new] = known_.try_emplace({op, a, b, std::bit_cast<std::uint64_t>(k)},
                                                  static_cast<int>(code_.size()));
  if (is_new) code_.push_back({op, a, b, k});
  return place->second;
}

int Builder::multiplied(int a, int b) {
  if (a > b) std::swap(a, b);
  const auto is_one = [&](int node) {
    const Instruction& code = code_[static_cast<std::size_t>(node)];
    return code.op == Op::constant && code.k == 1;
  };
  if (is_one(a)) return b;
  return is_one(b) ? a : emit(Op::multiply, a, b);
}

int Builder::scaled(int a, double k) {
  if (k == 1) return a;
  const Instruction& inner = code_[static_cast<std::size_t>(a)];
  if (inner.op == Op::constant) return constant(k * inner.k);
  return emit(Op::scale, a, -1, k);
}

int Builder::raised(int a, std::int64_t n) {
  int result = -1;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1) result = result < 0 ? a : multiplied(result, a);
    if (n > 1) a = multiplied(a, a);
  }
  return result;
}

}  // namespace scalecalc::activation_room
