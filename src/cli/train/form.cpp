#include "cli/forms.hpp"
#include "cli/train/best.hpp"
#include "cli/train/finetuning.hpp"
#include "cli/train/forecast.hpp"
#include "cli/train/tuning.hpp"

namespace scalecalc::cli {
namespace train_keys {

Shape inputs() {
  using namespace shapes;
  return object({maybe("grid", map(list(number())), "values by key; the first is searched"),
                 maybe("widths", list(count()), "of a grid's sizes; the first is the base"),
                 maybe("layers", list(count()), "likewise"),
                 {"profile", text(), "small or full"},
                 {"model", text().or_null(), "that the runs share; null: the profile's"},
                 maybe("finetune_from", text(), "the folder whose weights the runs begin with"),
                 {"placements", list(text()), "that are compared"},
                 {"depths", list(count()), "layers"},
                 {"seeds", count(), "runs of each placement and depth"},
                 {"seed", count(), "of the first"},
                 {"steps", count(), "of a run"},
                 {"record_every", count(), "steps"},
                 {"validation_batches", count(), "that a validation loss is the mean of"},
                 {"target_loss", number(), "nats, below which a run has converged"},
                 {"optimizer", text(), "its name"},
                 {"learning_rate", number(), "the largest of the schedule"},
                 {"warmup", count(), "steps in which the rate rises"},
                 {"weight_decay", number(), "0: none"},
                 {"clip_norm", number(), "of the gradient; 0: none"},
                 {"text", text(), "that is trained on"}});
}

Shape first_gradient() {
  using namespace shapes;
  const Shape some = number().or_null();
  const Shape by_layer = map(some);
  return object({{"predicted", some, "norm of the whole gradient before the first step"},
                 {"measured", some, "the same, in the run"},
                 {"predicted_layers", by_layer, "by layer: embedding, block[0], ..., head"},
                 {"measured_layers", by_layer.or_null(), "likewise; null: no step was made"},
                 {"predicted_loss_change", some, "of one step, to first order"},
                 maybe("no_prediction", text(), "why there is none")});
}

Shape records() {
  using namespace shapes;
  const Shape some = number().or_null();
  return list(
      object({{"step", count(), "from 0"},
              {"loss", some, "of the batch, nats"},
              {"gradient_norm", some, "of all parameters, before it is clipped"},
              {"update_ratio", some, "|dtheta|/|theta|, root mean square over matrices"},
              {"validation_loss", some, "nats"},
              {"perplexity", some, "exp of it"},
              maybe("scales", map(some), "trained scalars in front of branches, by path"),
              maybe("pretraining_loss", some,
                    "of validation on the text of the weights that a fine-tuning began with")}));
}

Shape runs() {
  using namespace shapes;
  return list(object({{"placement", text(), "what is compared"},
                      {"layers", count(), "the depth"},
                      {"seed", count(), "of the run"},
                      {"verdict", one_of({"converged", "stall", "vanishing", "explosion", "nan"}),
                       "what became of it"},
                      {"final_loss", number().or_null(), "of validation, nats"},
                      {"perplexity", number().or_null(), "exp of it"},
                      {"steps", count(), "that were made"},
                      {"steps_to_target", count().or_null(), "until the target; null: not reached"},
                      maybe("forecast", forecast_shape().or_null(),
                            "by the moment rules, beforehand; of drawn weights alone"),
                      maybe("start", start_shape(), "the trained weights that it began with"),
                      {"first_gradient", first_gradient(), "predicted and measured"},
                      {"records", records(), "in the order of the steps"}}));
}

Shape corpus() {
  using namespace shapes;
  return object({{"name", text(), "of the text"},
                 {"description", text(), "what it is"},
                 {"license", text(), "under which it stands"},
                 {"vocab", count(), "different words"},
                 {"train_tokens", count(), "to train on"},
                 {"validation_tokens", count(), "to validate on"},
                 {"unigram_entropy", number(), "of single words, nats"},
                 maybe("bytes_per_token", number(), "of a text that is read, in validation"),
                 maybe("unknown", number(), "share of validation's tokens that are <unk>"),
                 {"entropy", number().or_null(), "of the text, nats; null: not known"}});
}

}  // namespace train_keys

JsonForm train_form() {
  using namespace train_keys;
  using namespace shapes;
  return {inputs(),
          object({{"runs", runs(), "in the order of placements, depths and seeds"},
                  {"cells", list(object(forms::cells())), "one a placement and depth"},
                  {"differences", forms::differences(), "between the placements' configurations"},
                  maybe("finetuning", finetuned_shape(),
                        "what was forgotten and learned, of --finetune-from"),
                  maybe("forecasts", score_shape(), "how good they were; null: there is none"),
                  maybe("best", best_shape(),
                        "of --grid with several placements, where runs and cells are empty"),
                  maybe("best_rates", rates_shape(), "by depth, likewise"),
                  maybe("tuning", tuning_shape(),
                        "of --grid, where no placements are compared and the lists are empty"),
                  {"corpus", corpus(), "the text"}})};
}

}  // namespace scalecalc::cli
