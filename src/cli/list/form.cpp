#include "cli/forms.hpp"

namespace scalecalc::cli {
namespace list_keys {

Shape listing(const std::string& topic, const Keys& keys) {
  const Keys named = Keys{{"name", shapes::text(), "what options take"}} + keys;
  return shapes::object({{topic, shapes::list(shapes::object(named)), "in order"}});
}

Shape families() {
  using namespace shapes;
  return listing("families", {{"aliases", list(text()), "optimizers of this family"},
                              {"update", text(), "a step in g and theta"},
                              {"p", power(), "power of the gradient in a step"},
                              {"s", power(), "power of the parameter in a step"},
                              {"o", power(), "power of the whole update"},
                              {"title", text(), "in words"}});
}

Shape fields() {
  using namespace shapes;
  return object(
      {{"fields",
        list(object({{"file", text(), "in a model file"},
                     {"claims", text(), "as an argument of network(...) in claims"},
                     {"option", text().or_null(), "of commands that take a model; null: none"},
                     {"kinds", text(), "of model that have it"},
                     {"meaning", text(), "with its default"}})),
        "of a model"}});
}

}  // namespace list_keys

JsonForm list_form() {
  using namespace list_keys;
  using namespace shapes;
  const Key title = {"title", text(), "in words"};
  return {object({{"topic", text(), "what is listed; results have one key of that name"}}),
          any_of({families(), fields(),
                  listing("placements", {{"final_norm", truth(), "whether one ends the stack"}}),
                  listing("groups", {{"alpha", text(), "a formula in N, or solved"},
                                     {"lambda", text(), "likewise"},
                                     title}),
                  listing("activations", {{"aliases", list(text()), "other names"},
                                          {"expression", text(), "phi(x)"},
                                          {"parameters", text(), "with their defaults"},
                                          {"source", text(), "where it was published"}}),
                  listing("names", {title}), listing("architectures", {title}),
                  listing("tables", {{"files", text(), "that table --all writes"}, title}),
                  listing("topics", {title}), listing("targets", {}), listing("quantities", {}),
                  listing("formats", {})})};
}

}  // namespace scalecalc::cli
