#include "cli/forms.hpp"

namespace scalecalc::cli {

namespace init_keys {

/// Of a config.json: what its library makes.
JsonForm library_form() {
  using namespace shapes;
  const Shape tensor = object(
      {{"name", text(), "as named_parameters() has it"},
       {"shape", text(), "as stored: 96x64"},
       {"distribution", one_of({"normal", "truncated_normal", "uniform", "constant", "values"}),
        "that its entries are drawn from; values: a list of its own"},
       {"mean", number(), "of an entry"},
       {"std", number(), "of an entry, after truncation; 0: a constant"},
       {"formula", text(), "as the library's data have it"},
       {"tied", text().or_null(), "other names of the same tensor; null: none"}});
  return {object({{"model", text(), "the file"},
                  {"architecture", text(), "model_type"},
                  {"class", text(), "of the library"},
                  {"library", text(), "and its release"}}),
          object({{"parameters", list(tensor), "in the order in which the library makes them"}})};
}

}  // namespace init_keys

JsonForm init_form() {
  using namespace init_keys;
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape parameter = object(
      {{"path", text(), "in the model"},
       {"name", text().or_null(), "in the code base of `names`; null: it has none"},
       {"role", text(),
        "q, k, v, o, ffn_gate, ffn_in, ffn_out, linear, patch, condition, modulation, head, "
        "embedding, norm or scale"},
       {"shape", text(), "as stored: 768x2304"},
       {"distribution",
        one_of(
            {"zeros", "ones", "constant", "normal", "uniform", "truncated_normal", "orthogonal"}),
        "that its entries are drawn from"},
       {"std", number(), "of an entry"},
       {"mean", number(), "of an entry"},
       {"bound", some, "no entry is larger; null: unbounded"},
       {"gain", some, "factor on the scheme's std; null: no matrix"},
       {"fan_rule", text().or_null(), "variance before the gain: 1/fan_in; null: no matrix"},
       {"formula", text(), "of the std"},
       {"untruncated_std", some, "of the normal distribution before it is cut; null: not cut"}});
  const Shape scale = object({{"factor", text(), "skip, branch, attention or output"},
                              {"of", text(), "where, as a pattern of paths"},
                              {"value", number(), "the factor"},
                              {"formula", text(), "the same"}});
  const JsonForm library = library_form();
  return {
      any_of({object(forms::model() + forms::fields(true) +
                     Keys{{"names", text(), "the code base whose names are told"}}),
              library.inputs}),
      any_of(
          {object({{"parameters", list(parameter), "in the order of the forward pass"},
                   {"scales", list(scale), "factors of the forward pass that no parameter holds"}}),
           library.results})};
}

}  // namespace scalecalc::cli
