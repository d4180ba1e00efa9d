#include "cli/forms.hpp"

namespace scalecalc::cli {
namespace check_keys {

Keys by_method(const Shape& shape) {
  return {maybe("symbolic", shape, "by canonical forms, signs and points"),
          maybe("quadrature", shape, "by quadrature"), maybe("montecarlo", shape, "by draws"),
          maybe("passes", shape, "by real passes")};
}

Shape method() {
  using namespace shapes;
  const Shape some = number().or_null();
  return object({{"verdict", one_of({"holds", "fails", "open"}), "what the method says"},
                 {"proved", truth(), "whether for all values, and not at points alone"},
                 {"how", text(), "how it was decided"},
                 {"left", text(), "the left side"},
                 {"right", text(), "the right side"},
                 {"value", some, "of the left side; null: a formula"},
                 {"right_value", some, "of the right side"},
                 {"difference", some, "left - right"},
                 {"error", some, "of the difference"},
                 {"difference_formula", text().or_null(), "left - right, where it is a formula"},
                 {"point", text().or_null(), "where the sides differ most, or do at all"},
                 {"points", count().or_null(), "how many were tried; null: none"}});
}

Shape claims() {
  using namespace shapes;
  return list(object({{"name", text(), "of the claim"},
                      {"holds", truth(), "whether it is as the claim says"},
                      {"verdict", text(),
                       "proved, refuted, checked, checked at n points, does not hold or undecided"},
                      {"assertion", text(), "the formula"},
                      {"expected_to_fail", truth(), "whether the claim is that it does not hold"},
                      {"file", text(), "where it stands"},
                      {"line", count(), "there, from 1"},
                      {"column", count(), "there, from 1"},
                      {"condition", text().or_null(), "as the file has it"},
                      {"note", text().or_null(), "as the file has it"},
                      {"source", text().or_null(), "as the file has it"},
                      {"methods", object(by_method(method())), "what each method found"},
                      {"skipped", object(by_method(text())), "why a method does not apply"},
                      {"follows", list(text()), "names of the claims that it follows from"},
                      {"seconds", number(), "that it took"}}));
}

Shape findings() {
  using namespace shapes;
  const Shape some = number().or_null();
  return list(
      object({{"name", text(), "of the claim"},
              {"finding", one_of({"right", "approximation", "wrong"}), "what was published"},
              {"published", text(), "as written"},
              {"published_value", some, "as a number"},
              {"truth", text(), "as written"},
              {"true_value", some, "as a number"},
              {"off", some, "published/truth - 1, where it is largest"},
              {"source", text().or_null(), "that published it"},
              {"holds", truth(), "whether the claim about it holds"}}));
}

Keys mutants() {
  using namespace shapes;
  const Shape mutant = object(
      {{"claim", text(), "that was changed"},
       {"file", text(), "where it stands"},
       {"line", count(), "there, from 1"},
       {"mutation", text(), "the kind: exponent 1/2, factor 2, sign, turned, tolerance 2, ..."},
       {"text", text(), "what it says now"},
       {"survived", truth(), "whether it still holds"},
       {"refuted_by", text().or_null(), "the method; null where it survived"},
       {"reason", text().or_null(), "that the file gives for its survival"}});
  return {maybe("mutants", list(mutant), "with --mutate: each changed claim"),
          maybe("survivors", count(), "mutants that still hold"),
          maybe("surviving_claims", count(), "claims with such a mutant"),
          maybe("unexplained", count(), "such claims without a reason that fits")};
}

}  // namespace check_keys

JsonForm check_form() {
  using namespace check_keys;
  using namespace shapes;
  return {object({{"files", list(text()), "that were checked; standard input is one"}}),
          object(Keys{{"passed", truth(), "whether every claim holds"},
                      {"count", count(), "claims"},
                      {"failures", count(), "claims that do not hold"},
                      {"claims", claims(), "in the order of the files"},
                      {"findings", findings(), "about what was published"}} +
                 mutants())};
}

}  // namespace scalecalc::cli
