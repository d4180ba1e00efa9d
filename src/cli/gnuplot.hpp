#pragma once

#include <cstddef>
#include <string>

/// gnuplot as a process beside this one: a script goes in, an image comes out, no shell between.
namespace scalecalc::cli {

/// Throws Error(fault) where there is none.
void check_gnuplot();
/// The script drawn as a PNG of that many panels. Throws Error(fault) with what gnuplot says.
std::string png_of(const std::string& script, std::size_t panels);

}  // namespace scalecalc::cli
