#pragma once

#include <optional>
#include <string>

#include "scalecalc/architectures.hpp"
#include "scalecalc/network.hpp"

namespace scalecalc::cli {

/// What - stands for where a file is read.
inline constexpr char kStandardInput[] = "-";
/// As messages call it.
inline constexpr char kStandardInputName[] = "standard input";

/// All of it, however often it is asked for: a little more than 1 MiB at most: what reads texts
/// refuses one that long. `what` names it in messages. Throws Error(usage) under mpirun with
/// several processes, of which one alone has it, and Error(fault) where it cannot be read.
std::string read_standard_input(const std::string& what);

/// The next line of it, without spaces around; none at its end.
std::optional<std::string> read_typed_line();

/// A preset, a model file, a config.json or a folder with one, a file of weights, a graph (.pt2),
/// or - for a model file on standard input. Throws Error(input).
ModelSpec read_model_argument(const std::string& name);

/// Somebody may be typing it.
bool is_reading_standard_input();
/// Whether it is named as a file of weights or an index of their shards is; "PATH#TOWER" where
/// PATH is.
bool is_weights(const std::string& path);
/// The model that the names and shapes of a file of weights are those of, or one of several that
/// it holds. Throws Error(input).
LibraryModel recognised(const std::string& weights);
/// What a config.json, a folder with one or a file of weights says; none for another argument.
/// Throws Error(input).
std::optional<LibraryModel> read_config_argument(const std::string& name);
/// Its model in this program's words. Throws Error(input) where there is none.
const ModelSpec& described(const LibraryModel& library);

}  // namespace scalecalc::cli
