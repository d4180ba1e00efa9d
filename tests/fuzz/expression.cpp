#include "fuzz/fuzz.hpp"
#include "scalecalc/symbolic.hpp"

/// Formulas as options and files have them. What parses is printed in every notation, its text
/// parses back to the same expression, and its value is a number or an error.
namespace scalecalc::fuzz {

void one(std::string_view input) {
  Expr expr;
  if (!accepts([&] { expr = parse(input); })) {
    const auto failure = parse_failure(input);
    if (failure) failure->caret();
    return;
  }
  accepts([&] {
    for (const Notation notation : {Notation::latex, Notation::python, Notation::c})
      to_string(expr, notation);
    const std::string text = to_string(expr);
    Expr back;
    // A printed text may be longer than a text may be.
    if (!accepts([&] { back = parse(text); })) return;
    hold(back == expr && to_string(back) == text, "a printed formula reads back as another", text);
  });
  accepts([&] { evaluate(expr, {{"x", 0.75}, {"N", 12.0}}); });
}

}  // namespace scalecalc::fuzz
