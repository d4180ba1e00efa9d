#include "cli/forms.hpp"

namespace scalecalc::cli {

JsonForm presets_form() {
  using namespace shapes;
  const Keys preset = {{"name", text(), "that commands take for a file"},
                       {"title", text(), "what it is"},
                       {"model", text(), "its size, in a line"}};
  return {object({maybe("name", text(), "the one that is asked for; without it, all")}),
          any_of({object({{"presets", list(object(preset)), "all of them"}}),
                  object(preset + Keys{{"toml", text(), "the model file"},
                                       {"understood", text(), "the model file with every key"}})})};
}

}  // namespace scalecalc::cli
