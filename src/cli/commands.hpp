#pragma once

#include <span>

namespace CLI {
class App;
}

namespace scalecalc::cli {

class Context;

/// A command of the program, and what adds it to the parser.
struct Registered {
  const char* name;
  void (*add)(CLI::App& app, Context& context);
};
using Commands = std::span<const Registered>;

/// What the program has, in the order of its help: all commands (commands.cpp), or those of the
/// program that tools/run builds first (core_commands.cpp).
Commands commands();

void register_deepnorm(CLI::App& app, Context& context);
void register_activation(CLI::App& app, Context& context);
void register_choose(CLI::App& app, Context& context);
void register_solve(CLI::App& app, Context& context);
void register_sweep(CLI::App& app, Context& context);
void register_propagate(CLI::App& app, Context& context);
void register_compare(CLI::App& app, Context& context);
void register_verify(CLI::App& app, Context& context);
void register_init(CLI::App& app, Context& context);
void register_convention(CLI::App& app, Context& context);
void register_audit(CLI::App& app, Context& context);
void register_presets(CLI::App& app, Context& context);
void register_import(CLI::App& app, Context& context);
void register_table(CLI::App& app, Context& context);
void register_check(CLI::App& app, Context& context);
void register_explain(CLI::App& app, Context& context);
void register_train(CLI::App& app, Context& context);
void register_coordinates(CLI::App& app, Context& context);
void register_transfer(CLI::App& app, Context& context);
void register_report(CLI::App& app, Context& context);
void register_list(CLI::App& app, Context& context);
void register_devices(CLI::App& app, Context& context);
void register_schema(CLI::App& app, Context& context);
void register_help(CLI::App& app, Context& context);
void register_completion(CLI::App& app, Context& context);

}  // namespace scalecalc::cli
