#include "cli/commands.hpp"

namespace scalecalc::cli {

Commands commands() {
  static constexpr Registered kCommands[] = {
      {"deepnorm", register_deepnorm},
      {"propagate", register_propagate},
      {"verify", register_verify},
      {"sweep", register_sweep},
  };
  return kCommands;
}

}  // namespace scalecalc::cli
