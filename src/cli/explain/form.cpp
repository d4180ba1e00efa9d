#include "cli/forms.hpp"

namespace scalecalc::cli {

JsonForm explain_form() {
  using namespace shapes;
  const Shape methods = object({maybe("symbolic", text(), "how it was decided"),
                                maybe("quadrature", text(), "how it was decided"),
                                maybe("montecarlo", text(), "how it was decided"),
                                maybe("passes", text(), "how it was decided")});
  const Shape statement = object(
      {{"statement", text(), "in words"},
       {"assertion", text(), "the same as a formula"},
       {"expected_to_fail", truth(), "whether the statement is that the formula does not hold"},
       {"condition", text(), "under which; empty: none"},
       {"note", text(), "empty: none"},
       {"holds", truth(), "whether it is as the statement says"},
       {"methods", methods, "what decided it"},
       {"follows", list(count()), "numbers of the statements that it follows from, from 1"}});
  return {object({{"topic", text(), "one of scalecalc list topics"}}),
          object({{"title", text(), "of the topic"},
                  {"passed", truth(), "whether every statement holds"},
                  {"statements", list(statement), "in the order of the derivation"},
                  {"toml", text(), "the claim file that they are written in"}})};
}

}  // namespace scalecalc::cli
