#include "cli/forms.hpp"
#include "cli/train/best.hpp"
#include "cli/train/finetuning.hpp"
#include "cli/train/forecast.hpp"
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
  const Shape course =
      object({{"placement", text(), "what is compared"},
              {"layers", count(), "the depth"},
              {"training_loss", some, "nats, of the last steps, mean over the runs"},
              {"training_loss_standard_error", some, "of that mean"},
              {"rises", some, "nats that the validation loss rose between records, added up"},
              {"rises_standard_error", some, "of that mean"},
              {"gradient_least", some, "norm of the whole gradient over runs and records"},
              {"gradient_most", some, "likewise"},
              {"block_least", some, "norm of a block's gradient likewise"},
              {"block_most", some, "likewise"}});
  return {object({{"folder", text(), "that train filled"},
                  {"target_loss", some, "validation loss that steps are counted to"}}),
          object({{"steps", count(), "of a run"},
                  {"runs", count(), "in the folder"},
                  {"finished", count(), "of them"},
                  {"cells", list(object(forms::cells())), "one a placement and depth"},
                  {"gradients", list(gradient), "one a placement and depth"},
                  {"courses", list(course), "over the steps, one a placement and depth"},
                  {"differences", forms::differences(), "between the placements' configurations"},
                  maybe("finetuning", finetuned_shape(),
                        "what was forgotten and learned, of train --finetune-from"),
                  maybe("forecasts", score_shape(), "how good they were; null: there is none"),
                  maybe("best", best_shape(),
                        "of a folder of train --grid with several placements, of which the other "
                        "lists are empty"),
                  maybe("best_rates", rates_shape(), "by depth, likewise"),
                  maybe("tuning", tuning_shape(),
                        "of a folder of train --grid, of which the lists are empty")})};
}

}  // namespace scalecalc::cli
