#include "cli/forms.hpp"

namespace scalecalc::cli {
namespace verify_keys {

Shape comparison() {
  using namespace shapes;
  const Shape some = number().or_null();
  return object({{"path", text(), "of the site or parameter"},
                 {"kind", text(), "of site, or parameter"},
                 {"quantity", one_of({"mean", "second", "cross", "grad_second", "grad_cross"}),
                  "that is compared"},
                 {"predicted", some, "by the rules"},
                 {"measured", some, "mean of the passes"},
                 {"standard_error", some, "of the measured"},
                 {"band", some, "how far a right prediction may be off"},
                 {"z", some, "(measured - predicted)/standard_error"},
                 {"ok", truth(), "whether it is within its band"},
                 {"in_log_space", truth(), "whether typical values are compared"}});
}

Shape causes() {
  using namespace shapes;
  return list(object({{"path", text(), "that fails first"},
                      {"quantity", text(), "that fails there"},
                      {"rule", text(), "that gives it; empty: none"},
                      {"assumption", text().or_null(), "that the rule makes; null: none"},
                      {"condition", text().or_null(), "under which it is right"},
                      {"condition_holds", truth(), "whether it is met"}}));
}

}  // namespace verify_keys

JsonForm verify_form() {
  using namespace verify_keys;
  using namespace shapes;
  const Keys inputs = forms::model() + forms::fields(true) +
                      Keys{{"seeds", count(), "draws of the weights"},
                           {"seed", count(), "of the first"},
                           {"device", text(), "of the passes"},
                           {"dtype", one_of({"float", "double"}), "of the passes"},
                           {"confidence", number(), "share of right models that pass, 0 to 1"}};
  return {object(inputs),
          object({{"passed", truth(), "whether every comparison is within its band"},
                  {"summary", text(), "the same in words"},
                  {"comparisons", count(), "how many"},
                  {"failures", count(), "how many are outside"},
                  {"quantile", number(), "standard errors of a band at the confidence"},
                  {"worst", comparison().or_null(), "the largest |z|"},
                  {"causes", causes(), "which rules fail first"},
                  {"sites", list(comparison()), "in the order of the forward pass"},
                  {"parameters", list(comparison()), "in the order of the forward pass"},
                  {"unmatched", list(text()), "paths that are only predicted or only measured"},
                  {"assumptions", forms::assumptions(), "what the rules take for granted"}})};
}

}  // namespace scalecalc::cli
