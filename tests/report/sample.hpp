#pragma once

#include <limits>

#include "scalecalc/report.hpp"

namespace scalecalc::report {

/// A document with everything that a printer must get right.
inline Document sample_document() {
  Document document;
  document.command = "sample";
  document.inputs["layers"] = 1000;
  document.inputs["name"] = "a|b_c & \"d\", 50%";
  document.results["alpha"] = 44.721359549995796;
  document.results["missing"] = std::numeric_limits<double>::quiet_NaN();
  document.results["digits"] = Value::Digits{"44.72135954999579392818"};
  document.results["passed"] = true;
  document.results["points"].push_back(Value());
  document.results["points"].push_back(0.1);
  document.sections = {
      {"Constants of a_b", Facts{{{"alpha", 44.721359549995796},
                                  {"formula", "(2*N)^(1/2)"},
                                  {"größe", 1e-9},
                                  {"none", Value()}}}},
      {"By depth",
       Table{{"layers", "value", "note"},
             {{2, 1.25, "first"}, {128, -10.5, "a|b & c"}, {1000, Value(), "größe ±1"}}}},
      {"", Paragraph{"One paragraph.\nAnother, 100% plain."}},
      {"Code", Code{"if a_b & \"c\":\n    " + std::string(120, 'x')}},
      {"Derivation", Derivation{{{"A step", "x = y^2", "x = y^{2}", "it follows", "y > 0"},
                                 {"Only said", "", "", "", ""},
                                 {"Without LaTeX", "a_1 = 2", "", "", ""}}}},
  };
  document.rows = std::get<Table>(document.sections[1].body);
  return document;
}

}  // namespace scalecalc::report
