#include "cli/forms.hpp"
#include "cli/train/tuning.hpp"

namespace scalecalc::cli {

JsonForm report_form() {
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape gradient = object({{"placement", text(), "what is compared"},
                                 {"layers", count(), "the depth"},
                                 {"predicted", some, "norm of the gradient before the first step"},
                                 {"measured", some, "the same, mean over the runs"},
                                 {"measured_standard_error", some, "of that mean"},
                                 maybe("no_prediction", text(), "why there is none")});
  return {object({{"folder", text(), "that train filled"},
                  {"target_loss", some, "validation loss that steps are counted to"}}),
          object({{"steps", count(), "of a run"},
                  {"runs", count(), "in the folder"},
                  {"finished", count(), "of them"},
                  {"cells", list(object(forms::cells())), "one a placement and depth"},
                  {"gradients", list(gradient), "one a placement and depth"},
                  {"differences", forms::differences(), "between the placements' configurations"},
                  maybe("tuning", tuning_shape(),
                        "of a folder of train --grid, of which the lists are empty")})};
}

}  // namespace scalecalc::cli
