#pragma once

#include "scalecalc/architectures.hpp"
#include "scalecalc/report.hpp"

namespace scalecalc::cli {

/// The tensors of a config's model and how its library draws them; one by one in JSON and CSV
/// alone.
report::Document library_document(const LibraryModel& model, report::Format format);

}  // namespace scalecalc::cli
