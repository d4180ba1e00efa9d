#include "activation/source.hpp"

#include <cmath>
#include <cstdio>
#include <string_view>

#include "activation/compiled.hpp"
#include "activation/impl.hpp"

namespace scalecalc {
namespace {

using activation_room::Compiled;
using activation_room::Instruction;
using activation_room::Op;
using activation_room::Program;
using activation_room::SpecialPoint;
using activation_room::Zone;

/// Every digit, as a hexadecimal constant.
std::string constant(double value) {
  if (std::isnan(value)) return "(0.0/0.0)";
  if (std::isinf(value)) return value > 0 ? "(1.0/0.0)" : "(-1.0/0.0)";
  char text[40];
  std::snprintf(text, sizeof text, "%a", value);
  return value < 0 ? "(" + std::string(text) + ")" : text;
}

std::string place(int index) {
  return index < 0 ? "x" : "r" + std::to_string(index);
}

/// The right-hand side of one step: $a, $b and $k stand for the operands.
std::string_view form(Op op) {
  switch (op) {
    case Op::input: return "x";
    case Op::constant: return "$k";
    case Op::add: return "$a + $b";
    case Op::subtract: return "$a - $b";
    case Op::multiply: return "$a * $b";
    case Op::divide: return "$a / $b";
    case Op::scale: return "$k * $a";
    case Op::shift: return "$a + $k";
    case Op::scale_add: return "$k * $a + $b";
    case Op::square_root: return "sqrt($a)";
    case Op::power: return "pow($a, $k)";
    case Op::power_of: return "pow($a, $b)";
    case Op::exp: return "exp($a)";
    case Op::exp_of_square: return "exp($k * $a * $a)";
    case Op::exp_of_abs: return "exp(-fabs($a))";
    case Op::expm1: return "expm1($a)";
    case Op::log: return "log($a)";
    case Op::log1p: return "log1p($a)";
    case Op::sigmoid: return "($a < 0.0 ? $b : 1.0) / (1.0 + $b)";
    case Op::softplus: return "($a < 0.0 ? 0.0 : $a) + log1p($b)";
    case Op::tanh: return "tanh($a)";
    case Op::phi: return "0.5 * erfc(-0x1.6a09e667f3bcdp-1 * $a)";
    case Op::erf: return "erf($a)";
    case Op::erfc: return "erfc($a)";
    case Op::sin: return "sin($a)";
    case Op::cos: return "cos($a)";
    case Op::tan: return "tan($a)";
    case Op::asin: return "asin($a)";
    case Op::acos: return "acos($a)";
    case Op::atan: return "atan($a)";
    case Op::sinh: return "sinh($a)";
    case Op::cosh: return "cosh($a)";
  }
  return "x";
}

std::string statement(const Program::Step& step) {
  const Instruction& in = step.instruction;
  std::string text = "  " + place(step.target) + " = ";
  const std::string_view shape = form(in.op);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != '$') {
      text += shape[i];
      continue;
    }
    ++i;
    text += shape[i] == 'a' ? place(in.a) : shape[i] == 'b' ? place(in.b) : constant(in.k);
  }
  return text + ";\n";
}

/// What stands in for the code where it loses digits; see Zone.
std::string zone_text(const Zone& zone) {
  std::string sum = constant(zone.coefficients[Zone::terms - 1]);
  for (std::size_t k = Zone::terms - 1; k-- > 0;) {
    sum = "fma(" + sum + ", t, " + constant(zone.coefficients[k]) + ")";
  }
  std::string text = "  if (x >= " + constant(zone.low) + " && x <= " + constant(zone.high) +
                     ") {\n    double t = (x - " + constant(zone.centre) + ") * " +
                     constant(zone.scale) + ", s = " + sum + ";\n";
  if (zone.exponential != 0)
    text += zone.exponential < 0 ? "    s = -exp(s);\n" : "    s = exp(s);\n";
  for (int k = 0; k < zone.order; ++k) text += "    s *= x;\n";
  return text + "    return s;\n  }\n";
}

std::string piece_text(const std::string& head, const Program& program, int result,
                       const std::vector<Zone>& zones) {
  std::string text = head + "(double x) {\n";
  for (const Zone& zone : zones) {
    if (!zone.by_bits) text += zone_text(zone);
  }
  for (int k = 0; k < program.registers(); ++k) text += "  double " + place(k) + ";\n";
  for (const Program::Step& step : program.steps()) text += statement(step);
  return text + "  return " + place(program.results()[static_cast<std::size_t>(result)]) + ";\n}\n";
}

std::string function_text(const Compiled& compiled, const std::string& qualifier,
                          const std::string& name, bool slope) {
  const std::string head = qualifier + " double " + name;
  const auto& pieces = compiled.pieces();
  std::string text, choice;
  for (std::size_t k = 0; k < pieces.size(); ++k) {
    const Compiled::Piece& piece = pieces[k];
    const std::string number = "_" + std::to_string(k);
    text += slope ? piece_text(head + number, piece.both, 1, piece.slope_zones)
                  : piece_text(head + number, piece.value, 0, piece.value_zones);
    const std::string call = "return " + name + number + "(x);\n";
    choice = "  " + (k > 0 ? "if (x >= " + constant(piece.low) + ") " + call : call) + choice;
  }
  text += head + "(double x) {\n  if (x != x) return x;\n";
  for (const SpecialPoint& point : compiled.special_points()) {
    text += "  if (x == " + constant(point.at) + ") return " +
            constant(slope ? point.slope : point.value) + ";\n";
  }
  return text + choice + "}\n";
}

}  // namespace

std::string c_source(const Activation& activation, const std::string& qualifier) {
  const Compiled& compiled = activation.impl().compiled();
  return function_text(compiled, qualifier, "phi_value", false) +
         function_text(compiled, qualifier, "phi_slope", true);
}

}  // namespace scalecalc
