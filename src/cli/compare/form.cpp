#include "cli/forms.hpp"

namespace scalecalc::cli {

JsonForm compare_form() {
  using namespace shapes;
  const Shape field = any_of({text(), number(), truth()}).or_null();
  const Shape start = object({{"path", text(), "of the parameter"},
                              {"count", count(), "of its entries"},
                              {"std", number(), "of an entry"}});
  return {forms::propagation_inputs(),
          object(forms::propagation_results() +
                 Keys{{"fields", map(field), "of the model file"},
                      {"parameter_count", count(), "of all parameters"},
                      {"init", list(start), "in the order of the forward pass"}})};
}

}  // namespace scalecalc::cli
