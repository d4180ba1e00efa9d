#include "activation/program.hpp"

#include <algorithm>
#include <cmath>
#include <memory>

#include "base/vector_math.hpp"

namespace scalecalc::activation_room {
namespace {

namespace vm = base::vector_math;
using vm::lanes;

template <class Function>
void map(const double* a, double* out, std::size_t count, Function f) {
  for (std::size_t i = 0; i < count; i += lanes) vm::store(f(vm::load(a + i)), out + i);
}
template <class Function>
void zip(const double* a, const double* b, double* out, std::size_t count, Function f) {
  for (std::size_t i = 0; i < count; i += lanes) {
    vm::store(f(vm::load(a + i), vm::load(b + i)), out + i);
  }
}
template <class Function>
void each(const double* a, double* out, std::size_t count, Function f) {
  for (std::size_t i = 0; i < count; ++i) out[i] = f(a[i]);
}

vm::Real square_root(const vm::Real& x) {
  vm::Real result{};
  for (std::size_t k = 0; k < lanes; ++k) result[k] = std::sqrt(x[k]);
  return result;
}

/// Two operands, or one and a constant. False for operations that this is not about.
bool run_arithmetic(const Instruction& in, const double* a, const double* b, double* out,
                    std::size_t n) {
  using R = const vm::Real&;
  const double k = in.k;
  switch (in.op) {
    case Op::constant: map(a, out, n, [k](R) { return vm::all(k); }); return true;
    case Op::add: zip(a, b, out, n, [](R x, R y) { return x + y; }); return true;
    case Op::subtract: zip(a, b, out, n, [](R x, R y) { return x - y; }); return true;
    case Op::multiply: zip(a, b, out, n, [](R x, R y) { return x * y; }); return true;
    case Op::divide: zip(a, b, out, n, [](R x, R y) { return x / y; }); return true;
    case Op::scale: map(a, out, n, [k](R x) { return k * x; }); return true;
    case Op::shift: map(a, out, n, [k](R x) { return x + k; }); return true;
    case Op::scale_add: zip(a, b, out, n, [k](R x, R y) { return k * x + y; }); return true;
    case Op::square_root: map(a, out, n, square_root); return true;
    default: return false;
  }
}

bool run_kernel(const Instruction& in, const double* a, const double* b, double* out,
                std::size_t n) {
  using R = const vm::Real&;
  const double k = in.k;
  switch (in.op) {
    case Op::exp: map(a, out, n, [](R x) { return vm::exp(x); }); return true;
    case Op::exp_of_square:
      map(a, out, n, [k](R x) { return vm::exp_of_square(x, k); });
      return true;
    case Op::exp_of_abs: map(a, out, n, [](R x) { return vm::exp(-vm::abs(x)); }); return true;
    case Op::expm1: map(a, out, n, [](R x) { return vm::expm1(x); }); return true;
    case Op::log: map(a, out, n, [](R x) { return vm::log(x); }); return true;
    case Op::log1p: map(a, out, n, [](R x) { return vm::log1p(x); }); return true;
    case Op::sigmoid: zip(a, b, out, n, [](R x, R e) { return vm::sigmoid(x, e); }); return true;
    case Op::softplus: zip(a, b, out, n, [](R x, R e) { return vm::softplus(x, e); }); return true;
    case Op::tanh: map(a, out, n, [](R x) { return vm::tanh(x); }); return true;
    case Op::phi: zip(a, b, out, n, [](R x, R e) { return vm::phi(x, e); }); return true;
    case Op::erf: zip(a, b, out, n, [](R x, R e) { return vm::erf(x, e); }); return true;
    case Op::erfc: zip(a, b, out, n, [](R x, R e) { return vm::erfc(x, e); }); return true;
    case Op::sin: map(a, out, n, [](R x) { return vm::sin(x); }); return true;
    case Op::cos: map(a, out, n, [](R x) { return vm::cos(x); }); return true;
    default: return false;
  }
}

void run_library(const Instruction& in, const double* a, const double* b, double* out,
                 std::size_t n) {
  switch (in.op) {
    case Op::power: each(a, out, n, [k = in.k](double x) { return std::pow(x, k); }); return;
    case Op::power_of:
      for (std::size_t i = 0; i < n; ++i) out[i] = std::pow(a[i], b[i]);
      return;
    case Op::tan: each(a, out, n, [](double x) { return std::tan(x); }); return;
    case Op::asin: each(a, out, n, [](double x) { return std::asin(x); }); return;
    case Op::acos: each(a, out, n, [](double x) { return std::acos(x); }); return;
    case Op::atan: each(a, out, n, [](double x) { return std::atan(x); }); return;
    case Op::sinh: each(a, out, n, [](double x) { return std::sinh(x); }); return;
    default: each(a, out, n, [](double x) { return std::cosh(x); }); return;
  }
}

}  // namespace

Program::Program(const Builder& builder, const std::vector<int>& results) {
  const std::vector<Instruction>& code = builder.code();
  const auto size = code.size();
  std::vector<std::size_t> last_use(size, 0);
  std::vector<bool> needed(size, false);
  for (const int result : results) {
    needed[static_cast<std::size_t>(result)] = true;
    last_use[static_cast<std::size_t>(result)] = size;
  }
  for (std::size_t k = size; k-- > 0;) {
    if (!needed[k]) continue;
    for (const int operand : {code[k].a, code[k].b}) {
      if (operand < 0) continue;
      const auto at = static_cast<std::size_t>(operand);
      needed[at] = true;
      last_use[at] = std::max(last_use[at], k);
    }
  }
  std::vector<int> place(size, -1), idle;
  for (std::size_t k = 0; k < size; ++k) {
    if (!needed[k]) continue;
    if (code[k].op == Op::input) continue;  // read in place: register -1
    Instruction instruction = code[k];
    for (int* operand : {&instruction.a, &instruction.b}) {
      if (*operand >= 0) *operand = place[static_cast<std::size_t>(*operand)];
    }
    for (const int operand : {code[k].a, code[k].b}) {
      if (operand < 0 || last_use[static_cast<std::size_t>(operand)] != k) continue;
      int& held = place[static_cast<std::size_t>(operand)];
      if (held >= 0) idle.push_back(held);
      held = -1;
    }
    if (idle.empty()) idle.push_back(registers_++);
    place[k] = idle.back();
    idle.pop_back();
    steps_.push_back({instruction, place[k]});
  }
  for (const int result : results) results_.push_back(place[static_cast<std::size_t>(result)]);
}

void Program::run(const double* x, double* const* outputs, std::size_t count) const {
  constexpr int registers_at_hand = 16;
  alignas(64) double at_hand[registers_at_hand * block_size];
  std::unique_ptr<double[]> more;
  double* registers = at_hand;
  if (registers_ > registers_at_hand) {
    more = std::make_unique<double[]>(static_cast<std::size_t>(registers_) * block_size);
    registers = more.get();
  }
  const auto place = [&](int index) {
    return registers + static_cast<std::size_t>(index) * block_size;
  };
  const auto source = [&](int index) { return index < 0 ? x : place(index); };
  for (const Step& step : steps_) {
    const Instruction& in = step.instruction;
    const double *a = source(in.a), *b = source(in.b);
    double* out = place(step.target);
    if (!run_arithmetic(in, a, b, out, count) && !run_kernel(in, a, b, out, count)) {
      run_library(in, a, b, out, count);
    }
  }
  for (std::size_t k = 0; k < results_.size(); ++k) {
    std::copy_n(source(results_[k]), count, outputs[k]);
  }
}

}  // namespace scalecalc::activation_room
