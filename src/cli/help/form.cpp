#include "cli/forms.hpp"

namespace scalecalc::cli {

JsonForm help_form() {
  using namespace shapes;
  const Shape command =
      object({{"name", text(), "of the command"}, {"summary", text(), "what it does, in a line"}});
  const Shape option = object({{"names", list(text()), "-o and --output; of an argument, one word"},
                               {"type", text().or_null(), "what it takes; null: a flag"},
                               {"help", text(), "what it says, with its default"},
                               {"list", truth(), "whether it takes several values to compare"},
                               {"group", text(), "its heading; Arguments have no dash"}});
  return {object({{"command", text(), "the program, or with one of its commands"}}),
          object({{"summary", text(), "what it does, in a line"},
                  {"usage", text(), "the line to write"},
                  {"examples", list(text()), "lines for a shell, which run"},
                  {"commands", list(command), "of the program; empty for a command"},
                  {"options", list(option), "in the order of the help"}})};
}

}  // namespace scalecalc::cli
