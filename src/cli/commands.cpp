#include "cli/commands.hpp"

namespace scalecalc::cli {

Commands commands() {
  static constexpr Registered kCommands[] = {
      {"choose", register_choose},
      {"deepnorm", register_deepnorm},
      {"activation", register_activation},
      {"solve", register_solve},
      {"propagate", register_propagate},
      {"compare", register_compare},
      {"verify", register_verify},
      {"sweep", register_sweep},
      {"init", register_init},
      {"table", register_table},
      {"check", register_check},
      {"audit", register_audit},
      {"explain", register_explain},
      {"transfer", register_transfer},
      {"coordinates", register_coordinates},
      {"train", register_train},
      {"report", register_report},
      {"list", register_list},
      {"convention", register_convention},
      {"presets", register_presets},
      {"import", register_import},
      {"devices", register_devices},
      {"schema", register_schema},
      {"help", register_help},
      {"completion", register_completion},
  };
  return kCommands;
}

}  // namespace scalecalc::cli
